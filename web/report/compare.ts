// Several reports side by side, and what changed from the first to another one.

import type { Report, ReportDiff } from "proto/page";
import { type Child, h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import type { Change, View } from "./data";
import * as Summary from "./summary";

export function overview(views: View[], selected: number, select: (index: number) => void) {
  const memories = [...new Set(views.flatMap((view) =>
    (view.report.memory?.memories || []).map((use) => use.name || "")))];
  const used = (view: View, name: string) =>
    view.report.memory?.memories?.find((use) => (use.name || "") === name);
  const columns: Tables.Column<View>[] = [
    { title: "report", name: true, text: (view) => h("button", { type: "button",
      "aria-pressed": view.index === selected ? "true" : "false",
      onclick: () => select(view.index) }, view.name) },
    { title: "source", optional: true, name: true, value: (view) => view.source,
      text: (view) => Format.clean(view.source) },
    { title: "verdict", value: (view) => view.verdict.title, text: (view) =>
      h("span", { class: `badge ${view.verdict.level}` }, view.verdict.title) },
    { title: "cycles", number: true, value: (view) => view.totals.cycles || 0,
      text: (view) => (view.totals.cycles ? Format.group(view.totals.cycles) : "-") },
    { title: "fidelity", optional: true, value: (view) => Summary.fidelityText(view.totals),
      text: (view) => Summary.fidelityText(view.totals) },
    { title: "latency", number: true, value: (view) => view.totals.latency_ms || 0,
      text: (view) => (view.totals.latency_ms ? Format.latency(view.totals.latency_ms) : "-") },
    ...memories.map((name): Tables.Column<View> => ({ title: Format.clean(name), number: true,
      optional: true, value: (view) => used(view, name)?.used_bytes,
      text: (view) => {
        const use = used(view, name);
        return use ? Format.bytes(use.used_bytes || 0) : "-";
      } })),
    { title: "accuracy", number: true, value: (view) => view.report.accuracy?.value,
      text: ({ report: { accuracy } }) =>
        (accuracy ? Summary.metricText(accuracy.metric, accuracy.value) : "-") }];
  return Panel.section("reports", "Reports",
    "The page below shows the one that is pressed. Others are compared with the first.",
    Tables.make({ label: "Reports", columns, rows: views }));
}

const percent = (quantity: ReportDiff.Quantity) =>
  (quantity.percent === undefined || !quantity.change ? "-"
    : `${quantity.percent > 0 ? "+" : "\u2212"}${Math.abs(quantity.percent).toFixed(1)}\u00a0%`);

function totals(diff: ReportDiff) {
  const change = (q: ReportDiff.Quantity) => q.change || 0;
  const named = (diff.totals || []).some((q) => q.name?.startsWith("memory."));
  const unnamed = ["flash_bytes", "ram_bytes", "sram_peak_bytes"];
  const rows = [...(diff.totals || []), ...(diff.mismatches ? [diff.mismatches] : [])]
    .filter((q) => !named || !unnamed.includes(q.name || ""));
  const columns: Tables.Column<ReportDiff.Quantity>[] = [
    { title: "total", text: (q) => Format.clean(q.name) },
    { title: "A", number: true, text: (q) => Format.group(q.a || 0) },
    { title: "B", number: true, text: (q) => Format.group(q.b || 0) },
    { title: "change", number: true, change,
      text: (q) => (q.change ? Format.signed(q.change) : "-") },
    { title: "change in %", number: true, change, text: percent }];
  return Tables.make({ label: "Changes of totals", columns, rows });
}

function accuracyText(accuracy: ReportDiff.Accuracy | undefined) {
  if (!accuracy) return "";
  const shown = (value: number | undefined) => (value === undefined ? "-"
    : Summary.metricText(accuracy.metric, value));
  return `${shown(accuracy.a)} to ${shown(accuracy.b)}`;
}

function otherText(layer: ReportDiff.Layer) {
  if (layer.presence === "ADDED") return `added, on ${Format.clean(layer.b?.engine)}`;
  if (layer.presence === "REMOVED") return `removed, was on ${Format.clean(layer.a?.engine)}`;
  return (layer.differences || []).map(Format.clean).join(", ");
}

function layers(diff: ReportDiff): Child[] {
  const change = (l: ReportDiff.Layer) => l.change || 0;
  const rows = (diff.layers || []).filter((l) => l.change || otherText(l));
  const same = (diff.layers || []).length - rows.length;
  const most = Math.max(1, ...rows.map((l) => Math.abs(change(l))));
  const side = (of: Report.Layer | undefined) => (of ? of.cycles || 0 : undefined);
  const columns: Tables.Column<ReportDiff.Layer>[] = [
    { title: "layer", name: true, value: (l) => l.id, text: (l) => Format.clean(l.id) },
    { title: "cycles A", number: true, optional: true, value: (l) => side(l.a),
      text: (l) => (l.a ? Format.group(side(l.a)) : "-") },
    { title: "cycles B", number: true, value: (l) => side(l.b),
      text: (l) => (l.b ? Format.group(side(l.b)) : "-") },
    { title: "change", number: true, value: change, change,
      text: (l) => (l.change ? Format.signed(l.change) : "-") },
    { title: "", bar: true, optional: true, text: (l) =>
      Tables.bar(Math.abs(change(l)) / most, change(l) > 0 ? "worse" : "host") },
    { title: "what else", value: otherText, text: otherText }];
  return [rows.length ? Tables.make({ label: "Changes of layers", columns, rows,
    filter: (l) => `${l.id} ${otherText(l)}`, filterLabel: "Find" }) : null,
  same > 0 && h("p", { class: "muted" },
    `${Format.count(same, "layer", "layers")} without a change`)];
}

function changes(views: View[], { index, diff }: Change): Child[] {
  const text = (of: number) => `${views[of].name} (${Format.clean(views[of].source)})`;
  return [
    Panel.facts([["A", text(0)], ["B", text(index)],
      ["accuracy", accuracyText(diff.accuracy)]]),
    (diff.caveats || []).map((caveat) => h("div", { class: "callout" }, Format.clean(caveat))),
    h("h3", {}, "Totals"), totals(diff), h("h3", {}, "Layers"), layers(diff)];
}

// What changed from the first report to the selected one; if that is the
// first, to the next one.
export function make(views: View[], diffs: Change[], selected: number) {
  if (diffs.length === 0) return null;
  const entry = diffs.find((one) => one.index === selected) || diffs[0];
  return Panel.section("changes", "Changes",
    "From the first report to another one, as edgekiln report diff has it: for cycles and " +
    "bytes, less is better.", changes(views, entry));
}
