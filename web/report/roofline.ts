// Layers under the roofs of their engine: what peak and bandwidth allow.

import { type Child, drawing, h, responsive, s } from "../shared/dom";
import * as Format from "../shared/format";
import * as Panel from "../shared/panel";
import * as Tooltip from "../shared/tooltip";
import type { Layer, View } from "./data";

// A layer whose roof and cycles the report knows.
interface Known extends Layer {
  macs: number;
  macs_per_byte: number;
  roofline_macs_per_cycle: number;
}

interface Scales {
  left: number;
  right: number;
  top: number;
  bottom: number;
  xs: [number, number];  // Decades.
  ys: [number, number];
  x: (value: number) => number;
  y: (value: number) => number;
}


const HEIGHT = 340;

const taken = (layer: Layer) => Math.max(layer.cycles || 0, layer.job_cycles || 0);
const attained = (layer: Known) => layer.macs / taken(layer);

const isKnown = (layer: Layer): layer is Known => (layer.macs_per_byte || 0) > 0 &&
  (layer.roofline_macs_per_cycle || 0) > 0 && (layer.macs || 0) > 0 && taken(layer) > 0;

// Peak and bandwidth of an engine, where its layers show both. A roof is only
// drawn if every layer's limit lies on it.
function roofOf(layers: Known[]) {
  const peak = Math.max(...layers.map((l) => l.roofline_macs_per_cycle));
  const slope = Math.max(...layers.map((l) => l.roofline_macs_per_cycle / l.macs_per_byte));
  const fits = layers.every((l) => {
    const roof = Math.min(peak, slope * l.macs_per_byte);
    return Math.abs(roof - l.roofline_macs_per_cycle) <= 1e-6 * roof;
  });
  const flat = layers.some((l) => l.roofline_macs_per_cycle < slope * l.macs_per_byte * 0.999999);
  const steep = layers.some((l) => l.roofline_macs_per_cycle < peak * 0.999999);
  return fits ? { peak, slope, flat, steep } : null;
}

const decades = (values: number[]): [number, number] => [
  Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 1e-9)];

function scalesOf(layers: Known[], width: number): Scales {
  const left = 56;
  const [x0, x1] = decades(layers.map((l) => l.macs_per_byte));
  const [y0, y1] = decades(layers.flatMap((l) => [attained(l), l.roofline_macs_per_cycle]));
  const right = Math.max(x0 + 1, x1);
  const top = Math.max(y0 + 1, y1);
  const end = width - 20;
  return { left, right: end, top: 12, bottom: HEIGHT - 40,
    xs: [x0, right], ys: [y0, top],
    x: (v) => left + (Math.log10(v) - x0) / (right - x0) * (end - left),
    y: (v) => HEIGHT - 40 - (Math.log10(v) - y0) / (top - y0) * (HEIGHT - 52) };
}

function axes(scales: Scales) {
  const parts: Child[] = [];
  for (let e = scales.xs[0]; e <= scales.xs[1]; ++e) {
    const x = scales.x(10 ** e);
    parts.push(s("line", { x1: x, x2: x, y1: scales.top, y2: scales.bottom, class: "grid" }),
      s("text", { x, y: scales.bottom + 15, class: "axis", "text-anchor": "middle" },
        Format.significant(10 ** e, 1)));
  }
  for (let e = scales.ys[0]; e <= scales.ys[1]; ++e) {
    const y = scales.y(10 ** e);
    parts.push(s("line", { x1: scales.left, x2: scales.right, y1: y, y2: y, class: "grid" }),
      s("text", { x: scales.left - 6, y: y + 4, class: "axis", "text-anchor": "end" },
        Format.significant(10 ** e, 1)));
  }
  const middle = (scales.top + scales.bottom) / 2;
  parts.push(s("text", { x: (scales.left + scales.right) / 2, y: scales.bottom + 34,
    class: "axis", "text-anchor": "middle" }, "MACs per byte moved"),
  s("text", { x: 12, y: middle, class: "axis", "text-anchor": "middle",
    transform: `rotate(-90 12 ${middle})` }, "MACs per cycle"));
  return parts;
}

function roof(layers: Known[], scales: Scales): Child {
  const found = roofOf(layers);
  if (!found) return null;
  const [low, high] = scales.xs.map((e) => 10 ** e);
  const least = 10 ** scales.ys[0];
  const points: [number, number][] = [];
  if (found.steep) {
    const from = Math.max(low, least / found.slope);
    const to = found.flat ? found.peak / found.slope : Math.max(...layers.map((l) => l.macs_per_byte));
    points.push([from, found.slope * from], [Math.min(to, high), found.slope * Math.min(to, high)]);
  }
  if (found.flat || !found.steep) {
    const from = found.steep ? found.peak / found.slope
      : Math.min(...layers.map((l) => l.macs_per_byte));
    points.push([Math.max(low, from), found.peak], [high, found.peak]);
  }
  return [s("polyline", { class: "roof",
    points: points.map(([x, y]) => `${scales.x(x)},${scales.y(y)}`).join(" ") }),
  found.flat && s("text", { x: scales.right, y: scales.y(found.peak) - 5, class: "small",
    "text-anchor": "end" }, `peak ${Format.significant(found.peak, 4)} MACs per cycle`)];
}

function point(view: View, layer: Known, scales: Scales): Child {
  const x = scales.x(layer.macs_per_byte);
  const y = scales.y(attained(layer));
  const limit = scales.y(layer.roofline_macs_per_cycle);
  const share = view.totals.cycles ? (layer.cycles || 0) / view.totals.cycles : 0;
  const name = Format.clean(layer.id);
  const lines = [`${Format.significant(attained(layer), 4)} MACs per cycle`,
    `at most ${Format.significant(layer.roofline_macs_per_cycle, 4)} at ` +
    `${Format.significant(layer.macs_per_byte, 4)} MACs per byte`,
    `${Format.percent(attained(layer) / layer.roofline_macs_per_cycle, 1)} of the roof`,
    `${Format.percent(share, 1)} of all cycles`];
  return [s("line", { x1: x, x2: x, y1: y, y2: limit, class: "reach" }),
    s("line", { x1: x - 4, x2: x + 4, y1: limit, y2: limit, class: "limit" }),
    s("circle", { cx: x, cy: y, r: 4 + 12 * Math.sqrt(share), tabindex: "0", role: "img",
      "aria-label": [name, ...lines].join(", "), class: `point ${view.styleOf(layer.engine)}`,
      ...Tooltip.of(name, lines) })];
}

const enginesOf = (layers: Known[]) => [...new Set(layers.map((l) => l.engine))];

function draw(view: View, layers: Known[], host: Element, width: number) {
  const scales = scalesOf(layers, width);
  const bySize = [...layers].sort((a, b) => (b.cycles || 0) - (a.cycles || 0));
  const picture = drawing(width, HEIGHT,
    `Roofline of ${Format.count(layers.length, "layer", "layers")}`, "roofline", axes(scales),
    enginesOf(layers).map((name) => roof(layers.filter((l) => l.engine === name), scales)),
    bySize.map((layer) => point(view, layer, scales)));
  picture.setAttribute("role", "group");
  host.replaceChildren(picture);
}

export function make(view: View) {
  const layers = view.layers.filter(isKnown);
  if (layers.length === 0) return null;
  const host = h("div", { class: "chart" });
  responsive(host, (width) => draw(view, layers, host, width));
  const left = view.layers.length - layers.length;
  return Panel.section("roofline", "Roofline",
    "A circle is a layer on an engine, as large as its cycles; the line above it ends at what " +
    "the engine's peak and its link's bandwidth allow." + (left
      ? ` ${Format.count(left, "layer", "layers")} without MACs or moved bytes ` +
        `${left === 1 ? "is" : "are"} left out.` : ""),
    h("figure", {}, host, Panel.legend(enginesOf(layers).map((name) =>
      [view.styleOf(name), Format.clean(name)]))));
}
