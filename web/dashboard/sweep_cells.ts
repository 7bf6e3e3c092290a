// The cells of a sweep that are over, with links to their jobs.

import type { SweepRow } from "proto/api";
import { h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Compare from "./compare";
import * as Parts from "./parts";

const MAX_ROWS = 300;

const valuesOf = (row: SweepRow) => (row.values || []).filter((one) => !one.dropped)
  .map((one) => `${Format.clean(one.key)} ${Format.clean(one.value)}`).join(", ");

function noteOf(row: SweepRow) {
  if (row.error) return Format.clean(row.error.what);
  return row.same_as === undefined ? "" : `same as ${row.same_as}`;
}

function pick(row: SweepRow) {
  if (row.state !== "DONE" || !row.job) return "";
  const about = [Format.clean(row.model), "on", Format.clean(row.target), valuesOf(row)].join(" ");
  return Compare.toggle([{ name: Api.reportName(row.job, 0), label: about }], about);
}

function cellsOf(row: SweepRow): Parts.Cell[] {
  const cycles = Api.number(row.report?.totals?.cycles);
  return [[String(row.cell || 0), "number"], row.job ? Parts.jobLink(row.job) : "-",
    pick(row), Format.lower(row.state), [Parts.name(row.model), "name optional"],
    [Parts.name(row.target), "name optional"], valuesOf(row),
    [cycles ? Format.group(cycles) : "-", "number"], [noteOf(row), "name optional"]];
}

export function make(rows: Map<number, SweepRow>, cells: number, sweep: string) {
  const inOrder = [...rows.entries()].sort(([a], [b]) => a - b).map(([, row]) => row);
  const left = inOrder.length - MAX_ROWS;
  return h("section", { id: "cells" }, h("h2", {}, "Cells"),
    h("p", { class: "muted" }, `${Format.group(rows.size)} of ${Format.group(cells)} are over. `,
      h("code", {}, `edgekiln report html ${Format.clean(sweep)}`), " makes a page of all of them."),
    Parts.table("Cells", [["Cell", "number"], "Job", Compare.heading(), "State",
      ["Model", "optional"], ["Target", "optional"], "Values", ["Cycles", "number"],
      ["", "optional"]],
    inOrder.slice(0, MAX_ROWS).map(cellsOf), "None is over yet."),
    left > 0 && h("p", { class: "muted" }, `${Format.group(left)} more are not shown here.`));
}
