// Accuracy with its intervals, disagreements and the confusion matrix.

import type { AccuracyInterval, Report } from "proto/page";
import { type Child, drawing, h, responsive, s } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import * as Tooltip from "../shared/tooltip";
import type { View } from "./data";
import * as Summary from "./summary";
import * as Timeline from "./timeline";

const MATRIX = 24;  // The largest matrix that is shown as one.
const PAIRS = 20;

type Accuracy = Report.Accuracy;
type Confusion = Report.Accuracy.Confusion;

interface Value {
  name: string;
  value?: number;
  interval?: AccuracyInterval;
  reference?: boolean;
}

interface Ranged extends Value {
  interval: AccuracyInterval;
}

// Values with an interval: chip and reference, of each metric.
function rowsOf(accuracy: Accuracy) {
  const reference = Format.lower(accuracy.reference || "reference");
  const rows: Value[] = [
    { name: `${accuracy.metric}, chip`, value: accuracy.value, interval: accuracy.interval },
    { name: `${accuracy.metric}, ${reference}`, value: accuracy.reference_value,
      interval: accuracy.reference_interval, reference: true }];
  if (accuracy.top5_value !== undefined && accuracy.metric !== "top5") {
    rows.push({ name: "top5, chip", value: accuracy.top5_value,
      interval: accuracy.top5_interval },
    { name: `top5, ${reference}`, value: accuracy.top5_reference_value,
      interval: accuracy.top5_reference_interval, reference: true });
  }
  return rows.filter((row): row is Ranged => row.interval !== undefined);
}

const share = (value: number | undefined) => Format.percent(value || 0, 2);
const between = (interval: AccuracyInterval) =>
  `${Format.percent(interval.low || 0, 1)} to ${Format.percent(interval.high || 0, 1)}`;

// Round shares, in tenths of a percent.
function ticksOf(from: number, to: number) {
  const distance = Timeline.step((to - from) * 1000, 6);
  const ticks: number[] = [];
  for (let at = Math.ceil(from * 1000 / distance) * distance; at <= to * 1000 + 1e-6;
    at += distance) {
    ticks.push(at / 1000);
  }
  return ticks;
}

function draw(rows: Ranged[], host: Element, width: number) {
  const left = width < 640 ? 4 : 150;
  const high = width < 640 ? 44 : 30;
  const lows = rows.map((row) => row.interval.low || 0);
  const highs = rows.map((row) => row.interval.high || 0);
  const margin = Math.max(0.005, (Math.max(...highs) - Math.min(...lows)) * 0.15);
  const from = Math.max(0, Math.min(...lows) - margin);
  const to = Math.min(1, Math.max(...highs) + margin);
  const x = (value: number) => left + 8 + (value - from) / (to - from) * (width - left - 34);
  const bottom = rows.length * high + 8;
  const ticks = ticksOf(from, to);
  host.replaceChildren(drawing(width, bottom + 22,
    "Accuracy with 95 % intervals: " + rows.map((row) =>
      `${row.name} ${share(row.value)}`).join(", "), "accuracy",
    ticks.map((at) => [s("line", { x1: x(at), x2: x(at), y1: 0, y2: bottom, class: "grid" }),
      s("text", { x: x(at), y: bottom + 15, class: "axis", "text-anchor": "middle" },
        Format.percent(at, 1))]),
    rows.map((row, i) => {
      const y = i * high + (width < 640 ? 30 : 18);
      const style = row.reference ? " reference" : "";
      const text = `${share(row.value)}, 95\u00a0% interval ${between(row.interval)}`;
      return [s("text", { x: 0, y: width < 640 ? y - 12 : y + 4 }, Format.clean(row.name)),
        s("line", { x1: x(row.interval.low || 0), x2: x(row.interval.high || 0), y1: y, y2: y,
          class: `whisker${style}` }),
        s("circle", { cx: x(row.value || 0), cy: y, r: 5, class: `value${style}`,
          ...Tooltip.of(row.name, [text]) })];
    })));
}

function intervals(accuracy: Accuracy) {
  const rows = rowsOf(accuracy);
  if (rows.length === 0) return null;
  const host = h("div", { class: "chart" });
  responsive(host, (width) => draw(rows, host, width));
  return h("figure", {}, host);
}

function values(accuracy: Accuracy) {
  const text = (value: number | undefined, interval: AccuracyInterval | undefined) =>
    Summary.metricText(accuracy.metric, value) + (interval
      ? ` (95\u00a0% interval ${between(interval)})` : "");
  const { disagreement, anomalies } = accuracy;
  return Panel.facts([
    [Format.clean(accuracy.metric), text(accuracy.value, accuracy.interval)],
    ["reference", accuracy.reference ? `${Format.lower(accuracy.reference)}, ` +
      text(accuracy.reference_value, accuracy.reference_interval) : ""],
    ["samples", Format.group(accuracy.samples || 0)],
    ["disagreement", disagreement ? `${Format.group(disagreement.count || 0)} of ` +
      `${Format.group(disagreement.samples || 0)} samples, ${share(disagreement.interval?.value)}` : ""],
    ["right to wrong", disagreement ? Format.group(disagreement.right_to_wrong || 0) : ""],
    ["wrong to right", disagreement ? Format.group(disagreement.wrong_to_right || 0) : ""],
    ["mean error", anomalies
      ? `normal ${Format.significant(anomalies.normal_error || 0, 5)}, ` +
        `anomaly ${Format.significant(anomalies.anomalous_error || 0, 5)}` : ""]]);
}

function matrix(confusion: Confusion) {
  const classes = [...Array(confusion.classes).keys()];
  const counts = new Map<string, number>();
  const sums = new Map<number, number>();
  for (const cell of confusion.cells || []) {
    const label = cell.label || 0;
    const count = cell.count || 0;
    counts.set(`${label} ${cell.predicted || 0}`, count);
    sums.set(label, (sums.get(label) || 0) + count);
  }
  const cell = (label: number, predicted: number) => {
    const count = counts.get(`${label} ${predicted}`) || 0;
    if (!count) return h("td", { class: "zero" }, "\u00b7");
    const part = count / (sums.get(label) || count);
    const tint = label === predicted ? "--heat" : "--miss";
    return h("td", { title: `label ${label} as ${predicted}: ${Format.percent(part, 1)}`,
      style: { "background-color": `rgba(var(${tint}), ${(0.12 + 0.6 * part).toFixed(3)})` } },
    Format.group(count));
  };
  return h("div", { class: "scroll", tabindex: "0", role: "region",
    "aria-label": "Confusion matrix, table" }, h("table", { class: "matrix" },
    h("caption", {}, "Rows: labels. Columns: classes of the chip."),
    h("thead", {}, h("tr", {}, h("td", {}), classes.map((c) => h("th", { scope: "col" }, c)))),
    h("tbody", {}, classes.map((label) => h("tr", {}, h("th", { scope: "row" }, label),
      classes.map((predicted) => cell(label, predicted)))))));
}

function pairs(confusion: Confusion): Child[] {
  const wrong = (confusion.cells || []).filter((c) => (c.label || 0) !== (c.predicted || 0))
    .sort((a, b) => (b.count || 0) - (a.count || 0));
  const rows = wrong.slice(0, PAIRS);
  const columns: Tables.Column<Report.Accuracy.Confusion.Cell>[] = [
    { title: "label", number: true, value: (c) => c.label || 0, text: (c) => c.label || 0 },
    { title: "taken for", number: true, value: (c) => c.predicted || 0,
      text: (c) => c.predicted || 0 },
    { title: "samples", number: true, value: (c) => c.count, text: (c) => Format.group(c.count) }];
  return [Tables.make({ label: "Classes taken for each other", columns, rows }),
    wrong.length > PAIRS && h("p", { class: "muted" },
      `${Format.count(wrong.length - PAIRS, "more pair", "more pairs")} in the report`)];
}

function confusionPart(confusion: Confusion | undefined) {
  if (!confusion || !confusion.classes) return null;
  return [h("h3", {}, "Confusion"),
    confusion.classes <= MATRIX ? matrix(confusion) : pairs(confusion)];
}

export function make(view: View) {
  const { accuracy } = view.report;
  if (!accuracy) return null;
  return Panel.section("accuracy", "Accuracy",
    "Measured on the simulated chip. Lines are 95\u00a0% intervals: where the value lies for all " +
    "data of which the samples are a random part.",
    intervals(accuracy), values(accuracy), confusionPart(accuracy.confusion));
}
