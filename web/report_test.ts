// Numbers and data of the page of reports, without a browser.

import assert from "node:assert";
import * as Data from "./report/data";
import * as Format from "./shared/format";

const DATA = { diffs: [], reports: [{
  source: "a.json", verdict: { level: "passed", title: "bit-exact", details: [] },
  // Two units; the second segment of the first one follows a gap and idles.
  timeline: [[0, 0, 100, 0, 0, 1, 0, 50, 100, 75, 1, 1, 1, 10, 20, 0, 0, 2], []],
  report: { model_name: "<b>\u0007", target_name: "t",
    engines: [{ name: "e", units: ["compute", "dma"] }, { name: "cpu", host: true }],
    layers: [{ id: "x" }, { id: "y" }] } }] };

Object.assign(globalThis,
  { document: { getElementById: () => ({ textContent: JSON.stringify(DATA) }) } });

// Spaces as a terminal has them.
const plain = (shown: string) => shown.replace(/[\u202f\u00a0]/g, " ").replace(/\u2212/g, "-");

const CASES = [
  [Format.group(0), "0"], [Format.group(999), "999"], [Format.group(1234567), "1 234 567"],
  [Format.group(-12345), "-12 345"], [Format.group(undefined), "-"], [Format.group("NaN"), "-"],
  [Format.signed(5), "+5"], [Format.signed(-5), "-5"],
  [Format.bytes(784), "784 B"], [Format.bytes(58352), "57.0 KiB"],
  [Format.bytes(1048525), "1.0 MiB"], [Format.bytes(64 << 20), "64.0 MiB"],
  [Format.latency(0.357562), "0.3576 ms"], [Format.latency(21980), "21.98 s"],
  [Format.latency(1.2), "1.2 ms"],
  [Format.percent(0.61, 1), "61.0 %"], [Format.percent("NaN", 1), "-"],
  [Format.fill(0.00001), "<0.1 %"], [Format.fill(0), "0.0 %"],
  [Format.frequency(500e6), "500 MHz"], [Format.frequency(1.5e9), "1.5 GHz"],
  [Format.seconds(0.0002), "0.2 ms"], [Format.seconds(0.39), "390 ms"],
  [Format.seconds(1.234), "1.23 s"], [Format.seconds(125), "2 min 05 s"],
  [Format.seconds(3720), "1 h 02 min"],
  [Format.lower("CYCLE_APPROXIMATE"), "cycle-approximate"],
  [Format.clean("a\nb\u0007"), "a?b?"],
  [Format.clip("block1_conv2d", 7), "blo\u2026v2d"],
  [Format.count(1, "layer", "layers"), "1 layer"], [Format.count(2, "layer", "layers"), "2 layers"],
];
for (const [shown, want] of CASES) assert.strictEqual(plain(shown), want);

const [view] = Data.read().views;
assert.strictEqual(view.name, "<b>? on t");
assert.deepStrictEqual(view.tracks, [
  { engine: "e", host: false, unit: "compute", segments: [
    { begin: 0, end: 100, busy: 100, layer: 0, kind: 1 },
    { begin: 150, end: 250, busy: 25, layer: 1, kind: 1 }] },
  { engine: "e", host: false, unit: "dma", segments: [
    { begin: 10, end: 30, busy: 20, layer: 0, kind: 2 }] }]);
assert.strictEqual(view.layerName(1), "y");
assert.strictEqual(view.layerName(7), "layer 7");
assert.strictEqual(view.styleOf("cpu"), "host");
assert.strictEqual(view.styleOf("e"), "engine0");
