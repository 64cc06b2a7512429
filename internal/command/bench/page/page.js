// Tables are sorted by the column that is clicked on. All else works without this.
document.body.classList.add("sort");
for (const th of document.querySelectorAll("th")) th.onclick = () => {
  const body = th.closest("table").tBodies[0], k = th.cellIndex, up = th.dataset.up = th.dataset.up === "1" ? "0" : "1";
  const value = row => { const c = row.cells[k]; return "v" in c.dataset ? +c.dataset.v : c.textContent; };
  const order = (a, b) => typeof a === "number" ? b - a : a < b ? -1 : a > b ? 1 : 0;
  [...body.rows].sort((a, b) => (up === "1" ? 1 : -1) * order(value(a), value(b))).forEach(row => body.append(row));
};
