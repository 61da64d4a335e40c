// Results while typing: the page of the search is fetched and its parts put in
// the place of the old ones. A newer keystroke ends the older search, and an
// answer to another question is never shown. The team's part comes behind: this
// machine's results wait for nobody.
import { load, say, typing } from "./page.js";

const form = document.getElementById("ask");
const field = document.getElementById("q");
let running = null;
let waiting = 0;
let again = 0;
let asked = address();
let asking = null; // the team
let later = 0;

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
    const before = document.getElementById("team");
    for (const id of ["facets", "results"]) {
      const fresh = page.getElementById(id);
      if (fresh) document.getElementById(id).replaceWith(document.importNode(fresh, true));
    }
    const now = document.getElementById("team");
    if (now && before?.dataset.said && before.dataset.from === now.dataset.from) now.replaceWith(before);
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
  clearTimeout(later);
  asking?.abort();
  const at = document.getElementById("team");
  if (at?.dataset.said) told(at);
  else if (at) later = setTimeout(team, 250, at);
  if (r.dataset.behind === "true") again = setTimeout(search, 1000, to, true);
}

// team fetches the team's part of what is shown.
async function team(at) {
  asking = new AbortController();
  document.getElementById("team-said").textContent = " …";
  try {
    const part = (await load(at.dataset.from, asking.signal)).getElementById("team-part");
    if (!at.isConnected || !part) return;
    at.querySelector("#team-part").replaceWith(document.importNode(part, true));
    at.dataset.said = part.dataset.said;
    told(at);
  } catch (e) {
    if (e.name !== "AbortError") document.getElementById("team-said").textContent = ": missing";
  }
}

function told(at) {
  document.getElementById("team-said").textContent = ": " + at.dataset.said;
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
