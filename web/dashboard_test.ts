// What pages of the dashboard compute, without a browser.

import assert from "node:assert";
import type { JobEvent } from "proto/api";
import * as Api from "./dashboard/api";
import * as Compare from "./dashboard/compare";
import * as Daemon from "./dashboard/daemon";
import * as JobState from "./dashboard/job_state";
import * as Parts from "./dashboard/parts";

const state = JobState.newState();
const see = (event: JobEvent) =>
  JobState.apply(state, { sequence: "1", time: "2026-01-01T00:00:00Z", ...event });

see({ waiting: { reason: "no worker" } });
assert.strictEqual(state.waiting, "no worker");
// Two targets have a stage of one name; one of them begins again.
see({ stage_started: { name: "tile" } });
see({ stage_started: { name: "tile", target: 1 } });
see({ stage_started: { name: "tile", target: 1 } });
assert.strictEqual(state.waiting, "");
see({ progress: { stage: "tile", progress: { done: "3", total: "9" } } });
see({ stage_finished: { name: "tile", cache: "MISS", seconds: 0.5 } });
see({ stage_finished: { name: "import", cache: "HIT" } });
assert.deepStrictEqual(state.stages.map((s) => [s.name, s.target, s.how]),
  [["tile", 0, "MISS"], ["tile", 1, "running"], ["import", -1, "HIT"]]);
assert.strictEqual(state.stages[1].progress?.done, "3");
see({ stage_finished: { name: "tile", cache: "MISS", seconds: 0.5 } });
assert.ok(state.stages.every((s) => s.how !== "running"));
// Lines are bounded, the newest stay.
for (let i = 0; i < 1500; ++i) see({ log: { text: String(i), severity: "INFO" } });
assert.strictEqual(state.lines.length, 1000);
assert.strictEqual(state.lines[999].text, "1499");
see({ planned: { summary: { cells: "12" } } });
see({ row: { job: "j1" } });
see({ row: { cell: 3 } });
assert.deepStrictEqual([[...state.rows.keys()], state.cells], [[0, 3], 12]);
see({ state: "QUEUED" });
assert.deepStrictEqual(state.stages, []);
assert.ok(Parts.over("FAILED") && !Parts.over("RUNNING"));

// Numbers of 64 bits come as texts.
assert.deepStrictEqual(Daemon.sum([{ executed: "3", hit: "4" }, { hit: "5", failed: "1" }]),
  { executed: 3, hit: 9, joined: 0, failed: 1, asked: 12 });
assert.strictEqual(Daemon.runs({}), "idle");
assert.strictEqual(Daemon.runs({ used_slots: 1 }), "cancelled stages");
assert.strictEqual(Daemon.runs({ used_slots: 3, leases: [{ stage: "tile\u0007", seconds: 2.5 }] }),
  "tile? 2.50\u00a0s, 2 more");

// Reports to compare: bounded, each once, and only what the page wrote itself.
const chosen = (...names: string[]) => names.map((name) => ({ name, label: name }));
assert.deepStrictEqual(Compare.parsed(null), []);
assert.deepStrictEqual(Compare.parsed("{"), []);
assert.deepStrictEqual(Compare.parsed(JSON.stringify([...chosen("a/0", "b", "c/1"), 3, null])),
  chosen("a/0", "c/1"));
assert.deepStrictEqual(Compare.withMore(chosen("a/0", "b/0"), chosen("a/0")), chosen("b/0", "a/0"));
const many = Array.from({ length: 20 }, (_, i) => `j/${i}`);
assert.strictEqual(Compare.withMore([], chosen(...many)).length, Compare.MOST);
assert.deepStrictEqual(Compare.without(chosen("a/0", "b/0"), ["a/0"]), chosen("b/0"));
assert.deepStrictEqual(Compare.labelsOf([{ name: "a/0", label: "x" }, { name: "b/0", label: "x" },
  { name: "c/0", label: "y" }]), ["x, job a", "x, job b", "y"]);
assert.strictEqual(Api.renderedAt(["j 1/0"], "csv"), "/v1/jobs/j%201/reports/0/csv");
assert.strictEqual(Api.renderedAt(["a/0", "b/1", "c/0"], "html"),
  "/v1/jobs/a/reports/0/html?beside=b%2F1&beside=c%2F0");
