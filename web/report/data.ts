// The reports of this page. Fields that are zero or empty are not in the JSON.

import type { Report, ReportDiff } from "proto/page";
import { byId } from "../shared/dom";
import * as Format from "../shared/format";

export type Layer = Report.Layer;

export interface Segment {
  begin: number;
  end: number;
  busy: number;
  layer: number;
  kind: number;
}

// A unit of an engine.
export interface Track {
  engine: string;
  host: boolean;
  unit: string;
  segments: Segment[];
}

// As reports/page/page_data.h describes it.
interface Entry {
  source: string;
  verdict: { level: string; title: string; details: string[] };
  headline?: string;
  gates?: string[];
  report: Report;
  timeline?: number[][];
}

export interface View extends Entry {
  index: number;
  title: string;
  target: string;
  name: string;
  layers: Layer[];
  totals: Report.Totals;
  tracks: Track[];
  styleOf: (engine: string | undefined) => string;
  layerName: (layer: number) => string;
}

export interface Change {
  index: number;
  diff: ReportDiff;
}

// By number of TimelineSegment.Kind.
export const KINDS = [
  { name: "", style: "" },
  { name: "compute", style: "compute" },
  { name: "DMA read", style: "read" },
  { name: "DMA write", style: "write" },
  { name: "host computes", style: "host" },
  { name: "host moves data", style: "move" },
  { name: "host writes registers", style: "registers" },
  { name: "host polls", style: "poll" }];
const FIELDS = 6;

// Segments of one engine by unit.
function segmentsByUnit(flat: number[]) {
  const units = new Map<number, Segment[]>();
  for (let i = 0; i + FIELDS <= flat.length; i += FIELDS) {
    const [unit, gap, length, idle, layer, kind] = flat.slice(i, i + FIELDS);
    const segments = units.get(unit) || [];
    units.set(unit, segments);
    const last = segments.length ? segments[segments.length - 1].end : 0;
    const begin = last + gap;
    segments.push({ begin, end: begin + length, busy: length - idle, layer,
      kind: kind > 0 && kind < KINDS.length ? kind : 1 });
  }
  return units;
}

// A row of the timeline for each unit that works.
function tracksOf(report: Report, timeline: number[][]) {
  const tracks: Track[] = [];
  (report.engines || []).forEach((engine, index) => {
    for (const [unit, segments] of segmentsByUnit(timeline[index] || [])) {
      const name = (engine.units || [])[unit] || `unit ${unit}`;
      tracks.push({ engine: engine.name || "", host: Boolean(engine.host),
        unit: name, segments });
    }
  });
  return tracks;
}

// Style of an engine: "engine0", ...; "host".
function engineStyles(report: Report) {
  const styles = new Map<string | undefined, string>();
  let engines = 0;
  for (const engine of report.engines || []) {
    styles.set(engine.name, engine.host ? "host" : `engine${engines++ % 4}`);
  }
  return styles;
}

function view(entry: Entry, index: number): View {
  const report = entry.report;
  const styles = engineStyles(report);
  const title = Format.clean(report.model_name || "model");
  const target = Format.clean(report.target_name || "");
  return { ...entry, index, report, title, target,
    name: target ? `${title} on ${target}` : title,
    layers: report.layers || [],
    totals: report.totals || {},
    tracks: tracksOf(report, entry.timeline || []),
    styleOf: (engine) => styles.get(engine) || "host",
    layerName: (layer) => Format.clean(
      ((report.layers || [])[layer] || {}).id || `layer ${layer}`) };
}

export function read() {
  const all: { reports: Entry[]; diffs: Change[] } =
    JSON.parse(byId("data").textContent || "");
  return { views: all.reports.map(view), diffs: all.diffs };
}
