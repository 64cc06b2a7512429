"use strict";
(() => {
const D = JSON.parse(document.getElementById("plan").textContent);
const $ = id => document.getElementById(id);
const canvas = $("canvas"), panel = $("panel"), search = $("search"), results = $("results"), back = $("back"), only = $("only"), where = $("where");
document.body.classList.add("script");

// element makes an element. Names of the plan are never more than text in it.
function element(name, text, props) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  return Object.assign(e, props);
}
const count = (n, one) => n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s");
const layerOf = s => D.layers[s.l], callOf = s => s.c ? D.functions[s.c - 1] : null;

// Who uses what.
const users = D.layers.map(() => []), takers = D.steps.map(() => []);
D.layers.forEach((l, i) => { for (const u of l.u || []) if (users[u.l].at(-1) !== i) users[u.l].push(i); });
D.steps.forEach((s, i) => { for (const k of [...(s.n || []), ...(s.z || [])]) takers[k].push(i); });

// A view is the boxes and edges that are drawn: the layers, or the steps of one. Layers that are alike, or a chain, are one box, a fold, until it is
// opened. The number of a fold as a box follows those of the layers.
const boxWidth = 220, boxHeight = 46, frameGap = 12, frameHead = 26;
const groupOf = []; // of each layer
D.groups.forEach((g, k) => { for (const i of g.m) groupOf[i] = k; });
const opened = []; // folds in the order in which they were opened
const isFold = i => i >= D.layers.length, foldBox = k => D.layers.length + k;
const boxOf = i => { const k = groupOf[i]; return D.groups[k].m.length === 1 || opened.includes(k) ? i : foldBox(k); };
const kinds = {Kustomization: "kind1", Component: "kind2", Composition: "kind3"};
const denies = i => (D.layers[i].s || []).some(s => callOf(D.steps[s]) && !callOf(D.steps[s]).allowed);
function layerBox(i, x, y, level) {
  const l = D.layers[i];
  return {i, x, y, w: boxWidth, h: boxHeight, m: l.m, path: directory(l.f), level, root: l.o, denied: denies(i), sub: [l.k, l.o ? "root" : "", count((l.s || []).length, "step")].filter(Boolean).join(", "), color: kinds[l.k] || "kind4"};
}
function foldOf(k, x, y) {
  const g = D.groups[k], first = D.layers[g.m[0]], roots = g.m.every(i => D.layers[i].o);
  const title = g.c ? count(g.m.length, "layer") + " in a chain" : count(g.m.length, roots ? "root" : "layer") + " alike";
  return {i: foldBox(k), fold: k, x, y, w: boxWidth, h: boxHeight, m: first.m, title, names: g.m, root: roots, denied: denies(g.m[0]), color: kinds[first.k] || "kind4"};
}
function layersView() {
  // Opening a fold needs more space at its place. Everything to its right moves right, and everything below moves down, so nothing overlaps.
  const at = D.groups.map(g => ({x: g.x, y: g.y})), ways = D.ways.map(w => w.slice()), frames = [], boxes = [];
  for (const k of opened) {
    const n = D.groups[k].m.length, columns = D.groups[k].c ? n : Math.ceil(Math.sqrt(.4 * n)), rows = Math.ceil(n / columns), {x, y} = at[k];
    const w = columns * (boxWidth + frameGap) + frameGap, h = frameHead + rows * (boxHeight + frameGap);
    const push = p => { if (p.x >= x + boxWidth) p.x += w - boxWidth; if (p.y >= y + boxHeight) p.y += h - boxHeight; };
    at.forEach(push);
    frames.forEach(push);
    for (const way of ways) for (let i = 2; i < way.length; i += 2) { const p = {x: way[i], y: way[i + 1]}; push(p); way[i] = p.x; way[i + 1] = p.y; }
    frames.push({k, x, y, w, h, columns});
  }
  D.groups.forEach((g, k) => {
    if (opened.includes(k)) return;
    boxes.push(g.m.length === 1 ? layerBox(g.m[0], at[k].x, at[k].y, g.v) : foldOf(k, at[k].x, at[k].y));
  });
  for (const f of frames) {
    const g = D.groups[f.k], members = g.c ? [...g.m].reverse() : g.m;
    f.title = foldOf(f.k).title;
    members.forEach((i, n) => boxes.push(layerBox(i, f.x + frameGap + n % f.columns * (boxWidth + frameGap), f.y + frameHead + Math.floor(n / f.columns) * (boxHeight + frameGap), "fold" + f.k)));
  }
  const id = k => D.groups[k].m.length === 1 ? D.groups[k].m[0] : foldBox(k), edges = [];
  ways.forEach(w => { if (!opened.includes(w[0]) && !opened.includes(w[1])) edges.push({from: id(w[0]), to: id(w[1]), by: w.slice(2)}); });
  const seen = new Set();
  if (opened.length) D.layers.forEach((l, i) => {
    for (const u of l.u || []) {
      const from = boxOf(u.l), to = boxOf(i), key = from + " " + to;
      if (from === to || seen.has(key) || !opened.includes(groupOf[u.l]) && !opened.includes(groupOf[i])) continue;
      seen.add(key); edges.push({from, to, by: [], inside: groupOf[u.l] === groupOf[i]});
    }
  });
  return {layer: -1, boxes, frames, of: new Map(boxes.map(b => [b.i, b])), edges};
}
const directory = file => { const k = file.lastIndexOf("/"); return k > 0 ? file.slice(0, k) : file; };

// different returns the parts of paths that differ: without the directories at the start and the end that all have in common.
function different(paths) {
  const parts = paths.map(p => p.split("/")), least = Math.min(...parts.map(p => p.length)), same = at => parts.every(p => p.at(at) === parts[0].at(at));
  let head = 0, tail = 0;
  if (paths.length > 1) {
    while (head < least - 1 && same(head)) head++;
    while (tail < least - 1 - head && same(-1 - tail)) tail++;
  }
  return parts.map(p => (head ? "…/" : "") + p.slice(head, p.length - tail).join("/") + (tail ? "/…" : ""));
}
// middle shortens text to n characters in the middle.
function middle(text, n) {
  if (text.length <= n) return text;
  const head = Math.max(1, Math.floor((n - 1) * .4));
  return text.slice(0, head) + "…" + text.slice(text.length - Math.max(1, n - 1 - head));
}
// labels shortens paths to n characters so that different ones stay different where n allows it.
function labels(paths, n) {
  const fits = paths.every(p => p.length <= n), out = fits ? [...paths] : different(paths).map(p => middle(p, n)), by = new Map();
  out.forEach((text, k) => by.has(text) ? by.get(text).push(k) : by.set(text, [k]));
  for (const list of by.values()) {
    if (list.length === 1 || list.every(k => paths[k] === paths[list[0]]) || list.length === paths.length && n < 8) continue;
    const sub = different(list.map(k => paths[k]));
    let start = 0;
    const least = Math.min(...sub.map(s => s.length));
    if (Math.max(...sub.map(s => s.length)) > n) while (start < least - 1 && sub.every(s => s[start] === sub[0][start])) start++;
    list.forEach((k, at) => { out[k] = start > 1 ? middle("…" + sub[at].slice(start), n) : middle(sub[at], n); });
  }
  return out;
}
// sample returns the first names of a fold that fit into n characters: the last parts of the paths, if they are different.
function sample(paths, n) {
  const last = paths.map(p => p.slice(p.lastIndexOf("/") + 1)), names = new Set(last).size === paths.length ? last : different(paths);
  let text = middle(names[0], n - 3), k = 1;
  while (k < names.length && text.length + names[k].length + 5 <= n) text += ", " + names[k++];
  return k < names.length ? text + ", …" : text;
}
// label sets the titles of boxes for n characters. Boxes of one level are compared with each other.
function label(n) {
  if (view.layer >= 0 || view.labelled === n) return;
  view.labelled = n;
  const levels = new Map();
  for (const b of view.boxes) {
    if (b.fold >= 0) { b.sub = sample(b.names.map(i => directory(D.layers[i].f)), 34); continue; }
    if (levels.has(b.level)) levels.get(b.level).push(b); else levels.set(b.level, [b]);
  }
  for (const list of levels.values()) labels(list.map(b => b.path), n).forEach((text, k) => { list[k].title = text; });
}
const colors = {load: "k1", fetch: "k1", call: "k3", finish: "k4"};
function stepsView(layer) {
  const l = D.layers[layer], ways = new Map((l.w || []).map(w => [w[0] + " " + w[1], w.slice(2)]));
  const at = (l.s || []).map(i => {
    const s = D.steps[i], f = callOf(s);
    return {i, x: s.x, y: s.y, w: 240, h: 42, m: s.m, title: cut(s.v + " " + (s.o || s.t || ""), 34), sub: cut(s.s || s.at || "", 38), color: f && !f.allowed ? "no" : colors[s.v] || "k2"};
  });
  const edges = [];
  for (const b of at) for (const from of [...(D.steps[b.i].n || []), ...(D.steps[b.i].z || [])]) {
    if (D.steps[from].l === layer) edges.push({from, to: b.i, by: ways.get(from + " " + b.i) || []});
    else b.in = true;
  }
  for (const b of at) b.out = takers[b.i].some(k => D.steps[k].l !== layer);
  return {layer, boxes: at, of: new Map(at.map(b => [b.i, b])), edges};
}
function cut(s, n) { return s.length > n ? s.slice(0, n - 1) + "…" : s; }
let view = layersView(), zoom = 1, dx = 0, dy = 0, chosen = -1, found = null, queued = false, style = {};
const ctx = canvas.getContext("2d");

function readStyle() {
  const s = getComputedStyle(document.documentElement);
  for (const name of ["bg", "fg", "soft", "line", "fill", "on", "k1", "k2", "k3", "k4", "kind1", "kind2", "kind3", "kind4", "bad", "warn", "good", "edge"]) style[name] = s.getPropertyValue("--" + name).trim();
  style.no = style.bad;
}
const markColor = m => m === "+" ? style.good : m === "-" ? style.bad : style.warn;

function draw() { if (!queued) { queued = true; requestAnimationFrame(paint); } }

// paint draws what of the view is visible.
function paint() {
  queued = false;
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = style.bg; ctx.fillRect(0, 0, w, h);
  ctx.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * dx, ratio * dy);
  const left = -dx / zoom, top = -dy / zoom, right = left + w / zoom, bottom = top + h / zoom;
  const dim = b => found && !(b.fold >= 0 ? b.names.some(i => found.has(i)) : found.has(b.i)) || only && only.checked && !b.m;
  const size = Math.min(40, Math.max(12, 9.5 / zoom)); // of the font, so that it is readable from afar
  let labelled = 0;
  label(Math.floor((boxWidth - 18) / (size * .54)));
  // Frames hide the edges that pass below them, but not those between their boxes and those of the chosen box.
  edges(left, top, right, bottom, e => !e.inside, false);
  for (const f of view.frames || []) frame(f, size);
  if (view.frames?.length) edges(left, top, right, bottom, e => e.inside, false);
  edges(left, top, right, bottom, () => true, true);
  let shown = 0;
  ctx.textBaseline = "alphabetic";
  for (const b of view.boxes) {
    if (b.x > right || b.y > bottom || b.x + b.w < left || b.y + b.h < top) continue;
    shown++;
    ctx.globalAlpha = dim(b) && b.i !== chosen ? .25 : 1;
    if (box(b, size)) labelled++;
  }
  ctx.globalAlpha = 1;
  Object.assign(canvas.dataset, {view: view.layer < 0 ? "layers" : "steps", layer: view.layer, zoom: zoom.toFixed(4), x: Math.round(dx), y: Math.round(dy), chosen, boxes: view.boxes.length, shown, labelled, folds: view.boxes.filter(b => b.fold >= 0).length, open: opened.length, found: found ? found.size : -1});
}
function edges(left, top, right, bottom, which, strong) {
  ctx.beginPath();
  for (const e of view.edges) {
    if ((e.from === chosen || e.to === chosen) !== strong || !which(e)) continue;
    const a = view.of.get(e.from), b = view.of.get(e.to);
    let x = a.x + a.w, y = a.y + a.h / 2;
    const ex = b.x, ey = b.y + b.h / 2;
    if (Math.max(x, ex) < left || Math.min(x, ex) > right || !e.by.length && (Math.max(y, ey) < top || Math.min(y, ey) > bottom)) continue;
    ctx.moveTo(x, y);
    for (let k = 0; k <= e.by.length; k += 4) {
      const end = k === e.by.length, nx = end ? ex : e.by[k], ny = end ? ey : e.by[k + 1], mid = (x + nx) / 2;
      if (zoom > .15) ctx.bezierCurveTo(mid, y, mid, ny, nx, ny); else ctx.lineTo(nx, ny);
      if (!end) { x = e.by[k + 2]; y = e.by[k + 3]; ctx.lineTo(x, y); }
    }
  }
  ctx.strokeStyle = strong ? style.on : style.edge;
  ctx.lineWidth = (strong ? 2 : 1) / Math.min(1, Math.max(zoom, .35));
  ctx.stroke();
}
// frame draws the frame of an open fold. Its head closes it.
function frame(f, size) {
  ctx.fillStyle = style.bg; ctx.fillRect(f.x, f.y, f.w, f.h);
  ctx.strokeStyle = style.edge; ctx.lineWidth = 1; ctx.setLineDash([5, 4]);
  ctx.strokeRect(f.x, f.y, f.w, f.h); ctx.setLineDash([]);
  ctx.fillStyle = style.soft; ctx.font = "600 " + Math.min(size, 18) + "px system-ui,sans-serif";
  ctx.fillText("▾ " + f.title, f.x + frameGap, f.y + 18, f.w - 2 * frameGap);
}
// box draws a box, and reports whether it has a label.
function box(b, size) {
  const is = b.i === chosen, fold = b.fold >= 0, denied = b.denied || b.color === "no";
  if (fold) for (const d of [8, 4]) { ctx.fillStyle = style.fill; ctx.fillRect(b.x + d, b.y + d, b.w, b.h); ctx.strokeStyle = style[b.color]; ctx.lineWidth = 1; ctx.strokeRect(b.x + d, b.y + d, b.w, b.h); }
  ctx.fillStyle = style.fill; ctx.fillRect(b.x, b.y, b.w, b.h);
  ctx.fillStyle = style[b.color]; ctx.fillRect(b.x, b.y, zoom < .2 ? 20 : 6, b.h);
  ctx.strokeStyle = is ? style.on : b.m ? markColor(b.m) : denied ? style.bad : view.layer < 0 ? style[b.color] : style.edge;
  ctx.lineWidth = is ? 3 : b.m || denied ? 2 : b.root ? 2.5 : 1;
  ctx.setLineDash(b.m === "-" ? [6, 4] : []);
  ctx.strokeRect(b.x, b.y, b.w, b.h);
  ctx.setLineDash([]);
  if (b.in || b.out) {
    ctx.beginPath();
    if (b.in) { ctx.moveTo(b.x - 14, b.y + b.h / 2); ctx.lineTo(b.x, b.y + b.h / 2); }
    if (b.out) { ctx.moveTo(b.x + b.w, b.y + b.h / 2); ctx.lineTo(b.x + b.w + 14, b.y + b.h / 2); }
    ctx.setLineDash([3, 3]); ctx.stroke(); ctx.setLineDash([]);
  }
  if (zoom < .1) return false; // a letter would be less than four pixels high
  const two = size < 15; // is there space for a second line?
  ctx.fillStyle = denied ? style.bad : style.fg; ctx.font = "600 " + size + "px system-ui,sans-serif";
  let x = b.x + 13;
  const y = two ? b.y + 18 : b.y + b.h / 2 + size * .35;
  if (b.m) { ctx.fillStyle = markColor(b.m); ctx.fillText(b.m === "-" ? "−" : b.m, x, y); ctx.fillStyle = style.fg; x += size; }
  ctx.fillText((fold ? "▸ " : "") + b.title, x, y, b.x + b.w - x - 4);
  if (two) { ctx.fillStyle = style.soft; ctx.font = "11.5px system-ui,sans-serif"; ctx.fillText(b.sub, b.x + 13, b.y + 35, b.w - 19); }
  return true;
}

function bounds(boxes) {
  let x1 = Infinity, y1 = Infinity, x2 = -Infinity, y2 = -Infinity;
  for (const b of boxes) { x1 = Math.min(x1, b.x); y1 = Math.min(y1, b.y); x2 = Math.max(x2, b.x + b.w); y2 = Math.max(y2, b.y + b.h); }
  return boxes.length ? [x1, y1, x2, y2] : [0, 0, 1, 1];
}
// fit shows all boxes.
function fit() {
  const [x1, y1, x2, y2] = bounds(view.boxes), w = canvas.clientWidth, h = canvas.clientHeight, edge = 24;
  zoom = Math.max(.004, Math.min(1.2, (w - 2 * edge) / (x2 - x1), (h - 2 * edge) / (y2 - y1)));
  dx = (w - (x1 + x2) * zoom) / 2; dy = (h - (y1 + y2) * zoom) / 2;
  draw();
}
// begin is the first view: all boxes if they are readable then, else those at the left.
function begin() {
  fit();
  const least = .4;
  if (zoom >= least || view.boxes.length > 1000) return;
  const [x1, y1, , y2] = bounds(view.boxes), h = canvas.clientHeight;
  zoom = least; dx = 24 - x1 * zoom; dy = Math.max(24 - y1 * zoom, (h - (y1 + y2) * zoom) / 2);
}
function scale(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const to = Math.max(.004, Math.min(4, zoom * by));
  dx = x - (x - dx) * to / zoom; dy = y - (y - dy) * to / zoom; zoom = to;
  draw();
}
// reveal moves the view so that a box is visible and can be read.
function reveal(b) {
  if (zoom < .6) zoom = 1;
  const w = canvas.clientWidth, h = canvas.clientHeight, x = b.x * zoom + dx, y = b.y * zoom + dy;
  if (x < 10 || y < 10 || x + b.w * zoom > w - 10 || y + b.h * zoom > h - 10) { dx = w / 2 - (b.x + b.w / 2) * zoom; dy = h / 2 - (b.y + b.h / 2) * zoom; }
  draw();
}

function show(next) {
  view = next; chosen = -1; found = null;
  back.hidden = view.layer < 0;
  $("keys").className = view.layer < 0 ? "layers" : "steps";
  $("close").hidden = view.layer >= 0 || !opened.length;
  where.textContent = view.layer < 0 ? count(D.layers.length, "layer") + ", " + count(D.steps.length, "step") : "steps of " + D.layers[view.layer].f;
}
function choose(i, look = true) {
  chosen = i;
  const was = panel.hidden;
  if (i < 0) { panel.hidden = true; panel.replaceChildren(); } else { panel.hidden = false; (view.layer >= 0 ? aboutStep : isFold(i) ? aboutFold : aboutLayer)(i); panel.scrollTop = 0; }
  if (i >= 0 && look) reveal(view.of.get(i));
  if (was !== panel.hidden) draw();
  draw();
}
function goLayer(i) { if (view.layer >= 0 || isFold(boxOf(i))) { if (isFold(boxOf(i))) opened.push(groupOf[i]); show(layersView()); } choose(i); }
// openFold shows the layers of a fold in its place, and closeFold makes it one box again.
function openFold(k) {
  opened.push(k); show(layersView());
  const f = view.frames.at(-1), w = canvas.clientWidth, h = canvas.clientHeight, x = f.x * zoom + dx, y = f.y * zoom + dy;
  if (x < 0 || y < 0 || x + f.w * zoom > w || y + f.h * zoom > h) {
    zoom = Math.max(.3, Math.min(1, (w - 40) / f.w, (h - 40) / f.h));
    dx = f.w * zoom > w ? 20 - f.x * zoom : (w - (2 * f.x + f.w) * zoom) / 2; dy = f.h * zoom > h ? 20 - f.y * zoom : (h - (2 * f.y + f.h) * zoom) / 2;
  }
  choose(-1);
}
function closeFold(k) { opened.splice(opened.indexOf(k), 1); show(layersView()); choose(foldBox(k)); }
function goStep(i) { const l = D.steps[i].l; if (view.layer !== l) show(stepsView(l)); choose(i); }
function open(layer) { if (!(D.layers[layer].s || []).length) return; show(stepsView(layer)); choose(-1); fit(); canvas.focus(); }
function leave() { const l = view.layer; view = {layer: -1}; if (isFold(boxOf(l))) opened.push(groupOf[l]); show(layersView()); choose(l); }

// The panel says what is known of what is chosen.
function about(title) { panel.replaceChildren(element("h2", title)); const list = element("dl"); panel.append(list); return list; }
function say(list, name, ...values) {
  values = values.filter(v => v !== undefined && v !== "");
  if (!values.length) return;
  list.append(element("dt", name));
  for (const v of values) { const d = element("dd"); d.append(v); list.append(d); }
}
function link(text, go) { return element("button", text, {type: "button", className: "go", onclick: () => { go(); canvas.focus({preventScroll: true}); }}); }
function some(list, make) {
  const out = list.slice(0, 50).map(make);
  if (list.length > 50) out.push("and " + count(list.length - 50, "other"));
  return out;
}
const marks = {"+": "added", "-": "removed", "~": "changed"};
function changed(list, x) { if (x.m) say(list, "since the other plan", marks[x.m], ...(x.d || [])); }
function aboutFold(i) {
  const k = i - D.layers.length, list = about(foldOf(k).title);
  panel.insertBefore(element("button", "show them", {type: "button", id: "open", onclick: () => { openFold(k); canvas.focus({preventScroll: true}); }}), list);
  say(list, "kind", D.layers[D.groups[k].m[0]].k);
  say(list, "layers", ...some(D.groups[k].m, m => link(D.layers[m].f, () => goLayer(m))));
}
function aboutLayer(i) {
  const l = D.layers[i], list = about(l.f);
  if ((l.s || []).length) panel.insertBefore(element("button", "show its " + count(l.s.length, "step"), {type: "button", id: "open", onclick: () => open(i)}), list);
  changed(list, l);
  say(list, "kind", l.k);
  say(list, "uses", ...some(l.u || [], u => link(u.f + ": " + D.layers[u.l].f, () => goLayer(u.l))));
  say(list, "used by", ...some(users[i], u => link(D.layers[u].f, () => goLayer(u))));
  say(list, "roots", ...some(l.r || [], r => r));
  say(list, "files", ...some(l.p || [], f => f));
  say(list, "steps", ...some(l.s || [], s => link(D.steps[s].v + " " + D.steps[s].i, () => goStep(s))));
}
function aboutStep(i) {
  const s = D.steps[i], f = callOf(s), list = about(s.v + " " + s.i);
  changed(list, s);
  say(list, "configuration", s.s);
  say(list, "configured in", s.a + (s.o ? "  " + s.o : ""));
  say(list, "item", s.t);
  say(list, "changed by", ...some(s.b || [], b => b));
  if (f) decision(list, f);
  say(list, "since the last render", s.h);
  if (s.r) { say(list, "output of", D.roots[s.r - 1].d); say(list, "resources", ...some(D.roots[s.r - 1].k || [], k => k)); }
  say(list, "inputs", ...some(s.n || [], k => link(D.steps[k].i, () => goStep(k))));
  say(list, "after", ...some(s.z || [], k => link(D.steps[k].i, () => goStep(k))));
  say(list, "used by", ...some(takers[i], k => link(D.steps[k].i, () => goStep(k))));
  say(list, "layer", link(layerOf(s).f, () => goLayer(s.l)));
}
function decision(list, f) {
  say(list, "decision", element("b", f.allowed ? "allowed" : "denied" + (f.reason ? ": " + f.reason : ""), {className: f.allowed ? "allowed" : "denied"}));
  say(list, "because", ...(f.denials || []), ...(f.catalog ? ["entry " + f.entry + " of " + f.catalog, "trusted by " + f.trustedBy] : ["it is in no catalog"]));
  say(list, "runs", f.runtime && f.runtime + " " + f.source, f.digest, f.chart && ["chart", f.chart.name, f.chart.version, f.chart.source].filter(Boolean).join(" "), f.chart && f.chart.digest);
  say(list, "arguments", ...(f.args || []));
  say(list, "capabilities", ...(f.grants || []).map(g => g.capability + ", by " + g.by), (f.grants || []).length ? "" : "none");
  say(list, "isolated by", f.isolation);
  say(list, "executor", f.executor);
  say(list, "answer", f.cache);
  say(list, "configuration of the function", f.configFile && f.configFile + (f.configLine ? ":" + f.configLine : ""), f.config);
  say(list, "shadows", ...(f.shadows || []));
}

// The search knows what can be found, each with what is to be shown then.
let index = null;
function entries() {
  const all = [], add = (kind, text, more, layers, step, go) => all.push({kind, text, low: (kind + " " + text + " " + (more || "")).toLowerCase(), layers, step, go});
  D.layers.forEach((l, i) => add("layer", l.f, l.k, [i], -1, () => goLayer(i)));
  D.roots.forEach(r => {
    if (r.s < 0) return;
    add("root", r.d, "", [D.steps[r.s].l], r.s, () => goStep(r.s));
    for (const k of r.k || []) add("resource", k + " in " + r.d, "", [D.steps[r.s].l], r.s, () => goStep(r.s));
  });
  D.steps.forEach((s, i) => {
    const f = callOf(s);
    if (f) add("function", s.i, [s.s, f.source, f.digest, f.chart && f.chart.name, f.allowed ? "allowed" : "denied", f.reason, ...(f.grants || []).map(g => g.capability)].join(" "), [s.l], i, () => goStep(i));
    else add("step", s.v + " " + s.i, s.s + " " + s.a, [s.l], i, () => goStep(i));
  });
  const files = new Map();
  D.layers.forEach((l, i) => { for (const f of l.p || []) if (!files.has(f)) files.set(f, [i]); else files.get(f).push(i); });
  for (const [f, layers] of files) add("file", f, "", layers, -1, () => goLayer(layers[0]));
  return all;
}
function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.replaceChildren();
  results.hidden = !words.length;
  if (!words.length) { found = null; draw(); return; }
  index = index || entries();
  const hits = index.filter(e => words.every(w => e.low.includes(w)));
  found = new Set();
  for (const e of hits) if (view.layer < 0) e.layers.forEach(l => found.add(l)); else if (e.step >= 0) found.add(e.step);
  for (const e of hits.slice(0, 60)) {
    const b = element("button", undefined, {type: "button", onclick: () => { results.hidden = true; e.go(); canvas.focus({preventScroll: true}); }});
    b.append(element("i", e.kind), " " + e.text);
    const item = element("li"); item.append(b); results.append(item);
  }
  const says = element("li"); says.append(element("p", hits.length ? count(hits.length, "hit") + (hits.length > 60 ? ", 60 of them here" : "") : "nothing found"));
  results.append(says);
  results.dataset.hits = hits.length;
  draw();
}
search.oninput = find;
search.onfocus = () => { if (search.value) results.hidden = false; };
const buttons = () => [...results.querySelectorAll("button")];
search.onkeydown = e => {
  if (e.key === "Enter" && buttons().length) { e.preventDefault(); buttons()[0].click(); }
  if (e.key === "ArrowDown" && buttons().length) { e.preventDefault(); buttons()[0].focus(); }
};
results.onkeydown = e => {
  const all = buttons(), k = all.indexOf(document.activeElement);
  if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); const to = k + (e.key === "ArrowDown" ? 1 : -1); (to < 0 ? search : all[Math.min(to, all.length - 1)]).focus(); }
};

// neighbour returns the box to which an arrow key leads: along an edge, or the next one in that direction.
function neighbour(key) {
  const from = view.of.get(chosen);
  if (!from) {
    const x = (canvas.clientWidth / 2 - dx) / zoom, y = (canvas.clientHeight / 2 - dy) / zoom;
    return nearest(view.boxes, b => Math.hypot(b.x + b.w / 2 - x, b.y + b.h / 2 - y));
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const next = view.edges.filter(e => (key === "ArrowLeft" ? e.to : e.from) === chosen).map(e => view.of.get(key === "ArrowLeft" ? e.from : e.to));
    if (next.length) return nearest(next, b => Math.abs(b.y - from.y));
  }
  const [ux, uy] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[key];
  return nearest(view.boxes, b => {
    const x = b.x - from.x, y = b.y - from.y, along = x * ux + y * uy, aside = Math.abs(x * uy) + Math.abs(y * ux);
    return along > 1 ? along + 3 * aside : Infinity;
  });
}
function nearest(boxes, far) {
  let best = null, least = Infinity;
  for (const b of boxes) { const d = far(b); if (d < least) { least = d; best = b; } }
  return best;
}
function escape() {
  if (!results.hidden || search.value) { results.hidden = true; search.value = ""; find(); canvas.focus({preventScroll: true}); }
  else if (view.layer >= 0) leave();
  else if (chosen < 0 && opened.length) closeFold(opened.at(-1));
  else choose(-1);
}
canvas.onkeydown = e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const b = e.key.startsWith("Arrow") && !e.shiftKey ? neighbour(e.key) : null;
  if (b) choose(b.i);
  else if (e.key.startsWith("Arrow")) { dx += {ArrowLeft: 80, ArrowRight: -80}[e.key] || 0; dy += {ArrowUp: 80, ArrowDown: -80}[e.key] || 0; draw(); }
  else if (e.key === "Enter" && view.layer < 0 && chosen >= 0) { if (isFold(chosen)) openFold(chosen - D.layers.length); else open(chosen); }
  else if (e.key === "+" || e.key === "=") scale(1.3);
  else if (e.key === "-") scale(1 / 1.3);
  else if (e.key === "0") fit();
  else return;
  e.preventDefault();
};
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = e.target.tagName === "INPUT" && e.target.type !== "checkbox";
  if (e.key === "/" && !typing) { e.preventDefault(); $("graph").scrollIntoView(); search.focus(); search.select(); }
  else if (e.key === "Escape") { e.preventDefault(); escape(); }
});

// The mouse moves the view, makes it larger and smaller, and chooses.
const point = e => { const r = canvas.getBoundingClientRect(); return [(e.clientX - r.left - dx) / zoom, (e.clientY - r.top - dy) / zoom]; };
const at = e => { const [x, y] = point(e); return view.boxes.find(b => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h); };
const headAt = e => { const [x, y] = point(e); return (view.frames || []).find(f => x >= f.x && x <= f.x + f.w && y >= f.y && y <= f.y + frameHead); };
let drag = null;
canvas.onpointerdown = e => { if (e.button) return; canvas.setPointerCapture(e.pointerId); drag = {x: e.clientX, y: e.clientY, dx, dy, far: false}; };
canvas.onpointermove = e => {
  if (!drag) { const b = at(e); canvas.title = !b ? headAt(e) ? "fold" : "" : b.fold >= 0 ? b.names.slice(0, 30).map(i => directory(D.layers[i].f)).join("\n") : b.path || b.title; return; }
  const x = e.clientX - drag.x, y = e.clientY - drag.y;
  drag.far = drag.far || Math.hypot(x, y) > 4;
  if (drag.far) { canvas.classList.add("drag"); dx = drag.dx + x; dy = drag.dy + y; draw(); }
};
canvas.onpointerup = e => {
  const moved = drag && drag.far;
  drag = null; canvas.classList.remove("drag");
  if (!moved) {
    const b = at(e), f = b ? null : headAt(e);
    if (f) closeFold(f.k); else if (b && b.fold >= 0) openFold(b.fold); else choose(b ? b.i : -1, false);
    canvas.focus({preventScroll: true});
  }
};
canvas.onpointercancel = () => { drag = null; };
canvas.ondblclick = e => { const b = at(e); if (b && view.layer < 0 && !(b.fold >= 0)) open(b.i); };
canvas.addEventListener("wheel", e => {
  if (document.activeElement !== canvas && !e.ctrlKey) return;
  e.preventDefault();
  const r = canvas.getBoundingClientRect();
  scale(Math.exp(-Math.max(-120, Math.min(120, e.deltaMode ? e.deltaY * 20 : e.deltaY)) / 400), e.clientX - r.left, e.clientY - r.top);
}, {passive: false});
$("fit").onclick = fit;
$("in").onclick = () => scale(1.3);
$("out").onclick = () => scale(1 / 1.3);
back.onclick = leave;
$("close").onclick = () => { opened.length = 0; show(layersView()); choose(-1); fit(); };
if (only) only.onchange = draw;
document.addEventListener("click", e => {
  if (!results.contains(e.target) && e.target !== search) results.hidden = true;
  const b = e.target.closest("[data-step]");
  if (b) { goStep(+b.dataset.step); $("graph").scrollIntoView(); canvas.focus({preventScroll: true}); }
});

// The list has the steps of a layer when that is opened.
for (const d of document.querySelectorAll("details.layer")) d.addEventListener("toggle", () => {
  if (!d.open || d.querySelector("ol")) return;
  const list = element("ol");
  for (const i of D.layers[+d.dataset.layer].s || []) {
    const s = D.steps[i], f = callOf(s), li = element("li"), b = element("button", s.v + " " + s.i, {type: "button", className: "go"});
    b.dataset.step = i;
    li.append((s.m ? marks[s.m] + " " : ""), b, (s.s ? ": " + s.s : "") + " (" + s.a + ")" + (f ? f.allowed ? " allowed" : " denied" : ""));
    list.append(li);
  }
  d.append(list);
}, {once: false});

matchMedia("(prefers-color-scheme: dark)").onchange = () => { readStyle(); draw(); };
new ResizeObserver(draw).observe(canvas);
readStyle();
show(layersView());
begin();
})();
