// What a report says in one screen: verdict, totals, and what they are of.

import type { ErrorDetail, Report } from "proto/page";
import { type Child, h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Panel from "../shared/panel";
import type { View } from "./data";

const FIDELITY: Record<string, string> = {
  EXACT: "equal to the described hardware by definition",
  CYCLE_APPROXIMATE: "from a timing model of each decoded command",
  ESTIMATE: "from closed formulas and cost classes",
};
const SHARES = ["mse", "mae", "cosine", "auc"];

const isShare = (metric: string) => !SHARES.includes(metric);
export const metricText = (metric = "", value: Format.Figure = 0) => isShare(metric)
  ? Format.percent(value, 2)
  : Format.significant(value, 4);

function tile(label: string, value: string, unit: string | null, extra: string | null = null) {
  return h("div", { class: "tile" }, h("div", { class: "label" }, label),
    h("div", { class: "value" }, value, unit && h("span", { class: "unit" }, ` ${unit}`)),
    extra && h("div", { class: "extra" }, extra));
}

// "0.3576 ms" as a number and a unit.
function split(text: string): [string, string | null] {
  const [value, unit] = text.split("\u00a0");
  return [value, unit ?? null];
}

export function fidelityText(totals: Report.Totals) {
  const fidelity = totals.fidelity;
  return fidelity ? Format.lower(fidelity) : "";
}

function cyclesTile(view: View) {
  const { totals } = view;
  const other = totals.cycles_other_io;
  const about = other && other !== totals.cycles
    ? `${totals.instructions ? "about " : ""}${Format.group(other)} with ` +
      `${totals.io === "IO_FLOAT" ? "integer" : "float"} io`
    : null;
  return tile("cycles", Format.group(totals.cycles), null,
    [fidelityText(totals), about].filter(Boolean).join("; "));
}

function accuracyTile(accuracy: Report.Accuracy) {
  const { metric, interval } = accuracy;
  const [value, unit] = split(metricText(metric, accuracy.value));
  const range = interval
    ? `${Format.percent(interval.low || 0, 1)} to ${Format.percent(interval.high || 0, 1)} (95\u00a0%)`
    : Format.count(accuracy.samples || 0, "sample", "samples");
  return tile(Format.clean(metric), value, unit, range);
}

function tiles(view: View) {
  const { report, totals } = view;
  const parts: Child[] = [];
  if (totals.cycles) {
    parts.push(cyclesTile(view));
    parts.push(tile("latency", ...split(Format.latency(totals.latency_ms))));
  }
  if (totals.macs) {
    const share = totals.cycles && (report.engines || []).some((engine) => !engine.host)
      ? `${Format.percent((totals.engine_macs || 0) / totals.macs, 1)} on engines` : null;
    parts.push(tile("MACs", Format.group(totals.macs), null, share));
  }
  const moved = (totals.dma_bytes_read || 0) + (totals.dma_bytes_written || 0);
  if (moved) {
    parts.push(tile("moved by DMA", ...split(Format.bytes(moved)),
      `${Format.bytes(totals.dma_bytes_read || 0)} read, ` +
      `${Format.bytes(totals.dma_bytes_written || 0)} written`));
  }
  if (totals.instructions) {
    parts.push(tile("instructions", Format.group(totals.instructions), null,
      "of the first sample"));
  }
  if (report.accuracy) parts.push(accuracyTile(report.accuracy));
  return h("div", { class: "tiles" }, parts);
}

function engineText(view: View, engine: Report.Engine) {
  const polls = engine.host && view.layers.some((layer) => layer.job_cycles);
  let text = `${Format.frequency(engine.clock_hz || 0)}, busy ` +
    `${Format.group(engine.busy_cycles || 0)} cycles${polls ? ", polling included" : ""}`;
  if (engine.bound_cycles) {
    const gap = (engine.busy_cycles || 0) / engine.bound_cycles - 1;
    text += `, proven bound ${Format.group(engine.bound_cycles)} ` +
      `(${gap < 0 ? "" : "+"}${Format.percent(gap, 2)})`;
  }
  return text;
}

function engineLabel(engine: Report.Engine) {
  const name = Format.clean(engine.name);
  const kind = engine.host ? "host" : "engine";
  return name === kind ? name : `${kind} ${name}`;
}

function facts(view: View) {
  const { report, totals } = view;
  const digest = (of: { hash?: string } = {}) => (of.hash || "").slice(0, 12);
  const firmware = report.compiler
    ? `${Format.clean(report.compiler.program)} ${Format.clean(report.compiler.version)}` : "";
  return Panel.facts([
    ["source", Format.clean(view.source)],
    ...(report.engines || []).map((engine): [string, string] =>
      [engineLabel(engine), engineText(view, engine)]),
    ["host share", totals.cycles && totals.host_cycles
      ? `${Format.percent(totals.host_cycles / totals.cycles, 1)} of cycles` : ""],
    ["recipe", Format.clean(report.recipe || "")],
    ["offload", report.offload && report.offload !== "all" ? Format.clean(report.offload) : ""],
    ["calibration", Format.clean(report.calibration || "")],
    ["quantization", Format.clean(report.quantization || "")],
    ["compiler", firmware],
    ["cycles by sample", (totals.cycles_max || 0) > (totals.cycles_min || 0)
      ? `${Format.group(totals.cycles_min)} to ${Format.group(totals.cycles_max)}` : ""],
    ["model, target", [digest(report.model), digest(report.target)].filter(Boolean).join(", ")],
    ["edgekiln", Format.clean(report.version || "")],
  ]);
}

function badges(view: View) {
  const { verdict, totals } = view;
  const fidelity = fidelityText(totals);
  return h("div", { class: "badges" },
    h("span", { class: `badge ${verdict.level}` }, verdict.title),
    fidelity && h("span", { class: "badge" }, fidelity),
    fidelity && h("span", { class: "muted" },
      `cycles are ${FIDELITY[totals.fidelity || ""] || ""}`));
}

function error(detail: ErrorDetail | undefined) {
  if (!detail) return null;
  const rows: [string, string | undefined][] = [["where", detail.where],
    ["limit", detail.limit], ["need", detail.need], ["fix", detail.fix]];
  return h("div", { class: "callout bad" }, Format.clean(detail.what),
    Panel.facts(rows.map(([label, text]) => [label, Format.clean(text)])));
}

export function make(view: View): Child[] {
  const notes = [view.headline, ...(view.report.warnings || [])].filter(Boolean);
  return [h("h1", {}, h("span", { class: "name" }, view.title),
    view.target && h("span", { class: "on" }, " on "),
    view.target && h("span", { class: "name" }, view.target)),
  badges(view),
  view.report.error ? null : h("ul", { class: "details" },
    view.verdict.details.map((line) => h("li", {}, line))),
  error(view.report.error),
  notes.map((note) => h("div", { class: "callout" }, Format.clean(note))),
  tiles(view), facts(view)];
}
