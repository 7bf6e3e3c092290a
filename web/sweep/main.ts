// Puts the page of a sweep together.

import { byId, h, nodesOf } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import * as Data from "./data";
import type { Row } from "./data";
import * as Scales from "./scales";
import * as Parallel from "./parallel";
import * as Scatter from "./scatter";

const view = Data.read();
const main = byId("main");

function head() {
  const { summary, id } = view;
  const all: [string, number | undefined][] = [["cells", summary.cells],
    ["done", summary.done], ["failed", summary.failed],
    ["refused", summary.refused], ["merged", summary.merged], ["excluded", summary.excluded]];
  const counts = all.filter(([name, count]) => count || name === "cells" || name === "done");
  return [h("h1", {}, view.title), id && h("p", { class: "muted mono" }, `sweep ${id}`),
    h("div", { class: "tiles" }, counts.map(([name, count]) => h("div", { class: "tile" },
      h("div", { class: "label" }, name), h("div", { class: "value" }, Format.group(count || 0)))))];
}

function table() {
  const columns: Tables.Column<Row>[] = [
    { title: "cell", number: true, value: (row) => row.cell, text: (row) => Format.group(row.cell) },
    ...view.dimensions.map(({ name, of }): Tables.Column<Row> => ({ title: name,
      name: name === "model", text: (row) => of(row) ?? "-",
      value: (row) => {
        const number = Scales.numberOf(of(row));
        return isNaN(number) ? of(row) : number;
      } })),
    { title: "state", optional: true, value: (row) => row.state, text: (row) => row.state },
    ...view.measures.map(({ name, of, text }): Tables.Column<Row> => ({ title: name,
      number: true, value: of, text: (row) => text(of(row)) })),
    { title: "latency", number: true, optional: true, value: (row) => row.latency_ms,
      text: (row) => Format.latency(row.latency_ms) },
    { title: "note", value: (row) => noteOf(row), text: (row) => noteOf(row) }];
  return Panel.section("cells", "Cells", "Of refused and merged cells only the reason is known.",
    Tables.make({ label: "Cells", columns, rows: view.rows, filterLabel: "Find",
      filter: (row) => columns.map((column) => column.text(row)).join(" ") }));
}

function noteOf(row: Row) {
  return [row.best && "fewest cycles", row.front && "front",
    row.same_as !== null && `same as ${row.same_as}`, row.note].filter(Boolean).join(", ");
}

const scatter = Scatter.make(view);
main.replaceChildren(...nodesOf([
  view.done.length > 0 ? Parallel.make(view, scatter.show)
    : h("p", { class: "callout" }, "No cell has figures."),
  scatter.section, table()]));
byId("head").replaceChildren(...nodesOf(head()));
byId("contents").replaceChildren(h("ul", {},
  [...main.querySelectorAll<HTMLElement>("section")].map((section) =>
    h("li", {}, h("a", { href: `#${section.id}` }, section.dataset.title)))));
byId("foot").replaceChildren(
  `Made by ${Format.clean(view.version)} from the sweep's rows alone.`);
