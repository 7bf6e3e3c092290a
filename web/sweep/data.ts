// The rows of a sweep. They come as lists, in the order of FIELDS, and texts as
// indices, so that thousands fit a page.

import type { SweepSummary } from "proto/page";
import { byId } from "../shared/dom";
import * as Format from "../shared/format";

export interface Row {
  cell: number;
  state: string;
  model: string;
  target: string;
  recipe: string;
  values: (string | null)[];
  cycles: number | null;
  latency_ms: number | null;
  bytes: (number | null)[];
  accuracy: number | null;
  metric: string;
  same_as: number | null;
  best: boolean;
  front: boolean;
  note: string;
}

// What rows differ in.
interface Dimension {
  name: string;
  of: (row: Row) => string | null;
}

// What is measured. Less is better, unless `more` says otherwise.
export interface Measure {
  name: string;
  of: (row: Row) => number | null;
  text: (value: Format.Figure) => string;
  more?: boolean;
}

// As client/sweep_page.cc writes it.
interface Written {
  id: string;
  title: string;
  version: string;
  keys: string[];
  memories: string[];
  summary: SweepSummary;
  texts: string[];
  rows: unknown[][];
}

export interface View extends Omit<Written, "rows" | "texts"> {
  rows: Row[];
  done: Row[];
  dimensions: Dimension[];
  measures: Measure[];
}

const FIELDS = ["cell", "state", "model", "target", "recipe", "values", "cycles",
  "latency_ms", "bytes", "accuracy", "metric", "same_as", "best", "front", "note"];
const TEXTS = new Set(["state", "model", "target", "recipe", "metric", "note"]);

function rowOf(list: unknown[], texts: string[]) {
  const row: Record<string, unknown> = {};
  FIELDS.forEach((field, i) => {
    row[field] = TEXTS.has(field) ? Format.clean(texts[list[i] as number]) : list[i];
  });
  row.values = (row.values as number[]).map((index) =>
    (index < 0 ? null : Format.clean(texts[index])));
  return row as unknown as Row;
}

function dimensionsOf(rows: Row[], keys: string[]) {
  const fixed = (["model", "target", "recipe"] as const).map((name): Dimension =>
    ({ name, of: (row) => row[name] }));
  const varied = keys.map((key, i): Dimension =>
    ({ name: Format.clean(key), of: (row) => row.values[i] }));
  const differs = ({ of }: Dimension) => rows.some((row) => of(row) !== of(rows[0]));
  return [...fixed.filter(differs), ...varied];
}

function measuresOf(rows: Row[], memories: string[]) {
  const measures: Measure[] = [{ name: "cycles", of: (row) => row.cycles, text: Format.group },
    ...memories.map((name, i): Measure => ({ name: Format.clean(name), of: (row) => row.bytes[i],
      text: Format.bytes }))];
  const metric = rows.map((row) => row.metric).find((name) => name) || "";
  if (rows.some((row) => row.accuracy !== null)) {
    measures.push({ name: metric || "accuracy", more: !["mse", "mae"].includes(metric),
      of: (row) => row.accuracy, text: (value) => (["mse", "mae", "cosine", "auc"].includes(metric)
        ? Format.significant(value, 4) : Format.percent(value, 2)) });
  }
  return measures;
}


export function read(): View {
  const all: Written = JSON.parse(byId("data").textContent || "");
  const rows = all.rows.map((list) => rowOf(list, all.texts));
  const done = rows.filter((row) => Format.isNumber(row.cycles));
  return { ...all, rows, done,
    dimensions: dimensionsOf(rows, all.keys), measures: measuresOf(done, all.memories) };
}
