// What every page has: keys, copying, the state of the index. Text of sessions is
// put into a page by the server, escaped, or here as text; nothing on these
// pages ever makes markup of a string.

// load fetches a page of ours as a document, in which no script runs. Whatever
// is not such a page is a failure, and the person is told.
export function load(address, signal) {
  return new Promise((done, failed) => {
    const x = new XMLHttpRequest();
    x.open("GET", address);
    x.responseType = "document";
    x.onload = () => {
      if (x.status === 200 && x.response) {
        well();
        done(x.response);
      } else failed(trouble(x.response?.querySelector("main.message p")?.textContent ?? refused(x.status)));
    };
    x.onerror = () => failed(trouble(gone));
    x.onabort = () => failed(new DOMException("superseded", "AbortError"));
    signal?.addEventListener("abort", () => x.abort());
    x.send();
  });
}

// get fetches what is no page: data, or a text as it is.
export async function get(address) {
  let r;
  try {
    r = await fetch(address);
  } catch {
    throw trouble(gone);
  }
  if (!r.ok) throw trouble(r.status === 404 ? "It is gone, or never was." : refused(r.status));
  well();
  return r;
}

const gone = "yore web has ended, or does not answer: start it again.";

function refused(status) {
  return status === 403 ? "yore web was started anew: open the address that it printed." : `yore web cannot answer that (${status}).`;
}

// trouble shows what went wrong, until something succeeds, and makes an error of it.
function trouble(text) {
  const at = document.getElementById("trouble");
  if (at.textContent !== text) at.textContent = text;
  at.hidden = false;
  return new Error(text);
}

function well() {
  document.getElementById("trouble").hidden = true;
}

// say tells a screen reader.
export function say(text) {
  const at = document.getElementById("said");
  if (at.textContent !== text) at.textContent = text;
}

// typing reports whether keys belong to a field or a dialog.
export function typing(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return true;
  const t = e.target;
  return t instanceof HTMLElement && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName) && !/^(checkbox|radio|button)$/.test(t.type));
}

document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && e.target instanceof HTMLInputElement && e.target.type === "search" && e.target.value === "") e.target.blur();
  if (typing(e)) return;
  if (e.key === "/") {
    const q = document.getElementById("q");
    q.focus();
    q.select();
  } else if (e.key === "?") {
    document.getElementById("keys").showModal();
  } else return;
  e.preventDefault();
});
document.getElementById("keys-open").addEventListener("click", () => document.getElementById("keys").showModal());

document.addEventListener("click", async (e) => {
  const b = e.target instanceof Element && e.target.closest("button.copy");
  if (!b) return;
  const was = b.textContent;
  try {
    await navigator.clipboard.writeText(b.dataset.copy ?? new URL(b.dataset.link, location.href).href);
    b.textContent = "Copied";
    say("Copied");
  } catch {
    b.textContent = "Select and copy by hand";
  }
  setTimeout(() => (b.textContent = was), 1600);
});

// The first indexing goes on while the page is there; at its end the page is
// loaded once more. That must cost the person nothing: a search looks again by
// itself, and who is typing, or on the way to another page, is left alone.
let leaving = false;
addEventListener("beforeunload", () => (leaving = true));
function idle() {
  const q = document.getElementById("q");
  return !leaving && !document.querySelector("main.session, #results") && q.value === q.defaultValue && document.activeElement !== q;
}
async function indexing(before) {
  const bar = document.getElementById("indexing");
  let p;
  try {
    p = await (await fetch("/progress")).json();
  } catch {
    bar.hidden = false;
    bar.textContent = "yore web has ended: start it again.";
    return;
  }
  bar.hidden = !p.busy;
  if (p.busy) bar.textContent = p.total ? `Indexing: ${p.done} of ${p.total} sessions` : "Looking for sessions";
  else if (before && idle()) location.reload();
  if (p.busy) setTimeout(indexing, 700, true);
}
indexing(false);
