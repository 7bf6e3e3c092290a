// The table of layers.

import { h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import type { Layer, View } from "./data";

type Columns = Tables.Column<Layer>[];

const or0 = (value: number | undefined) => value || 0;

export const engineText = (view: View, name: string | undefined) => h("span", { class: "engine" },
  h("span", { class: `dot ${view.styleOf(name)}`, "aria-hidden": "true" }),
  Format.clean(name));

function stallText(layer: Layer) {
  const stalls = layer.stalls || {};
  const parts: [string, number | undefined][] = [["transfer", stalls.transfer_cycles],
    ["contention", stalls.contention_cycles], ["control", stalls.control_cycles]];
  return parts.filter(([, cycles]) => cycles)
    .map(([name, cycles]) => `${name} ${Format.group(cycles)}`).join(", ");
}

// What the memory next to the engines is called: most chips have an SRAM.
function scratchpadTitle(view: View) {
  const memories = (view.report.memory || {}).memories || [];
  return memories.length === 0 || memories.some((use) => use.name === "sram")
    ? "SRAM" : "scratch";
}

function engineColumns(view: View) {
  const { layers } = view;
  const columns: Columns = [
    { title: "util", number: true, optional: true, hint: "MACs by cycles and the engine's peak",
      value: (l) => or0(l.utilization),
      text: (l) => (l.utilization ? Format.percent(l.utilization, 1) : "-") },
    { title: "stall", number: true, roomy: true, hint: "Cycles that the layer waits",
      value: (l) => or0(l.stall_cycles), text: (l) => Format.group(or0(l.stall_cycles)),
      title_of: stallText },
    { title: scratchpadTitle(view), number: true, optional: true, value: (l) => or0(l.sram_bytes),
      text: (l) => (l.sram_bytes ? Format.bytes(l.sram_bytes) : "-") },
    { title: "tiles", number: true, optional: true, value: (l) => or0(l.tiles),
      text: (l) => (l.tiles ? Format.group(l.tiles) : "-") }];
  if (layers.some((l) => l.bound_cycles)) {
    const share = (l: Layer) => (l.bound_cycles && l.cycles
      ? l.bound_cycles / Math.max(l.cycles, or0(l.job_cycles)) : null);
    columns.push({ title: "bound", number: true, optional: true,
      hint: "Proven least cycles, as a share of those taken",
      value: share, text: (l) => Format.percent(share(l), 1) });
  }
  if (layers.some((l) => l.compulsory_bytes)) {
    const ratio = (l: Layer) => (l.compulsory_bytes
      ? (or0(l.dma_bytes_read) + or0(l.dma_bytes_written)) / l.compulsory_bytes : null);
    columns.push({ title: "DMA", number: true, optional: true,
      hint: "Bytes moved, as a multiple of operands, constants and result moved once",
      value: ratio, text: (l) => {
        const times = ratio(l);
        return times === null ? "-" : `${times.toFixed(2)}\u00d7`;
      } });
  }
  return columns;
}

function columnsOf(view: View): Columns {
  const { layers, totals } = view;
  const longest = Math.max(1, ...layers.map((l) => or0(l.cycles)));
  const share = (l: Layer) => (totals.cycles ? or0(l.cycles) / totals.cycles : null);
  const engines = (view.report.engines || []).some((engine) => !engine.host);
  return [
    { title: "#", number: true, optional: true, value: (l) => layers.indexOf(l),
      text: (l) => Format.group(layers.indexOf(l)) },
    { title: "layer", name: true, value: (l) => l.id || "", text: (l) => Format.clean(l.id),
      title_of: (l) => Format.clean(l.name || l.id) },
    { title: "op", optional: true, value: (l) => l.op || "", text: (l) => Format.clean(l.op) },
    { title: "engine", value: (l) => l.engine || "", text: (l) => engineText(view, l.engine),
      title_of: (l) => Format.clean(l.reason || "") },
    { title: "cycles", number: true, value: (l) => or0(l.cycles),
      text: (l) => Format.group(or0(l.cycles)) },
    { title: "share", number: true, value: share, text: (l) => Format.percent(share(l), 1) },
    { title: "", bar: true, optional: true,
      text: (l) => Tables.bar(or0(l.cycles) / longest, view.styleOf(l.engine)) },
    ...(engines ? engineColumns(view) : []),
    { title: "MACs", number: true, optional: true, value: (l) => or0(l.macs),
      text: (l) => (l.macs ? Format.group(l.macs) : "-") }];
}

export function make(view: View) {
  if (view.layers.length === 0) return null;
  const columns = columnsOf(view);
  const sum = (field: "cycles" | "stall_cycles" | "tiles" | "macs") =>
    view.layers.reduce((all, l) => all + or0(l[field]), 0);
  const sums: Record<string, string> = { layer: "total", cycles: Format.group(sum("cycles")),
    stall: Format.group(sum("stall_cycles")), tiles: Format.group(sum("tiles")),
    MACs: Format.group(sum("macs")) };
  const names = [...new Set(view.layers.map((l) => l.engine || ""))];
  return Panel.section("layers", "Layers",
    "Each cycle belongs to one layer: the one that computes, else the one that is awaited.",
    Tables.make({ label: "Layers", columns, rows: view.layers,
      filter: (l) => [l.id, l.name, l.op, l.engine, l.reason].join(" "),
      filterLabel: "Find", choice: { title: "Engine", values: names, of: (l) => l.engine || "" },
      foot: columns.map((column) => sums[column.title] || "") }));
}
