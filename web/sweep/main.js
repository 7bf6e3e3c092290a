// Puts the page of a sweep together.
const view = Data.read();
const main = document.getElementById("main");
const { h } = Dom;

function head() {
  const { summary, id } = view;
  const counts = [["cells", summary.cells], ["done", summary.done], ["failed", summary.failed],
    ["refused", summary.refused], ["merged", summary.merged], ["excluded", summary.excluded]]
    .filter(([name, count]) => count || name === "cells" || name === "done");
  return [h("h1", {}, view.title), id && h("p", { class: "muted mono" }, `sweep ${id}`),
    h("div", { class: "tiles" }, counts.map(([name, count]) => h("div", { class: "tile" },
      h("div", { class: "label" }, name), h("div", { class: "value" }, Format.group(count || 0)))))];
}

function table() {
  const columns = [
    { title: "cell", number: true, value: (row) => row.cell, text: (row) => Format.group(row.cell) },
    ...view.dimensions.map(({ name, of }) => ({ title: name, name: name === "model",
      value: (row) => { const n = Scales.numberOf(of(row)); return isNaN(n) ? of(row) : n; },
      text: (row) => of(row) ?? "-" })),
    { title: "state", optional: true, value: (row) => row.state, text: (row) => row.state },
    ...view.measures.map(({ name, of, text }) => ({ title: name, number: true, value: of,
      text: (row) => (Data.isNumber(of(row)) ? text(of(row)) : "-") })),
    { title: "latency", number: true, optional: true, value: (row) => row.latency_ms,
      text: (row) => (Data.isNumber(row.latency_ms) ? Format.latency(row.latency_ms) : "-") },
    { title: "note", value: (row) => noteOf(row), text: (row) => noteOf(row) }];
  return Panel.section("cells", "Cells", "Of refused and merged cells only the reason is known.",
    Tables.make({ label: "Cells", columns, rows: view.rows, filterLabel: "Find",
      filter: (row) => columns.map((column) => column.text(row)).join(" ") }));
}

function noteOf(row) {
  return [row.best && "fewest cycles", row.front && "front",
    row.same_as !== null && `same as ${row.same_as}`, row.note].filter(Boolean).join(", ");
}

const scatter = Scatter.make(view);
main.replaceChildren(...[
  view.done.length > 0 ? Parallel.make(view, scatter.show)
    : h("p", { class: "callout" }, "No cell has figures."),
  scatter.section, table()].filter(Boolean));
document.getElementById("head").replaceChildren(...head().filter(Boolean));
document.getElementById("contents").replaceChildren(h("ul", {},
  [...main.querySelectorAll("section")].map((section) =>
    h("li", {}, h("a", { href: `#${section.id}` }, section.dataset.title)))));
document.getElementById("foot").replaceChildren(
  `Made by ${Format.clean(view.version)} from the sweep's rows alone.`);
