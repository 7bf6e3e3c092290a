// What a job found out: its reports in short, and where they are whole.

import type { Report } from "proto/api";
import { type Child, h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Compare from "./compare";
import * as Parts from "./parts";

const DOWNLOADS: [Api.Format, string][] = [["json", "JSON"], ["csv", "CSV"],
  ["markdown", "Markdown"], ["perfetto", "Perfetto trace"],
  ["model-explorer", "Model Explorer"]];

const labelOf = (report: Report) =>
  [report.model_name || "model", report.target_name].filter(Boolean).join(" on ");

function actions(job: string, report: Report, index: number) {
  const name = Api.reportName(job, index);
  const label = labelOf(report);
  return h("p", { class: "actions" },
    h("a", { class: "button", href: Api.renderedAt([name], "html") }, "Open the report"),
    Compare.toggle([{ name, label }], label),
    h("span", { class: "downloads" }, "Download ", DOWNLOADS.map(([format, title], i) =>
      [i > 0 && ", ", h("a", { href: Api.renderedAt([name], format) }, title)])));
}

function layersOf(report: Report, cycles: number) {
  const rows = (report.layers || []).map((layer): Parts.Cell[] => {
    const share = cycles > 0 ? Api.number(layer.cycles) / cycles : 0;
    return [[Parts.name(layer.name || layer.id), "name"], [Format.clean(layer.op), "optional"],
      Format.clean(layer.engine), [Format.group(Api.number(layer.cycles)), "number"],
      [Format.percent(share, 1), "number"]];
  });
  return Parts.table("Layers", ["Layer", ["Op", "optional"], "Engine", ["Cycles", "number"],
    ["Share", "number"]], rows, report.whole ? "Too many layers for this page: the report has them."
    : "The report has no layers.");
}

function section(job: string, report: Report, index: number) {
  const totals = report.totals || {};
  const cycles = Api.number(totals.cycles);
  const exact = report.bit_exact;
  return h("section", { id: `report${index}` },
    h("h2", {}, "On ", Parts.name(report.target_name)),
    actions(job, report, index),
    report.error ? Parts.problem(report.error) : null,
    h("div", { class: "tiles" },
      Parts.tile("Cycles", Format.group(cycles), Format.lower(totals.fidelity)),
      Parts.tile("Latency", Format.latency(totals.latency_ms)),
      Parts.tile("MACs", Format.group(Api.number(totals.macs))),
      exact ? Parts.tile("Bit-exact", Api.number(exact.mismatches) === 0 ? "yes" : "no",
        `${Format.group(Api.number(exact.outputs_compared))} values compared`) : null),
    layersOf(report, cycles));
}

export function make(job: string, reports: Report[]): Child[] {
  const names = reports.map((_, index) => Api.reportName(job, index)).slice(0, Compare.MOST);
  return [names.length > 1 && h("p", { class: "actions" },
    h("a", { class: "button", href: Api.renderedAt(names, "html") },
      names.length === reports.length ? "All targets side by side"
        : `The first ${Format.group(names.length)} targets side by side`)),
  reports.map((report, index) => section(job, report, index))];
}
