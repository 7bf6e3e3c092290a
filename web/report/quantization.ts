// What integers cost each layer.

import type { QuantizedLayer } from "proto/page";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import type { View } from "./data";

const decibels = (value: Format.Figure) => (Format.isNumber(value) ? value.toFixed(1) : "-");

// Of the result: its least integer tells the type.
function activationsOf(layer: QuantizedLayer) {
  if (!layer.scale) return "int8";
  const least = Math.round((layer.range_low || 0) / layer.scale) + (layer.zero_point || 0);
  return least === 0 ? "uint8" : least < -128 ? "int16" : "int8";
}

function scheme(layer: QuantizedLayer) {
  if (layer.is_float) return "float";
  const activations = activationsOf(layer);
  if (!layer.weights) return activations;
  const scales = layer.per_tensor ? "tensor"
    : (layer.channels_per_scale || 0) > 1 ? `${layer.channels_per_scale} channels` : "channel";
  return `${Format.lower(layer.weights)} ${scales}`
    + (activations === "int8" ? "" : `, ${activations}`);
}

const range = (layer: QuantizedLayer) => (layer.is_float || !layer.scale ? "-"
  : `${Format.significant(layer.range_low || 0, 3)} .. ${Format.significant(layer.range_high || 0, 3)}`);

const growth = (layer: QuantizedLayer) => (layer.scale_growth
  ? `x${layer.scale_growth.toFixed(2)} (${layer.accumulator_bits} bits)` : "-");

function columnsOf(layers: QuantizedLayer[]): Tables.Column<QuantizedLayer>[] {
  const noise = (l: QuantizedLayer) => l.output_sqnr_db;
  const worst = Math.max(1, ...layers.map((l) => l.output_sqnr_db || 0));
  return [
    { title: "layer", name: true, value: (l) => l.id || "", text: (l) => Format.clean(l.id) },
    { title: "op", optional: true, value: (l) => l.op || "", text: (l) => Format.clean(l.op) },
    { title: "scheme", value: scheme, text: scheme },
    { title: "range", number: true, optional: true, text: range },
    { title: "weights dB", number: true, value: (l) => l.weight_sqnr_db,
      text: (l) => decibels(l.weight_sqnr_db), hint: "Signal to noise of the weights" },
    { title: "worst channel dB", number: true, optional: true,
      value: (l) => l.worst_channel_sqnr_db, text: (l) => decibels(l.worst_channel_sqnr_db),
      title_of: (l) => (l.worst_channel_sqnr_db === undefined ? "" : `channel ${l.worst_channel || 0}`) },
    ...(layers.some((l) => l.scale_growth) ? [{ title: "scale for sums", number: true,
      value: (l: QuantizedLayer) => l.scale_growth || 1, text: growth,
      hint: "How much larger scales of weights are so that sums fit the accumulator" }] : []),
    { title: "result dB", number: true, value: noise, text: (l) => decibels(noise(l)),
      hint: "Signal to noise of the result, this layer and all before it" },
    { title: "", bar: true, optional: true, text: (l) => Tables.bar((noise(l) || 0) / worst) },
    { title: "network dB", number: true, optional: true, value: (l) => l.network_sqnr_db,
      text: (l) => decibels(l.network_sqnr_db),
      hint: "Signal to noise of the first output if this layer alone is quantized" },
    { title: "saturated", number: true, value: (l) => l.saturated || 0,
      text: (l) => (l.saturated ? Format.percent(l.saturated, 2) : "-") }];
}

export function make(view: View) {
  const { quantized } = view.report;
  if (!quantized?.layers?.length) return null;
  const output = Format.isNumber(quantized.output_sqnr_db)
    ? `${decibels(quantized.output_sqnr_db)} dB` : "";
  return Panel.section("quantization", "Quantization",
    "Signal to noise in decibels, quantized against float, on the calibration data: more is better.",
    Tables.make({ label: "Quantized layers", columns: columnsOf(quantized.layers),
      rows: quantized.layers, filter: (l) => [l.id, l.op, scheme(l)].join(" "),
      filterLabel: "Find" }),
    Panel.facts([["first output", output],
      ["samples", quantized.samples ? Format.group(quantized.samples) : ""],
      ...(quantized.notes || []).map((note): [string, string] => ["note", Format.clean(note)])]));
}
