// Pan and zoom over the picture that the server drew: the view box is moved,
// nothing is drawn anew.
import { typing } from "./page.js";

const svg = document.getElementById("tree");
const whole = { w: Number(svg.dataset.width), h: Number(svg.dataset.height) };
const box = { x: -16, y: -16, w: whole.w, h: whole.h };
document.querySelector(".zoom").hidden = false;

function apply() {
  svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);
}

// scale is how many units of the picture a pixel is.
function scale() {
  const r = svg.getBoundingClientRect();
  return Math.max(box.w / r.width, box.h / r.height);
}

// all shows everything, but nothing much larger than life.
function all() {
  const r = svg.getBoundingClientRect();
  const k = Math.max(whole.w / r.width, whole.h / r.height, 1 / 1.25);
  box.w = r.width * k;
  box.h = r.height * k;
  box.x = -16 - (box.w - whole.w) / 2;
  box.y = -16 - (box.h - whole.h) / 2;
  apply();
}

function zoom(by, x = box.x + box.w / 2, y = box.y + box.h / 2) {
  const k = scale() * by;
  if (k < 0.2 || k > 60) return;
  box.x = x - (x - box.x) * by;
  box.y = y - (y - box.y) * by;
  box.w *= by;
  box.h *= by;
  apply();
}

function point(e) {
  const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [at.x, at.y];
}

// see moves the picture so that a card that has the focus is in sight.
function see(card) {
  const r = card.getBoundingClientRect();
  const f = svg.getBoundingClientRect();
  const k = scale();
  if (r.left < f.left || r.right > f.right) box.x += (r.left + r.width / 2 - f.left - f.width / 2) * k;
  if (r.top < f.top || r.bottom > f.bottom) box.y += (r.top + r.height / 2 - f.top - f.height / 2) * k;
  apply();
}

svg.addEventListener("wheel", (e) => {
  e.preventDefault();
  zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), ...point(e));
}, { passive: false });

let held = null;
let dragged = false;
svg.addEventListener("pointerdown", (e) => {
  if (e.button === 0) held = { x: e.clientX, y: e.clientY, moved: false };
});
svg.addEventListener("pointermove", (e) => {
  if (!held) return;
  const dx = e.clientX - held.x;
  const dy = e.clientY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 5) return;
  if (!held.moved) {
    held.moved = true;
    svg.setPointerCapture(e.pointerId);
    svg.classList.add("held");
  }
  const k = scale();
  box.x -= dx * k;
  box.y -= dy * k;
  held.x = e.clientX;
  held.y = e.clientY;
  apply();
});
for (const end of ["pointerup", "pointercancel"]) {
  svg.addEventListener(end, () => {
    svg.classList.remove("held");
    dragged = held?.moved ?? false;
    held = null;
  });
}
// The click that ends a drag is none.
svg.addEventListener("click", (e) => {
  if (dragged) e.preventDefault();
  dragged = false;
}, { capture: true });
svg.addEventListener("dragstart", (e) => e.preventDefault());
svg.addEventListener("focusin", (e) => {
  const card = e.target.closest?.(".node");
  if (card && card.matches(":focus-visible")) see(card);
});

document.getElementById("nearer").addEventListener("click", () => zoom(0.8));
document.getElementById("farther").addEventListener("click", () => zoom(1.25));
document.getElementById("all").addEventListener("click", all);
document.addEventListener("keydown", (e) => {
  if (typing(e)) return;
  const step = 60 * scale();
  const act = {
    "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), "−": () => zoom(1.25), 0: all,
    ArrowLeft: () => ((box.x -= step), apply()), ArrowRight: () => ((box.x += step), apply()),
    ArrowUp: () => ((box.y -= step), apply()), ArrowDown: () => ((box.y += step), apply()),
  }[e.key];
  if (!act || (e.key.startsWith("Arrow") && !document.getElementById("picture").contains(document.activeElement))) return;
  act();
  e.preventDefault();
});
addEventListener("resize", all);
all();
