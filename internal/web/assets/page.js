// What every page has: keys, copying, the state of the index. Text of sessions is
// put into a page by the server, escaped, or here as text; nothing on these
// pages ever makes markup of a string.

// load fetches a page of ours as a document, in which no script runs.
export function load(address, signal) {
  return new Promise((done, failed) => {
    const x = new XMLHttpRequest();
    x.open("GET", address);
    x.responseType = "document";
    x.onload = () => (x.status === 200 && x.response ? done(x.response) : failed(new Error(String(x.status))));
    x.onerror = () => failed(new Error("unreachable"));
    x.onabort = () => failed(new DOMException("superseded", "AbortError"));
    signal?.addEventListener("abort", () => x.abort());
    x.send();
  });
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
// loaded once more.
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
  else if (before && !document.querySelector("main.session")) location.reload();
  if (p.busy) setTimeout(indexing, 700, true);
}
indexing(false);
