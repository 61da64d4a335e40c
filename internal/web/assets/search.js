// Results while typing: the page of the search is fetched and its parts put in
// the place of the old ones. A newer keystroke ends the older search, and an
// answer to another question is never shown.
import { load, say, typing } from "./page.js";

const form = document.getElementById("ask");
const field = document.getElementById("q");
let running = null;
let waiting = 0;
let again = 0;
let asked = address();

function address() {
  const v = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") v.append(name, value);
  if (v.get("order") === "relevance") v.delete("order");
  if (v.get("match") === "auto") v.delete("match");
  const text = v.toString();
  return text ? "/search?" + text : "/search";
}

async function search(to, keep) {
  running?.abort();
  clearTimeout(again);
  const mine = (running = new AbortController());
  const slow = setTimeout(() => document.body.classList.add("waiting"), 250);
  try {
    const page = await load(to, mine.signal);
    if (mine !== running) return;
    const focus = document.activeElement?.id;
    for (const id of ["facets", "results"]) {
      const fresh = page.getElementById(id);
      if (fresh) document.getElementById(id).replaceWith(document.importNode(fresh, true));
    }
    if (focus && document.activeElement?.id !== focus) document.getElementById(focus)?.focus();
    document.title = page.title;
    if (!keep) history.replaceState(null, "", to);
    settle(to);
  } catch (e) {
    if (e.name === "AbortError" || mine !== running) return;
    // What was found for another question is no answer to this one.
    document.getElementById("results").replaceChildren();
    asked = "";
  } finally {
    clearTimeout(slow);
    if (mine === running) document.body.classList.remove("waiting");
  }
}

// settle announces an answer, and asks again while the index lags behind.
function settle(to) {
  const r = document.getElementById("results");
  say(r.dataset.said);
  if (r.dataset.behind === "true") again = setTimeout(search, 1000, to, true);
}

function soon(ms) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const to = address();
    if (to === asked) return;
    asked = to;
    search(to);
  }, ms);
}
field.addEventListener("input", () => soon(120));
document.addEventListener("change", (e) => {
  if (e.target instanceof HTMLInputElement && e.target.form === form && e.target !== field) soon(0);
});
form.addEventListener("submit", (e) => {
  e.preventDefault();
  asked = "";
  soon(0);
});
addEventListener("popstate", () => location.reload());

document.addEventListener("keydown", (e) => {
  const down = e.key === "ArrowDown" && e.target === field;
  if (!down && (typing(e) || (e.key !== "j" && e.key !== "k"))) return;
  const links = [...document.querySelectorAll(".hit h2 a")];
  const here = links.findIndex((a) => a.closest(".hit").contains(document.activeElement));
  const next = links[Math.max(0, Math.min(links.length - 1, e.key === "k" ? here - 1 : here + 1))];
  next?.focus();
  next?.closest(".hit").scrollIntoView({ block: "nearest" });
  e.preventDefault();
});

if (matchMedia("(max-width: 60rem)").matches) document.getElementById("filters").open = false;
if (document.body.classList.contains("nav-search") && document.activeElement === document.body && field.value === "") field.focus({ preventScroll: true });
settle(asked);
