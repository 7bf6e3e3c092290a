// Parallel coordinates: an axis for each key and measure, a line for each cell.
// Dragging along an axis keeps the lines that cross it there.

import { type Child, drawing, h, responsive, s, valueOf } from "../shared/dom";
import * as Format from "../shared/format";
import * as Panel from "../shared/panel";
import type { Row, View } from "./data";
import * as Scales from "./scales";

type Range = [number, number];

interface Axis {
  name: string;
  ticks: [number, string][];
  partOf: (row: Row) => number | undefined;  // Where the row crosses it, 0..1.
  partOfText: (text: string) => number | undefined;  // Of a dimension.
  x: number;
  range: Range | null;  // Where rows must cross it.
  select: HTMLSelectElement | null;
}

interface State {
  axes: Axis[];
  host: HTMLElement;
  count: HTMLElement;
  clear: HTMLButtonElement;
}

const HEIGHT = 360;
const TOP = 34;
const BOTTOM = HEIGHT - 14;
const AXIS = 118;  // Least distance of two axes in pixels.
const MOST_TICKS = 14;

const yOf = (part: number) => BOTTOM - part * (BOTTOM - TOP);
const partAt = (y: number) => Math.max(0, Math.min(1, (BOTTOM - y) / (BOTTOM - TOP)));

function axesOf({ done, dimensions, measures }: View): Axis[] {
  const rest = { x: 0, range: null, select: null };
  return [
    ...dimensions.map(({ name, of }): Axis => {
      const { place, ticks } = Scales.ofTexts(done.map(of));
      return { name, ticks, partOf: (row) => place(of(row)), partOfText: place, ...rest };
    }),
    ...measures.map(({ name, of, text }): Axis => {
      const { place, ticks } = Scales.ofNumbers(done.map(of), text);
      return { name, ticks, partOf: (row) => place(of(row)), partOfText: () => undefined,
        ...rest };
    })];
}

// Whether a row crosses every axis where that was asked for.
const isKept = (axes: Axis[], row: Row) => axes.every(({ partOf, range }) => {
  if (!range) return true;
  const part = partOf(row);
  return part !== undefined && part >= range[0] - 1e-9 && part <= range[1] + 1e-9;
});

// Axes that a row has no value on are passed over.
function pathOf(axes: Axis[], row: Row) {
  let path = "";
  for (const axis of axes) {
    const part = axis.partOf(row);
    if (part === undefined) continue;
    path += `${path ? "L" : "M"}${axis.x.toFixed(1)} ${yOf(part).toFixed(1)}`;
  }
  return path;
}

const joined = (axes: Axis[], rows: Row[]) => rows.map((row) => pathOf(axes, row)).join("");

function axisMarks(axis: Axis, first: boolean, last: boolean): Child[] {
  const every = Math.ceil(axis.ticks.length / MOST_TICKS);
  const anchor = last ? "end" : "start";
  const dx = last ? -6 : 6;
  return [
    s("text", { x: axis.x, y: 14, class: "axis title",
      "text-anchor": first ? "start" : last ? "end" : "middle" }, Format.clip(axis.name, 20)),
    s("line", { x1: axis.x, x2: axis.x, y1: TOP, y2: BOTTOM, class: "parallel-axis" }),
    axis.ticks.filter((_, i) => i % every === 0).map(([part, text]) =>
      s("text", { x: axis.x + dx, y: yOf(part) + 4, class: "axis tick", "text-anchor": anchor },
        Format.clip(text, 14))),
    axis.range && s("rect", { x: axis.x - 6, width: 12, y: yOf(axis.range[1]),
      height: Math.max(2, yOf(axis.range[0]) - yOf(axis.range[1])), class: "brush" })];
}

function draw(view: View, state: State, width: number) {
  const { axes } = state;
  const inner = Math.max(width, AXIS * axes.length);
  axes.forEach((axis, i) => {
    axis.x = axes.length === 1 ? inner / 2 : 12 + i * (inner - 24) / (axes.length - 1);
  });
  const kept = view.done.filter((row) => isKept(axes, row));
  const left = view.done.filter((row) => !isKept(axes, row));
  const front = kept.filter((row) => row.front);
  const label = `Parallel coordinates of ${Format.count(view.done.length, "cell", "cells")} over ` +
    axes.map((axis) => axis.name).join(", ");
  state.host.replaceChildren(drawing(inner, HEIGHT, label, "parallel",
    s("path", { class: "line left", d: joined(axes, left) }),
    s("path", { class: "line kept", d: joined(axes, kept.filter((row) => !row.front)) }),
    s("path", { class: "line front", d: joined(axes, front) }),
    axes.map((axis, i) => axisMarks(axis, i === 0, i === axes.length - 1))));
  state.count.textContent = kept.length === view.done.length
    ? Format.count(kept.length, "cell", "cells")
    : `${Format.group(kept.length)} of ${Format.count(view.done.length, "cell", "cells")}`;
  state.clear.disabled = axes.every((axis) => !axis.range);
}

const areaOf = (state: State) => state.host.firstElementChild!.getBoundingClientRect();

// The axis near a pointer, and where along it that is.
function at(state: State, event: PointerEvent) {
  const area = areaOf(state);
  const x = event.clientX - area.left;
  const axis = state.axes.find((one) => Math.abs(one.x - x) < 14);
  return axis ? { axis, part: partAt(event.clientY - area.top) } : null;
}

function listen(state: State, update: () => void) {
  let held: ReturnType<typeof at> = null;
  state.host.addEventListener("pointerdown", (event) => {
    held = at(state, event);
    if (held) state.host.setPointerCapture(event.pointerId);
  });
  state.host.addEventListener("pointermove", (event) => {
    if (!held || !event.buttons) return;
    const part = partAt(event.clientY - areaOf(state).top);
    held.axis.range = [Math.min(held.part, part), Math.max(held.part, part)];
    if (held.axis.select) held.axis.select.value = "";
    update();
  });
  state.host.addEventListener("pointercancel", () => { held = null; });
  state.host.addEventListener("pointerup", (event) => {
    const end = at(state, event);
    // A click without a drag takes the limits away.
    if (held && end && end.axis === held.axis && Math.abs(end.part - held.part) < 0.01) {
      held.axis.range = null;
      if (held.axis.select) held.axis.select.value = "";
      update();
    }
    held = null;
  });
}

// For keys and screen readers: a choice for each dimension.
function choices(view: View, state: State, update: () => void) {
  return view.dimensions.map(({ name }, i) => {
    const axis = state.axes[i];
    if (axis.ticks.length < 2 || axis.ticks.length > 40) return null;
    axis.select = h("select", { onchange: (event) => {
      const chosen = valueOf(event);
      const part = chosen === "" ? undefined : axis.partOfText(axis.ticks[Number(chosen)][1]);
      axis.range = part === undefined ? null : [part, part];
      update();
    } }, h("option", { value: "" }, "all"),
    axis.ticks.map(([, text], at) => h("option", { value: at }, text)));
    return h("label", {}, Format.clean(name), axis.select);
  });
}

// `changed(kept)` is called with the rows that are kept.
export function make(view: View, changed: (kept: Row[]) => void) {
  const state: State = { axes: axesOf(view), host: h("div", { class: "chart scroll",
    tabindex: "0", role: "region", "aria-label": "Parallel coordinates, drawing" }),
    count: h("span", { class: "count", role: "status" }),
    clear: h("button", { type: "button", onclick: () => {
      for (const axis of state.axes) axis.range = null;
      for (const select of tools.querySelectorAll("select")) select.value = "";
      update();
    } }, "show all") };
  let width = 0;
  let frame = 0;
  // At most once a frame, however fast the pointer moves.
  const update = () => {
    frame = frame || requestAnimationFrame(() => {
      frame = 0;
      draw(view, state, width);
      changed(view.done.filter((row) => isKept(state.axes, row)));
    });
  };
  const tools = h("div", { class: "tools" }, choices(view, state, () => update()), state.clear,
    state.count);
  listen(state, update);
  responsive(state.host, (now) => { width = now; draw(view, state, now); });
  return Panel.section("parallel", "Parallel coordinates",
    "A line is a cell. Drag along an axis to keep the lines that cross it there; a click on it " +
    "keeps all again.", tools, h("figure", {}, state.host,
      Panel.legend([["front", "on the Pareto front"], ["kept", "other cells"]])));
}
