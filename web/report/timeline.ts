// When engines, DMA and host work: a row for each unit, zoomed and moved with
// pointer, keys and buttons.

import { type Child, drawing, h, responsive, s, valueOf } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tooltip from "../shared/tooltip";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import * as Data from "./data";
import type { Segment, Track, View } from "./data";

type Scale = (cycle: number) => number;

interface State {
  host: HTMLElement;
  range: HTMLElement;  // Says which cycles are shown.
  total: number;
  from: number;
  to: number;
  width: number;  // Of the drawing; 0 before the first one.
  narrow: boolean;
  x0: number;
  x1: number;
  draw: (width: number) => void;
}


const BAR = 24;
const LABELLED = new Set(["compute", "host"]);
const LETTER = 6.9;  // Width of a label's letter in pixels.
const LEAST_SPAN = 16;

// Index of the first segment that ends behind `cycle`.
function firstAfter(segments: Segment[], cycle: number) {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segments[middle].end > cycle) high = middle;
    else low = middle + 1;
  }
  return low;
}

function visible(track: Track, from: number, to: number) {
  const begin = firstAfter(track.segments, from);
  let end = begin;
  while (end < track.segments.length && track.segments[end].begin < to) ++end;
  return track.segments.slice(begin, end);
}

// Distances of a scale: 1, 2 or 5 times a power of ten.
export function step(span: number, ticks: number) {
  const raw = Math.max(1, span / ticks);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) || 10);
}

// A bar as high as the share of its time in which the unit works.
const barPath = (x: number, width: number, share: number, y: number) => {
  const height = Math.max(1, BAR * Math.min(1, share));
  return `M${x.toFixed(2)} ${(y + BAR - height).toFixed(2)}h${width.toFixed(2)}` +
    `v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
};

// One bar per segment.
function exactPaths(segments: Segment[], scale: Scale, y: number) {
  const paths = new Map<number, string>();
  for (const segment of segments) {
    const x = scale(segment.begin);
    const width = Math.max(0.6, scale(segment.end) - x);
    const share = segment.busy / (segment.end - segment.begin);
    const old = paths.get(segment.kind) || "";
    paths.set(segment.kind, old + barPath(x, width, share, y));
  }
  return paths;
}

// One bar per pixel: many segments share one.
function pixelPaths(segments: Segment[], scale: Scale, y: number, x0: number, width: number) {
  const kinds = Data.KINDS.length;
  const work = new Float64Array(width * kinds);
  for (const segment of segments) {
    const left = Math.max(x0, scale(segment.begin));
    const right = Math.min(x0 + width, scale(segment.end));
    const share = segment.busy / (segment.end - segment.begin);
    for (let x = Math.floor(left - x0); x < right - x0 && x < width; ++x) {
      const part = Math.min(right, x0 + x + 1) - Math.max(left, x0 + x);
      if (part > 0) work[x * kinds + segment.kind] += part * share;
    }
  }
  const paths = new Map<number, string>();
  for (let x = 0; x < width; ++x) {
    const column = work.subarray(x * kinds, (x + 1) * kinds);
    const all = column.reduce((sum, part) => sum + part, 0);
    if (all <= 0) continue;
    const kind = column.indexOf(Math.max(...column));
    paths.set(kind, (paths.get(kind) || "") + barPath(x0 + x, 1, all, y));
  }
  return paths;
}

// Neighbouring bars of one layer and kind.
function runsOf(segments: Segment[], scale: Scale) {
  const runs: { first: Segment; last: Segment }[] = [];
  for (const segment of segments) {
    const run = runs[runs.length - 1];
    if (run && run.first.layer === segment.layer && run.first.kind === segment.kind &&
        scale(segment.begin) - scale(run.last.end) < 1.5) {
      run.last = segment;
    } else {
      runs.push({ first: segment, last: segment });
    }
  }
  return runs;
}

// A cut where a layer follows another one, and names where there is room.
function labels(view: View, segments: Segment[], scale: Scale, y: number, x0: number,
  x1: number): Child[] {
  return runsOf(segments, scale).map(({ first, last }) => {
    const left = Math.max(x0, scale(first.begin));
    const width = Math.min(x1, scale(last.end)) - left;
    const cut = width > 3 && left > x0
      ? s("line", { x1: left, x2: left, y1: y, y2: y + BAR, class: "cut" }) : null;
    const named = width >= 40 && LABELLED.has(Data.KINDS[first.kind].style) &&
      first.busy >= 0.8 * (first.end - first.begin);
    if (!named) return cut;
    const text = Format.clip(view.layerName(first.layer), Math.floor((width - 8) / LETTER));
    return [cut, s("text", { x: left + 4, y: y + BAR / 2 + 4, class: "on-fill" }, text)];
  });
}

function axis(state: State, scale: Scale, bottom: number) {
  const { x0, x1 } = state;
  const parts: Child[] = [];
  const distance = step(state.to - state.from, Math.max(2, (x1 - x0) / 110));
  for (let at = Math.ceil(state.from / distance) * distance; at <= state.to; at += distance) {
    const x = scale(at);
    const anchor = x > x1 - 30 ? "end" : x < x0 + 30 ? "start" : "middle";
    parts.push(s("line", { x1: x, x2: x, y1: 18, y2: bottom, class: "grid" }),
      s("text", { x, y: 12, class: "axis", "text-anchor": anchor }, Format.group(at)));
  }
  return parts;
}

const rowHeight = (state: State) => (state.narrow ? BAR + 22 : BAR + 8);
const rowTop = (state: State, index: number) =>
  24 + index * rowHeight(state) + (state.narrow ? 16 : 0);

function row(view: View, track: Track, index: number, state: State, scale: Scale): Child[] {
  const { x0, x1 } = state;
  const y = rowTop(state, index);
  const segments = visible(track, state.from, state.to);
  const width = Math.floor(x1 - x0);
  const exact = segments.length <= width / 2;
  const paths = exact ? exactPaths(segments, scale, y)
    : pixelPaths(segments, scale, y, x0, width);
  const name = Format.clip(`${track.engine} ${track.unit}`, state.narrow ? 40 : 22);
  return [
    s("rect", { x: x0, y, width, height: BAR, class: "row" }),
    s("text", { x: 0, y: state.narrow ? y - 4 : y + BAR / 2 + 4 }, name),
    s("g", { "clip-path": "url(#timeline-area)" },
      [...paths].map(([kind, d]) => s("path", { d, class: Data.KINDS[kind].style })),
      exact ? labels(view, segments, scale, y, x0, x1) : [])];
}

function draw(view: View, state: State, width: number) {
  state.width = width;
  state.narrow = width < 640;
  const x0 = state.narrow ? 0 : 158;
  const x1 = width;
  state.x0 = x0;
  state.x1 = x1;
  const scale: Scale = (cycle) => x0 + (cycle - state.from) / (state.to - state.from) * (x1 - x0);
  const height = rowTop(state, view.tracks.length - 1) + BAR + 6;
  state.host.replaceChildren(drawing(width, height,
    `Timeline from cycle ${Format.group(state.from)} to ${Format.group(state.to)}, ` +
    `${Format.count(view.tracks.length, "unit", "units")}`,
    "timeline",
    s("defs", {}, s("clipPath", { id: "timeline-area" },
      s("rect", { x: x0, y: 0, width: Math.max(1, x1 - x0), height }))),
    axis(state, scale, height - 4),
    view.tracks.map((track, i) => row(view, track, i, state, scale))));
  state.range.textContent = `cycles ${Format.group(Math.round(state.from))} to ` +
    `${Format.group(Math.round(state.to))}`;
}

function setRange(state: State, from: number, to: number) {
  const span = Math.min(state.total, Math.max(LEAST_SPAN, to - from));
  state.from = Math.max(0, Math.min(from, state.total - span));
  state.to = state.from + span;
  if (state.width) state.draw(state.width);
}

function zoom(state: State, factor: number, share = 0.5) {
  const span = state.to - state.from;
  const middle = state.from + span * share;
  setRange(state, middle - span * factor * share, middle + span * factor * (1 - share));
}

const move = (state: State, share: number) => {
  const by = (state.to - state.from) * share;
  setRange(state, state.from + by, state.to + by);
};

const KEYS: Record<string, (state: State) => void> = {
  "+": (state) => zoom(state, 0.5), "=": (state) => zoom(state, 0.5),
  "-": (state) => zoom(state, 2), ArrowLeft: (state) => move(state, -0.2),
  ArrowRight: (state) => move(state, 0.2), 0: (state) => setRange(state, 0, state.total),
  Home: (state) => setRange(state, 0, state.total),
};

function tellSegment(view: View, state: State, event: PointerEvent) {
  const area = state.host.getBoundingClientRect();
  const y = event.clientY - area.top;
  const x = event.clientX - area.left;
  const index = view.tracks.findIndex((_, i) =>
    y >= rowTop(state, i) && y <= rowTop(state, i) + BAR);
  if (index < 0 || x < state.x0) return Tooltip.hide();
  const per = (state.to - state.from) / (state.x1 - state.x0);
  const cycle = state.from + (x - state.x0) * per;
  const { segments } = view.tracks[index];
  const segment = segments[firstAfter(segments, cycle)];
  if (!segment || segment.begin > cycle + 2 * per) return Tooltip.hide();
  const length = segment.end - segment.begin;
  const merged = segment.busy < length
    ? [`several segments, merged: busy ${Format.group(segment.busy)} cycles`] : [];
  return Tooltip.show(event.clientX, event.clientY, view.layerName(segment.layer),
    [Data.KINDS[segment.kind].name,
      `${Format.group(segment.begin)} to ${Format.group(segment.end)}`,
      Format.count(length, "cycle", "cycles"), ...merged]);
}

function listen(view: View, state: State) {
  let held: { x: number; from: number } | null = null;
  const { host } = state;
  host.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, from: state.from };
    host.setPointerCapture(event.pointerId);
  });
  host.addEventListener("pointermove", (event) => {
    if (!held || !event.buttons) return tellSegment(view, state, event);
    Tooltip.hide();
    const per = (state.to - state.from) / (state.x1 - state.x0);
    const from = held.from - (event.clientX - held.x) * per;
    return setRange(state, from, from + state.to - state.from);
  });
  host.addEventListener("pointerup", () => { held = null; });
  host.addEventListener("pointerleave", Tooltip.hide);
  host.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
    event.preventDefault();
    const area = host.getBoundingClientRect();
    const share = (event.clientX - area.left - state.x0) / (state.x1 - state.x0);
    zoom(state, event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, Math.min(1, share)));
  }, { passive: false });
  host.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act(state);
  });
}

// Cycles from the first to the last segment of each layer.
function rangesOf(view: View) {
  const ranges = new Map<number, [number, number]>();
  for (const track of view.tracks) {
    for (const { layer, begin, end } of track.segments) {
      const range = ranges.get(layer);
      if (!range) {
        ranges.set(layer, [begin, end]);
      } else {
        range[0] = Math.min(range[0], begin);
        range[1] = Math.max(range[1], end);
      }
    }
  }
  return ranges;
}

function controls(view: View, state: State) {
  const button = (label: string, text: string, act: () => void) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  const ranges = rangesOf(view);
  const known = view.layers.map((_, i) => i).filter((i) => ranges.has(i));
  return h("div", { class: "tools" },
    button("Zoom in", "+", () => zoom(state, 0.5)),
    button("Zoom out", "\u2212", () => zoom(state, 2)),
    button("Earlier", "\u2190", () => move(state, -0.5)),
    button("Later", "\u2192", () => move(state, 0.5)),
    button("Show all", "all", () => setRange(state, 0, state.total)),
    h("label", {}, "Layer", h("select", { onchange: (event) => {
      const range = ranges.get(Number(valueOf(event)));
      if (!range) return setRange(state, 0, state.total);
      const margin = (range[1] - range[0]) * 0.05;
      return setRange(state, range[0] - margin, range[1] + margin);
    } }, h("option", { value: -1 }, "all"),
    known.map((i) => h("option", { value: i }, Format.clip(view.layerName(i), 40))))),
    state.range);
}

// Busy cycles of each unit by kind: the picture as numbers.
function table(view: View, total: number) {
  const rows = view.tracks.flatMap((track) => {
    const busy = new Map<number, number>();
    for (const segment of track.segments) {
      busy.set(segment.kind, (busy.get(segment.kind) || 0) + segment.busy);
    }
    return [...busy].map(([kind, cycles]) => ({ track, kind, cycles }));
  });
  const columns: Tables.Column<(typeof rows)[number]>[] = [
    { title: "engine", value: (r) => r.track.engine, text: (r) => Format.clean(r.track.engine) },
    { title: "unit", value: (r) => r.track.unit, text: (r) => Format.clean(r.track.unit) },
    { title: "work", value: (r) => Data.KINDS[r.kind].name, text: (r) => Data.KINDS[r.kind].name },
    { title: "busy cycles", number: true, value: (r) => r.cycles,
      text: (r) => Format.group(r.cycles) },
    { title: "of all cycles", number: true, value: (r) => r.cycles / total,
      text: (r) => Format.percent(r.cycles / total, 1) }];
  return Tables.make({ label: "Busy cycles of units", columns, rows });
}

export function make(view: View) {
  if (view.tracks.length === 0) return null;
  const ends = view.tracks.map((track) => track.segments[track.segments.length - 1].end);
  const total = Math.max(LEAST_SPAN, view.totals.cycles || 0, ...ends);
  const host = h("div", { class: "chart", tabindex: "0", role: "group",
    "aria-label": "Timeline: plus and minus zoom, arrows move, 0 shows all" });
  const state: State = { host, range: h("span", { class: "count", role: "status" }), total,
    from: 0, to: total, width: 0, narrow: false, x0: 0, x1: 0,
    draw: (width) => draw(view, state, width) };
  listen(view, state);
  responsive(host, state.draw);
  const kinds = [...new Set(view.tracks.flatMap((track) =>
    track.segments.map((segment) => segment.kind)))].sort();
  const merged = view.tracks.some((track) =>
    track.segments.some((segment) => segment.busy < segment.end - segment.begin));
  return Panel.section("timeline", "Timeline",
    "One inference, in cycles of the target's clock. " + (merged
      ? "The report merged short segments: the height of a bar is the share of it in which " +
        "the unit works. " : "") + "Drag to move; Ctrl and the wheel zoom.",
    controls(view, state), h("figure", {}, host,
      Panel.legend(kinds.map((kind) => [Data.KINDS[kind].style, Data.KINDS[kind].name]))),
    Panel.fold("Busy cycles as a table", table(view, total)));
}
