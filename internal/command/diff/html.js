"use strict";
(() => {
const $ = id => document.getElementById(id);
const search = $("search"), boxes = [...document.querySelectorAll("fieldset input")];
const roots = [...document.querySelectorAll(".root")].map(e => ({e, low: e.querySelector("h2").textContent.toLowerCase() + " " + [...e.querySelectorAll(":scope > .alike li")].map(x => x.textContent.toLowerCase()).join(" "),
  resources: [...e.querySelectorAll(":scope > .resource")].map(r => ({r, what: r.dataset.what, n: +(r.dataset.n || 1), low: null}))}));
const rows = [...document.querySelectorAll(".roots tbody tr")].map(e => ({e, group: roots[+e.dataset.group].e, low: e.textContent.toLowerCase()}));
const all = roots.flatMap(x => x.resources), total = all.reduce((n, x) => n + x.n, 0);
document.body.classList.add("script");

// filter shows the resources of the kinds that are wanted in which all words of the search are, or in the names of their roots.
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), want = new Set(boxes.filter(b => b.checked).map(b => b.value));
  let n = 0;
  for (const root of roots) {
    let any = false;
    for (const x of root.resources) {
      if (words.length && x.low === null) x.low = x.r.textContent.toLowerCase();
      const show = want.has(x.what) && words.every(w => root.low.includes(w) || x.low.includes(w));
      x.r.hidden = !show;
      if (show) { any = true; n += x.n; }
    }
    root.e.hidden = !any;
  }
  // A row is hidden with its group, and if the search is for a different root of the group.
  const named = words.length && rows.some(x => words.every(w => x.low.includes(w)));
  for (const x of rows) x.e.hidden = x.group.hidden || named && !words.every(w => x.low.includes(w));
  $("shown").textContent = (n === total ? "" : n.toLocaleString("en") + " of ") + total.toLocaleString("en") + (total === 1 ? " resource" : " resources");
}
search.oninput = filter;
for (const b of boxes) b.onchange = filter;
const unfold = () => all.forEach(x => { if (!x.r.hidden) x.r.open = true; }), fold = () => all.forEach(x => { x.r.open = false; });
$("unfold").onclick = unfold;
$("fold").onclick = fold;

for (const x of rows) x.e.querySelector("button").onclick = () => { x.group.scrollIntoView(); x.group.focus({preventScroll: true}); };

// go moves the focus to the next or previous root, seen from the element with the focus.
function go(by) {
  const list = roots.map(x => x.e).filter(e => !e.hidden), here = document.activeElement;
  let at = list.findIndex(e => e.contains(here));
  if (at < 0) at = by > 0 ? -1 : list.length;
  const to = list[at + by];
  if (to) { to.scrollIntoView(); to.focus({preventScroll: true}); }
}
const keys = {n: () => go(1), p: () => go(-1), u: unfold, f: fold, t: () => { const e = $("table"); if (e) { e.scrollIntoView(); e.focus({preventScroll: true}); } else scrollTo(0, 0); },
  "?": () => { const e = $("keys"); e.open = !e.open; if (e.open) e.scrollIntoView({block: "nearest"}); }};
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === "/" && e.target !== search) { e.preventDefault(); search.focus(); search.select(); }
  else if (e.target !== search && keys[e.key]) { e.preventDefault(); keys[e.key](); }
  else if (e.key === "Escape") { search.value = ""; filter(); }
  else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    const list = [...document.querySelectorAll(".root:not([hidden]) > .resource:not([hidden]) > summary")], at = list.indexOf(document.activeElement);
    if (at < 0 && !(e.target === search && e.key === "ArrowDown")) return;
    e.preventDefault();
    (list[at + (e.key === "ArrowDown" ? 1 : -1)] || search).focus();
  } else if ((e.key === "ArrowRight" || e.key === "ArrowLeft") && e.target.tagName === "SUMMARY") { e.preventDefault(); e.target.parentElement.open = e.key === "ArrowRight"; }
});
filter();
})();
