// What lies in each memory while the layers run.

import type { FirmwareSections, MemoryUse, TensorUse } from "proto/page";
import { type Child, drawing, h, responsive, s } from "../shared/dom";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import * as Tooltip from "../shared/tooltip";
import type { View } from "./data";
import * as Timeline from "./timeline";

const LETTER = 6.9;  // Width of a label's letter in pixels.

// From when to when a tensor lives, both included: layers, or steps of the program.
type Life = (tensor: TensorUse) => [number, number];

interface Scales {
  x: (time: number) => number;
  y: (address: number) => number;
}

interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

function fill(use: MemoryUse): Child[] {
  const share = use.capacity_bytes ? (use.used_bytes || 0) / use.capacity_bytes : 0;
  return [h("p", {}, Format.bytes(use.used_bytes || 0), " of ",
    Format.bytes(use.capacity_bytes || 0), h("span", { class: "muted" },
      use.capacity_bytes ? ` (${Format.fill(share)})` : "")),
  h("div", { class: "fills", "aria-hidden": "true" },
    h("span", { style: { width: `${Math.min(100, share * 100)}%` } }))];
}

const first = (tensor: TensorUse) => tensor.first_layer || 0;
const last = (tensor: TensorUse) => tensor.last_layer || 0;
const address = (tensor: TensorUse) => tensor.address || 0;
const byLayer: Life = (tensor) => [first(tensor), last(tensor)];
const byStep: Life = (tensor) => [tensor.first_step || 0, tensor.last_step || 0];

// Whether two tensors have the same bytes at one time.
function overlap(tensors: TensorUse[], life: Life) {
  return tensors.some((a, i) => tensors.slice(i + 1).some((b) =>
    address(a) < address(b) + (b.bytes || 0) && address(b) < address(a) + (a.bytes || 0) &&
    life(a)[0] <= life(b)[1] && life(b)[0] <= life(a)[1]));
}

function tensorLines(view: View, tensor: TensorUse) {
  return [Format.bytes(tensor.bytes || 0),
    `at 0x${address(tensor).toString(16)}`,
    first(tensor) === last(tensor)
      ? `while ${view.layerName(first(tensor))} runs`
      : `from ${view.layerName(first(tensor))} to ${view.layerName(last(tensor))}`];
}

function mark(view: View, tensor: TensorUse, life: Life, scales: Scales): Child[] {
  const [begin, end] = life(tensor);
  const x = scales.x(begin);
  const width = Math.max(1, scales.x(end + 1) - x);
  const y = scales.y(address(tensor) + (tensor.bytes || 0));
  const height = Math.max(1, scales.y(address(tensor)) - y);
  const name = Format.clean(tensor.name);
  const shown = width > 44 && height > 13
    ? s("text", { x: x + 4, y: y + height / 2 + 4, class: "on-tensor" },
      Format.clip(name, Math.floor((width - 8) / LETTER))) : null;
  return [s("rect", { x, y, width, height, class: "tensor",
    ...Tooltip.of(name, tensorLines(view, tensor)) }), shown];
}

function axes(count: number, scales: Scales, size: Area, low: number, high: number) {
  const { left, width, height, top } = size;
  const distance = Math.max(1, Timeline.step(count, Math.max(2, width / 60)));
  const parts: Child[] = [];
  for (let i = 0; i < count; i += distance) {
    const x = scales.x(i + 0.5);
    parts.push(s("text", { x, y: top + height + 14, class: "axis", "text-anchor": "middle" },
      Format.group(i)));
  }
  const ticks = 4;
  for (let i = 0; i <= ticks; ++i) {
    const at = low + (high - low) * i / ticks;
    const y = scales.y(at);
    parts.push(s("line", { x1: left, x2: left + width, y1: y, y2: y, class: "grid" }),
      s("text", { x: left - 6, y: y + 4, class: "axis", "text-anchor": "end" },
        Format.bytes(Math.round(at - low))));
  }
  return parts;
}

function map(view: View, name: string, tensors: TensorUse[], host: Element, width: number) {
  const size: Area = { left: 72, top: 8, width: width - 76, height: width < 640 ? 180 : 240 };
  const low = Math.min(...tensors.map(address));
  const high = Math.max(low + 1, ...tensors.map((t) => address(t) + (t.bytes || 0)));
  // Layers whose steps take turns seem to live at one time.
  const steps = tensors.length < 500 && overlap(tensors, byLayer) && !overlap(tensors, byStep);
  const life = steps ? byStep : byLayer;
  const count = steps ? Math.max(...tensors.map((t) => byStep(t)[1])) + 1 : view.layers.length;
  const scales: Scales = {
    x: (time) => size.left + time / Math.max(1, count) * size.width,
    y: (at) => size.top + size.height - (at - low) / (high - low) * size.height,
  };
  host.replaceChildren(drawing(width, size.top + size.height + 36,
    `Map of ${name}: ${Format.count(tensors.length, "tensor", "tensors")} by ` +
    `${steps ? "step" : "layer"} and address`,
    "memory", axes(count, scales, size, low, high),
    tensors.map((tensor) => mark(view, tensor, life, scales)),
    s("text", { x: size.left + size.width / 2, y: size.top + size.height + 32,
      class: "axis", "text-anchor": "middle" },
    steps ? "step of the program, by number" : "layer, by number")));
}

function table(view: View, tensors: TensorUse[]) {
  const columns: Tables.Column<TensorUse>[] = [
    { title: "tensor", name: true, value: (t) => t.name, text: (t) => Format.clean(t.name) },
    { title: "address", number: true, value: address,
      text: (t) => h("code", {}, `0x${address(t).toString(16)}`) },
    { title: "size", number: true, value: (t) => t.bytes || 0,
      text: (t) => Format.bytes(t.bytes || 0) },
    { title: "first layer", name: true, value: first, text: (t) => view.layerName(first(t)) },
    { title: "last layer", name: true, value: last, text: (t) => view.layerName(last(t)) }];
  return Tables.make({ label: "Tensors", columns, rows: tensors,
    filter: (t) => t.name || "", filterLabel: "Find" });
}

function one(view: View, name: string, use: MemoryUse | undefined, tensors: TensorUse[]) {
  const parts: Child[] = [h("h3", { class: "name" }, Format.clean(name)), use && fill(use)];
  if (tensors.length === 0 || view.layers.length === 0) return parts;
  const host = h("div", { class: "chart" });
  responsive(host, (width) => map(view, Format.clean(name), tensors, host, width));
  return [parts, h("figure", {}, host), Panel.fold("Tensors as a table", table(view, tensors))];
}

function sectionsText(sections: FirmwareSections | undefined) {
  if (!sections) return "";
  return (["text", "rodata", "data", "bss", "stack"] as const).map((part) =>
    `${part} ${Format.bytes(sections[`${part}_bytes`] || 0)}`).join(", ");
}

export function make(view: View) {
  const memory = view.report.memory || {};
  const uses = memory.memories || [];
  const tensors = view.report.tensors || [];
  const names = [...new Set([...uses.map((use) => use.name || ""),
    ...tensors.map((tensor) => tensor.memory || "")])];
  if (names.length === 0) return null;
  const mapped = tensors.length > 0 && view.layers.length > 0;
  const about = mapped ? "Where tensors lie, and from which layer to which they are used: " +
    "the report knows lifetimes by layer, so layers are equally wide; by steps of the program, " +
    "where it does layers in turns. Sizes on the left count from the lowest address in use." : null;
  const code = sectionsText(memory.sections);
  return Panel.section("memory", "Memory", about,
    names.map((name) => one(view, name, uses.find((use) => (use.name || "") === name),
      tensors.filter((tensor) => (tensor.memory || "") === name))),
    code && Panel.facts([["code", code]]));
}
