// Two measures against each other, with the cells that no other one beats.

import { drawing, h, responsive, s, valueOf } from "../shared/dom";
import * as Format from "../shared/format";
import * as Panel from "../shared/panel";
import * as Tooltip from "../shared/tooltip";
import type { Row, View } from "./data";
import * as Scales from "./scales";

const HEIGHT = 340;
const LEFT = 76;

interface State {
  host: HTMLElement;
  measure: number;  // Of the vertical axis.
  rows: Row[];
}

function nameOf(view: View, row: Row) {
  const parts = view.dimensions.map(({ name, of }) => `${name} ${of(row) ?? "-"}`);
  return `cell ${row.cell}: ${parts.join(", ")}`;
}

const linesOf = (view: View, row: Row) => [
  ...view.measures.filter(({ of }) => Format.isNumber(of(row)))
    .map(({ name, of, text }) => `${name} ${text(of(row))}`),
  ...(row.front ? ["on the Pareto front"] : [])];

function draw(view: View, state: State, width: number) {
  const [x, y] = [view.measures[0], view.measures[state.measure]];
  const rows = state.rows.filter((row) => Format.isNumber(y.of(row)));
  const scale = { x: Scales.ofNumbers(view.done.map(x.of), x.text),
    y: Scales.ofNumbers(view.done.map(y.of), y.text) };
  const right = width - 20;
  const bottom = HEIGHT - 42;
  const px = (row: Row) => LEFT + 8 + (scale.x.place(x.of(row)) ?? 0) * (right - LEFT - 16);
  const py = (row: Row) => bottom - 8 - (scale.y.place(y.of(row)) ?? 0) * (bottom - 28);
  const axes = [
    scale.x.ticks.map(([part, text], i) => [
      s("line", { x1: LEFT + 8 + part * (right - LEFT - 16), x2: LEFT + 8 + part * (right - LEFT - 16),
        y1: 12, y2: bottom, class: "grid" }),
      (width > 640 || i % 2 === 0) && s("text", { x: LEFT + 8 + part * (right - LEFT - 16),
        y: bottom + 15, class: "axis",
        "text-anchor": part === 1 ? "end" : part === 0 ? "start" : "middle" }, text)]),
    scale.y.ticks.map(([part, text]) => [
      s("line", { x1: LEFT, x2: right, y1: bottom - 8 - part * (bottom - 28),
        y2: bottom - 8 - part * (bottom - 28), class: "grid" }),
      s("text", { x: LEFT - 6, y: bottom - 4 - part * (bottom - 28), class: "axis",
        "text-anchor": "end" }, text)]),
    s("text", { x: (LEFT + right) / 2, y: bottom + 34, class: "axis", "text-anchor": "middle" },
      x.name)];
  // The front is drawn last, and can have the focus.
  const sorted = [...rows].sort((a, b) => Number(a.front) - Number(b.front));
  const picture = drawing(width, HEIGHT, `${x.name} and ${y.name} of ` +
    Format.count(rows.length, "cell", "cells"), "scatter", axes, sorted.map((row) => {
    const lines = linesOf(view, row);
    const name = nameOf(view, row);
    return s("circle", { cx: px(row), cy: py(row), r: row.front ? 5.5 : 4,
      class: `point ${row.front ? "front" : "kept"}`, ...Tooltip.of(name, lines),
      ...(row.front ? { tabindex: "0", role: "img", "aria-label": [name, ...lines].join(", ") } : {}) });
  }));
  picture.setAttribute("role", "group");
  state.host.replaceChildren(picture);
}

// Returns the section, and what shows other rows in it.
export function make(view: View) {
  if (view.measures.length < 2) return { section: null, show: () => {} };
  const state: State = { host: h("div", { class: "chart" }), measure: 1, rows: view.done };
  let width = 0;
  responsive(state.host, (now) => { width = now; draw(view, state, now); });
  const show = (rows: Row[]) => {
    state.rows = rows;
    if (width) draw(view, state, width);
  };
  const choice = view.measures.length < 3 ? null : h("div", { class: "tools" },
    h("label", {}, "against", h("select", { onchange: (event) => {
      state.measure = Number(valueOf(event));
      if (width) draw(view, state, width);
    } }, view.measures.slice(1).map(({ name }, i) => h("option", { value: i + 1 }, name)))));
  const section = Panel.section("front", "Pareto front",
    `Cycles against ${view.measures.length < 3 ? view.measures[1].name : "another measure"}. No ` +
    "other cell of its model is as good as one of the front and better in one of " +
    `${view.measures.map(({ name }) => name).join(", ")}.`,
    choice, h("figure", {}, state.host, Panel.legend([["front", "on the Pareto front"],
      ["kept", "other cells"]])));
  return { section, show };
}
