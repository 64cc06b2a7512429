"use strict";
(() => {
const $ = id => document.getElementById(id);
const search = $("search"), boxes = [...document.querySelectorAll("fieldset input")];
const roots = [...document.querySelectorAll(".root")].map(e => ({e, low: e.querySelector("h2").textContent.toLowerCase() + " " + [...e.querySelectorAll(":scope > details:not(.resource) li")].map(x => x.textContent.toLowerCase()).join(" "),
  resources: [...e.querySelectorAll(":scope > .resource")].map(r => ({r, what: r.dataset.what, low: null}))}));
const all = roots.flatMap(x => x.resources);
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
      if (show) { any = true; n++; }
    }
    root.e.hidden = !any;
  }
  $("shown").textContent = (n === all.length ? "" : n.toLocaleString("en") + " of ") + all.length.toLocaleString("en") + (all.length === 1 ? " resource" : " resources");
}
search.oninput = filter;
for (const b of boxes) b.onchange = filter;
$("unfold").onclick = () => all.forEach(x => { if (!x.r.hidden) x.r.open = true; });
$("fold").onclick = () => all.forEach(x => { x.r.open = false; });
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === "/" && e.target !== search) { e.preventDefault(); search.focus(); search.select(); }
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
