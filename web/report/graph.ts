// Layers in order, with engine and cost, and the tensors that live between
// them. Neighbours on one engine fold into a row.

import { type Child, h, s } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import type { View } from "./data";
import * as Layers from "./layers";

// Neighbours on one engine.
interface Group {
  engine: string | undefined;
  subgraph: number | undefined;
  layers: number[];
  folded: boolean;
  row: number;  // Of its heading, if it has one.
}

type Update = (pressed?: Group) => void;
type Edge = [number, number];


const ROW = 28;
const UNFOLDED = 40;  // Of more layers, groups are folded at first.

function groupsOf(view: View) {
  const groups: Group[] = [];
  view.layers.forEach((layer, index) => {
    const group = groups[groups.length - 1];
    if (group && group.engine === layer.engine && group.subgraph === layer.subgraph) {
      group.layers.push(index);
    } else {
      groups.push({ engine: layer.engine, subgraph: layer.subgraph, layers: [index],
        folded: false, row: 0 });
    }
  });
  for (const group of groups) {
    group.folded = group.layers.length > 1 && view.layers.length > UNFOLDED;
  }
  return groups;
}

// A tensor in several memories is one line.
function edgesOf(view: View) {
  const edges = new Map<string, Edge>();
  for (const tensor of view.report.tensors || []) {
    const from = tensor.first_layer || 0;
    const to = tensor.last_layer || 0;
    if (to > from) edges.set(`${from} ${to} ${tensor.name}`, [from, to]);
  }
  return [...edges.values()];
}

const costOf = (view: View, indexes: number[]) =>
  indexes.reduce((sum, i) => sum + (view.layers[i].cycles || 0), 0);

// `most`: the cycles of the longest bar; 0: no bar.
function cells(view: View, engine: string | undefined, cycles: number, most: number): Child[] {
  const { totals } = view;
  return [
    h("span", { class: "wide" }, most > 0 && Tables.bar(cycles / most, view.styleOf(engine))),
    h("span", { class: "number" }, Format.group(cycles)),
    h("span", { class: "number" },
      totals.cycles ? Format.percent(cycles / totals.cycles, 1) : "")];
}

function groupRow(view: View, group: Group, most: number, update: Update) {
  const label = `${Format.count(group.layers.length, "layer", "layers")} on ` +
    Format.clean(group.engine);
  return h("li", { class: "group" },
    h("button", { type: "button", "aria-expanded": group.folded ? "false" : "true",
      onclick: () => {
        group.folded = !group.folded;
        update(group);
      } }, group.folded ? "\u25b8 " : "\u25be ", label),
    h("span", { class: "wide" }, Layers.engineText(view, group.engine)),
    cells(view, group.engine, costOf(view, group.layers), group.folded ? most : 0));
}

function layerRow(view: View, index: number, inside: boolean, most: number) {
  const layer = view.layers[index];
  const name = Format.clean(layer.id);
  return h("li", { class: inside ? "inside" : null, title: Format.clean(layer.reason || name) },
    h("span", { class: "name" }, h("span", { class: `dot ${view.styleOf(layer.engine)}`,
      "aria-hidden": "true" }), name),
    h("span", { class: "wide muted" }, Format.clean(layer.op)),
    cells(view, layer.engine, layer.cycles || 0, most));
}

// The rows to show, and for each layer the row that stands for it.
function rowsOf(view: View, groups: Group[], update: Update) {
  const most = Math.max(1, ...view.layers.map((l) => l.cycles || 0),
    ...groups.filter((g) => g.folded).map((g) => costOf(view, g.layers)));
  const rows: HTMLElement[] = [];
  const rowOf: number[] = [];
  for (const group of groups) {
    const several = group.layers.length > 1;
    if (several) {
      rows.push(groupRow(view, group, most, update));
      group.row = rows.length - 1;
    }
    for (const index of group.layers) {
      if (!group.folded) rows.push(layerRow(view, index, several, most));
      rowOf[index] = group.folded ? group.row : rows.length - 1;
    }
  }
  return { rows, rowOf };
}

function arcs(edges: Edge[], rowOf: number[], count: number, gutter: number) {
  const drawn = new Set<string>();
  const paths: Child[] = [];
  for (const [from, to] of edges) {
    const [a, b] = [rowOf[from], rowOf[to]];
    if (a === undefined || b === undefined || a === b || drawn.has(`${a} ${b}`)) continue;
    drawn.add(`${a} ${b}`);
    const [y0, y1] = [a * ROW + ROW / 2 + 3, b * ROW + ROW / 2 - 3];
    const x = gutter - 8;
    const reach = Math.min(x - 4, 6 + 9 * Math.log2(1 + b - a));
    paths.push(s("path", { class: "arc",
      d: `M${x} ${y0}C${x - reach * 1.3} ${y0} ${x - reach * 1.3} ${y1} ${x} ${y1}` }));
  }
  return s("svg", { width: gutter, height: count * ROW, "aria-hidden": "true" }, paths);
}

export function make(view: View) {
  if (view.layers.length === 0) return null;
  const groups = groupsOf(view);
  const edges = edgesOf(view);
  const host = h("div", { class: "graph" });
  const update: Update = (pressed) => {
    const gutter = edges.length === 0 ? 0 : window.innerWidth < 640 ? 40 : 76;
    const { rows, rowOf } = rowsOf(view, groups, update);
    const list = h("ol", { style: { "margin-left": `${gutter}px` } }, rows);
    host.replaceChildren(list, ...(edges.length ? [arcs(edges, rowOf, rows.length, gutter)] : []));
    if (pressed) rows[pressed.row].querySelector("button")?.focus();
  };
  update();
  const foldAll = (folded: boolean) => h("button", { type: "button", onclick: () => {
    for (const group of groups) group.folded = folded && group.layers.length > 1;
    update();
  } }, folded ? "fold all" : "unfold all");
  const scroll = view.layers.length > UNFOLDED ? h("div", { class: "scroll tall", tabindex: "0",
    role: "region", "aria-label": "Graph, rows" }, host) : h("div", {}, host);
  const tools = groups.some((group) => group.layers.length > 1)
    ? h("div", { class: "tools" }, foldAll(true), foldAll(false)) : null;
  return Panel.section("graph", "Graph",
    "Layers in the order in which they run." + (edges.length
      ? " A line on the left is a tensor, from the first layer that has it to the last; the " +
        "report does not name readers in between." : ""), tools, scroll);
}
