// The timeline: only the rows in sight (and some around them) are elements. All
// rows have one height, so a place in the list and a place on the screen are one
// multiplication apart, at ten events or at a million. Rows are fetched by
// ordinal, as they come into sight, and kept for a while.
//
//   kinds, seqs   of every passage, from /map: enough for the small map, for
//                 filters, for rows that are not there yet, and for jumps
//   shown         the ordinals that pass the filters, or null: all
//   rows          the fetched rows by ordinal
import { get, load, say, typing } from "./page.js";

const view = document.getElementById("timeline");
const list = document.getElementById("rows");
const main = document.getElementById("main");
const panel = document.getElementById("panel");
const canvas = document.getElementById("map");
const sight = document.getElementById("sight");
const path = view.dataset.path;
const within = "in=" + view.dataset.in;

// Browsers draw no element higher than this; of longer lists the scroll bar is
// finer than the list and each of its steps is more than a pixel of the list.
const tallest = 12e6;
const around = 8; // rows before and behind what is in sight
const kept = 1500; // rows

let total = 0;
let kinds = new Uint8Array(0);
let seqs = new Float64Array(0);
let live = false;
let shown = null;
let height = 84;
let selected = -1; // an ordinal
let asked = document.getElementById("find-q").value.trim();
let found = []; // ordinals, ascending
const rows = new Map();
const placed = new Map(); // what is in the document, by ordinal

const count = () => (shown ? shown.length : total);
const ordinal = (i) => (shown ? shown[i] : i);
const role = (o) => kinds[o] >> 2;
const state = (o) => kinds[o] & 3;
const names = ["other", "human", "human", "assistant", "call", "result", "context"];
const speakers = ["Event", "First prompt", "Person", "Assistant", "Tool call", "Tool result", "Context"];
const states = ["log-only", "current", "shadowed"];

// first is the smallest index of an ascending list whose value is not below v.
function first(list, v) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid] < v) low = mid + 1;
    else high = mid;
  }
  return low;
}
const place = (o) => (shown ? Math.min(first(shown, o), Math.max(0, shown.length - 1)) : o);

// whole is the height of all rows, and ratio how many pixels of them a pixel of
// the scroll bar is.
const whole = () => count() * height;
function ratio() {
  const tall = Math.min(whole(), tallest);
  return whole() > tallest ? (whole() - view.clientHeight) / (tall - view.clientHeight) : 1;
}
const top = () => view.scrollTop * ratio();
function scrollTo(y) {
  view.scrollTop = Math.max(0, Math.min(y, whole() - view.clientHeight)) / ratio();
}

let drawing = 0;
function draw() {
  drawing ||= requestAnimationFrame(paint);
}

function paint() {
  drawing = 0;
  const y = top();
  const shift = view.scrollTop - y;
  const from = Math.max(0, Math.floor(y / height) - around);
  const to = Math.min(count(), Math.ceil((y + view.clientHeight) / height) + around);
  const wanted = new Map();
  for (let i = from; i < to; i++) wanted.set(ordinal(i), i);
  const focus = document.activeElement?.closest?.(".row");
  for (const [o, el] of placed) {
    const row = rows.get(o);
    if (!wanted.has(o) || (row && row !== el)) {
      if (focus === el && wanted.has(o)) {
        el.replaceWith(row);
        row.focus({ preventScroll: true });
        placed.set(o, row);
        continue;
      }
      if (focus === el) view.focus({ preventScroll: true });
      el.remove();
      placed.delete(o);
    }
  }
  const missing = [];
  let before = null;
  for (const [o, i] of wanted) {
    let el = placed.get(o);
    if (!el) {
      el = rows.get(o) ?? ghost(o);
      placed.set(o, el);
      if (before?.nextSibling) list.insertBefore(el, before.nextSibling);
      else if (before) list.append(el);
      else list.prepend(el);
    }
    if (!rows.has(o)) missing.push(o);
    const at = `translateY(${Math.round(i * height + shift)}px)`;
    if (el.style.transform !== at) el.style.transform = at;
    const on = o === selected;
    if (el.classList.contains("on") !== on) el.classList.toggle("on", on);
    before = el;
  }
  look(y);
  fetchRows(missing);
}

// ghost is a row that is not there yet: what is known of it.
function ghost(o) {
  const el = document.createElement("article");
  el.className = `row ghost role-${names[role(o)] ?? "other"} state-${states[state(o)]}`;
  el.tabIndex = -1;
  el.dataset.o = o;
  el.dataset.seq = seqs[o];
  el.setAttribute("aria-posinset", o + 1);
  el.setAttribute("aria-setsize", total);
  const head = document.createElement("div");
  head.className = "head";
  for (const [name, text] of [["seq", "#" + seqs[o]], ["who", speakers[role(o)] ?? "Event"], ["state", states[state(o)]]]) {
    const part = document.createElement("span");
    part.className = name;
    part.textContent = text;
    head.append(part, " ");
  }
  const words = document.createElement("p");
  words.className = "words";
  el.append(head, words);
  el.setAttribute("aria-label", `#${seqs[o]} ${speakers[role(o)] ?? "Event"}, loading`);
  return el;
}

// At most one request for rows is under way; what has scrolled by meanwhile is
// not asked for.
let fetching = false;
let generation = 0;
let pause = 0;
function fetchRows(missing) {
  view.setAttribute("aria-busy", missing.length > 0);
  if (fetching || !missing.length) return;
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const still = [...placed.keys()].filter((o) => !rows.has(o)).sort((a, b) => a - b).slice(0, 150);
    if (fetching || !still.length) return;
    fetching = true;
    const mine = generation;
    try {
      const page = await load(`${path}/rows?${within}&o=${ranges(still)}&q=${encodeURIComponent(asked)}`);
      // Rows that were asked for before a text was looked for have other marks.
      if (mine === generation) for (const row of page.querySelectorAll(".row")) keep(document.importNode(row, true));
    } catch {
      pause = setTimeout(draw, 2000);
      return;
    } finally {
      fetching = false;
    }
    draw();
  }, 25);
}

function ranges(list) {
  const out = [];
  for (let i = 0; i < list.length; ) {
    let end = i;
    while (end + 1 < list.length && list[end + 1] === list[end] + 1) end++;
    out.push(end > i ? `${list[i]}-${list[end]}` : list[i]);
    i = end + 1;
  }
  return out.join(",");
}

function keep(row) {
  const o = Number(row.dataset.o);
  rows.delete(o);
  rows.set(o, row);
  if (rows.size <= kept) return;
  for (const old of rows.keys()) {
    if (!placed.has(old)) {
      rows.delete(old);
      if (rows.size <= kept * 0.8) break;
    }
  }
}

// The small map: one line of pixels for some passages, left who speaks, right
// what became of it, and what was found.
let colours = {};
function palette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["other", "human", "assistant", "call", "result", "context", "current", "shadowed", "log", "accent", "line"]) {
    colours[name] = style.getPropertyValue("--" + name).trim();
  }
}

function map() {
  const box = canvas.getBoundingClientRect();
  const k = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(box.width * k));
  canvas.height = Math.max(1, Math.round(box.height * k));
  const c = canvas.getContext("2d");
  const n = count();
  const lines = Math.min(canvas.height, n * 6 * k);
  const half = Math.round(canvas.width * 0.55);
  for (let y = 0; y < lines && n; y++) {
    const from = Math.floor((y * n) / lines);
    const end = Math.max(from + 1, Math.floor(((y + 1) * n) / lines));
    let people = false;
    const tally = new Uint32Array(8);
    const became = new Uint32Array(4);
    for (let i = from; i < Math.min(end, n); i++) {
      const o = ordinal(i);
      tally[role(o)]++;
      became[state(o)]++;
      people ||= role(o) === 1 || role(o) === 2;
    }
    let most = 0;
    for (let r = 1; r < 8; r++) if (tally[r] > tally[most]) most = r;
    c.fillStyle = colours[people ? "human" : (names[most] ?? "other")];
    c.fillRect(0, y, half, 1);
    if (became[2] || became[1]) {
      c.fillStyle = colours[became[2] > became[1] ? "shadowed" : "current"];
      c.fillRect(half + k, y, canvas.width - half - k, 1);
    }
  }
  if (n) {
    c.fillStyle = colours.accent;
    for (const o of found) c.fillRect(0, Math.min(lines - 2, Math.round((place(o) / n) * lines)), canvas.width, 2 * k);
  }
  canvas.dataset.lines = lines / k;
}

// look moves the frame on the map to what is in sight.
function look(y) {
  const lines = Number(canvas.dataset.lines || 0);
  const all = Math.max(1, whole());
  sight.style.transform = `translateY(${(y / all) * lines}px)`;
  sight.style.height = Math.max(6, (Math.min(view.clientHeight, all) / all) * lines) + "px";
}

const minimap = canvas.parentElement;
function aim(e) {
  const lines = Number(canvas.dataset.lines || 1);
  scrollTo(((e.clientY - minimap.getBoundingClientRect().top) / lines) * whole() - view.clientHeight / 2);
}
minimap.addEventListener("pointerdown", (e) => {
  minimap.setPointerCapture(e.pointerId);
  aim(e);
});
minimap.addEventListener("pointermove", (e) => minimap.hasPointerCapture(e.pointerId) && aim(e));

// select makes a passage the one that keys speak of.
function select(o, { focus = true, middle = false } = {}) {
  if (o < 0 || o >= total || !count()) return;
  if (shown && shown[place(o)] !== o) o = shown[place(o)];
  selected = o;
  const y = place(o) * height;
  if (middle || y < top() - height * 40 || y > top() + view.clientHeight + height * 40) scrollTo(y - view.clientHeight / 2 + height / 2);
  else if (y < top()) scrollTo(y);
  else if (y + height > top() + view.clientHeight) scrollTo(y + height - view.clientHeight);
  cancelAnimationFrame(drawing);
  paint();
  if (focus) placed.get(o)?.focus({ preventScroll: true });
}

// show opens the panel of an event, whether or not it has a row.
let showing = null;
async function show(seq, { move = false } = {}) {
  showing?.abort();
  const mine = (showing = new AbortController());
  try {
    const page = await load(`${path}/${seq}/panel?${within}&q=${encodeURIComponent(asked)}`, mine.signal);
    history.replaceState(null, "", `${path}/${seq}?${within}`);
    panel.replaceChildren(document.importNode(page.querySelector(".event"), true));
    panel.hidden = false;
    panel.scrollTop = 0;
    if (!main.classList.contains("open")) {
      main.classList.add("open");
      requestAnimationFrame(resized);
    }
    if (move) document.getElementById("event-title").focus();
    say(`Event ${seq} is open`);
  } catch (e) {
    // The panel must not show one event beside the row of another.
    if (e.name !== "AbortError") close();
  }
}

function close() {
  showing?.abort(); // what is still to come would open it again
  if (panel.hidden) return;
  panel.hidden = true;
  main.classList.remove("open");
  history.replaceState(null, "", `${path}?${within}`);
  resized();
  (placed.get(selected) ?? view).focus({ preventScroll: true });
}

// jump goes to an event by its sequence number.
function jump(seq, move) {
  const o = Math.min(first(seqs, seq), total - 1);
  if (shown && shown[place(o)] !== o) clear();
  select(o, { middle: true });
  show(seq, { move });
}

document.addEventListener("click", (e) => {
  const t = e.target instanceof Element ? e.target : null;
  if (!t || e.ctrlKey || e.metaKey || e.shiftKey) return;
  const to = t.closest("[data-jump]");
  if (to) {
    e.preventDefault();
    jump(Number(to.dataset.jump), panel.contains(to));
    return;
  }
  if (t.closest("#panel-close")) return close();
  const unfold = t.closest("button.unfold");
  if (unfold) {
    unfold.disabled = true;
    get(unfold.dataset.from).then((r) => r.text()).then((text) => {
      panel.querySelector(".whole").textContent = text;
      unfold.remove();
    }, () => (unfold.disabled = false));
    return;
  }
  const row = t.closest(".row");
  if (row && (!t.closest("a") || t.closest("a.seq"))) {
    e.preventDefault();
    if (String(getSelection()) && !t.closest("a")) return;
    select(Number(row.dataset.o));
    show(Number(row.dataset.seq), { move: matchMedia("(max-width: 60rem)").matches });
  }
});

// Filters.
const picks = [...document.querySelectorAll("#picks input")];
function choose() {
  const on = (name) => new Set(picks.filter((p) => p.dataset[name] !== undefined && p.checked).flatMap((p) => p.dataset[name].split(",").map(Number)));
  const who = on("role");
  const what = on("state");
  const here = selected >= 0 ? selected : count() ? ordinal(Math.min(count() - 1, Math.floor(top() / height))) : 0;
  if (picks.every((p) => p.checked)) shown = null;
  else {
    const pass = [];
    for (let o = 0; o < total; o++) if (who.has(role(o)) && what.has(state(o))) pass.push(o);
    shown = Uint32Array.from(pass);
  }
  sized();
  map();
  scrollTo(place(here) * height - view.clientHeight / 3);
  draw();
  say(`${count()} events are shown`);
}
function clear() {
  for (const p of picks) p.checked = true;
  choose();
}
for (const p of picks) p.addEventListener("change", choose);
function counts() {
  const by = { role: new Uint32Array(16), state: new Uint32Array(4) };
  for (let o = 0; o < total; o++) {
    by.role[role(o)]++;
    by.state[state(o)]++;
  }
  for (const p of picks) {
    const name = p.dataset.role !== undefined ? "role" : "state";
    const n = p.dataset[name].split(",").reduce((sum, v) => sum + by[name][v], 0);
    p.parentElement.querySelector(".n").textContent = n.toLocaleString();
  }
}

// Find in this session.
const field = document.getElementById("find-q");
let finding = 0;
async function find(go) {
  asked = field.value.trim();
  const mine = ++finding;
  let answer = { seqs: [], more: false };
  if (asked) {
    try {
      answer = await (await get(`${path}/find?${within}&q=${encodeURIComponent(asked)}`)).json();
    } catch {
      // Nothing is found, rather than what was found for another text.
    }
  }
  if (mine !== finding) return;
  found = answer.seqs.map((s) => first(seqs, s)).sort((a, b) => a - b);
  // What is in sight stays until the same rows come with their marks.
  generation++;
  rows.clear();
  document.getElementById("found").textContent = asked ? `${found.length}${answer.more ? "+" : ""} found` : "";
  for (const id of ["find-prev", "find-next"]) document.getElementById(id).disabled = !found.length;
  if (asked) say(`${found.length} events found`);
  map();
  if (go && found.length) step(1, true);
  else draw();
}
function step(by, from) {
  if (!found.length) return;
  const here = selected >= 0 ? selected : Math.floor(top() / height) - 1;
  let i = by > 0 ? first(found, from ? here : here + 1) : first(found, here) - 1;
  i = (i + found.length) % found.length;
  if (shown && shown[place(found[i])] !== found[i]) clear();
  select(found[i], { middle: true, focus: document.activeElement !== field });
  document.getElementById("found").textContent = `${i + 1} of ${found.length}`;
  if (!panel.hidden) show(seqs[found[i]]);
}
let typed = 0;
field.addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(find, 250, true);
});
document.getElementById("find").addEventListener("submit", (e) => {
  e.preventDefault();
  if (field.value.trim() === asked) step(1);
  else find(true);
});
document.getElementById("find-next").addEventListener("click", () => step(1));
document.getElementById("find-prev").addEventListener("click", () => step(-1));

// Keys.
const ask = document.getElementById("goto");
document.getElementById("goto-form").addEventListener("submit", (e) => {
  const v = document.getElementById("goto-seq").value;
  if (e.submitter?.value !== "" && v !== "") setTimeout(jump, 0, Math.max(0, Number(v)), false);
});
function move(by) {
  const i = selected >= 0 ? place(selected) + by : Math.ceil(top() / height);
  select(ordinal(Math.max(0, Math.min(count() - 1, i))));
}
function prompt(by) {
  let i = (selected >= 0 ? place(selected) : Math.floor(top() / height)) + by;
  while (i >= 0 && i < count() && role(ordinal(i)) !== 1 && role(ordinal(i)) !== 2) i += by;
  if (i >= 0 && i < count()) select(ordinal(i), { middle: true });
}
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !panel.hidden && !document.querySelector("dialog[open]") && !(e.target instanceof HTMLInputElement)) return close();
  if (typing(e) || !total) return;
  const inside = panel.contains(document.activeElement);
  const screen = Math.max(1, Math.floor(view.clientHeight / height) - 1);
  const plain = { j: () => move(1), k: () => move(-1), "]": () => prompt(1), "[": () => prompt(-1), n: () => step(1), N: () => step(-1),
    f: () => (field.focus(), field.select()),
    g: () => {
      document.getElementById("goto-seq").value = selected >= 0 ? seqs[selected] : "";
      ask.showModal();
      document.getElementById("goto-seq").select();
    },
    x: () => {
      const by = Number(placed.get(selected)?.dataset.by ?? -1);
      if (by >= 0) jump(by, false);
    } };
  const keys = inside ? plain : { ...plain, ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(screen), PageUp: () => move(-screen),
    Home: () => select(ordinal(0)), End: () => select(ordinal(count() - 1)),
    Enter: () => selected >= 0 && show(seqs[selected], { move: true }) };
  const control = e.target instanceof Element && e.target.closest("a, button, summary, input");
  if (!keys[e.key] || (control && e.key === "Enter")) return;
  keys[e.key]();
  e.preventDefault();
});

// Sizes.
function sized() {
  list.style.height = Math.min(whole(), tallest) + "px";
}
let width = 0;
function resized() {
  const y = top() / height;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  height = Math.round(parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) * rem);
  sized();
  if (width) scrollTo(y * height);
  width = view.clientWidth;
  map();
  draw();
}

async function plan(from) {
  const p = await (await get(`${path}/map?${within}&from=${from}`)).json();
  const n = from + p.kinds.length;
  const k = new Uint8Array(n);
  const s = new Float64Array(n);
  k.set(kinds.subarray(0, from));
  s.set(seqs.subarray(0, from));
  // The first difference is from zero, so a piece stands by itself.
  for (let i = from, at = 0; i < n; i++) {
    k[i] = p.kinds.charCodeAt(i - from) - 65;
    s[i] = at += p.gaps[i - from];
  }
  kinds = k;
  seqs = s;
  total = n;
  live = p.live;
}

// follow takes in what a live session adds.
async function follow() {
  if (document.visibilityState === "visible") {
    const end = top() + view.clientHeight > whole() - height;
    const before = total;
    try {
      await plan(total);
    } catch {
      // It is asked again: what did not answer once may do so later.
    }
    if (total > before) {
      counts();
      if (shown) choose();
      sized();
      map();
      if (end && !shown) scrollTo(whole());
      draw();
    }
  }
  if (live) setTimeout(follow, 4000);
}

async function start() {
  palette();
  try {
    await plan(0);
  } catch {
    return; // the page as it was sent still works
  }
  const at = Number(view.dataset.at);
  for (const el of list.querySelectorAll(".row")) {
    keep(el);
    el.remove();
  }
  view.classList.add("virtual");
  document.getElementById("picks").hidden = false;
  counts();
  resized();
  const here = at >= 0 ? at : rows.size ? Math.min(...rows.keys()) : 0;
  if (at >= 0) select(at, { middle: true, focus: false });
  else if (here > 0) scrollTo(here * height);
  view.addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(resized).observe(view);
  for (const q of ["(prefers-color-scheme: dark)"]) matchMedia(q).addEventListener("change", () => (palette(), map()));
  paint();
  if (asked) find(at < 0);
  if (live) setTimeout(follow, 4000);
  document.body.dataset.ready = "true";
}
start();
