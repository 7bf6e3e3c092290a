// What a job's page makes of events, without a browser.
// usage: node dashboard_test.js WEB_FOLDER
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");

const text = (name) => fs.readFileSync(path.join(process.argv[2], name), "utf8");
const { Daemon, Job, Parts } = new Function("document", `"use strict";${["shared/dom.js",
  "shared/format.js", "dashboard/api.js", "dashboard/parts.js", "dashboard/job.js",
  "dashboard/daemon.js"].map(text).join("")}return { Daemon, Job, Parts };`)({});

const state = Job.newState();
const see = (event) => Job.apply(state, { sequence: "1", time: "2026-01-01T00:00:00Z", ...event });

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
assert.strictEqual(state.stages[1].progress.done, "3");
see({ stage_finished: { name: "tile", cache: "MISS", seconds: 0.5 } });
assert.ok(state.stages.every((s) => s.how !== "running"));
// Lines are bounded, the newest stay.
for (let i = 0; i < 1500; ++i) see({ log: { text: String(i), severity: "INFO" } });
assert.strictEqual(state.lines.length, 1000);
assert.strictEqual(state.lines[999].text, "1499");
see({ planned: { cells: "12" } });
see({ row: { cell: "0" } });
assert.deepStrictEqual([state.rows, state.cells], [1, 12]);
see({ state: "QUEUED" });
assert.deepStrictEqual(state.stages, []);
assert.ok(Parts.over("FAILED") && !Parts.over("RUNNING"));

// Numbers of 64 bits come as texts.
assert.deepStrictEqual(Daemon.sum([{ executed: "3", hit: "4" }, { hit: 5, failed: 1 }]),
  { executed: 3, hit: 9, joined: 0, failed: 1, asked: 12 });
assert.strictEqual(Daemon.runs({}), "idle");
assert.strictEqual(Daemon.runs({ used_slots: 1 }), "cancelled stages");
assert.strictEqual(Daemon.runs({ used_slots: 3, leases: [{ stage: "tile\u0007", seconds: 2.5 }] }),
  "tile? 2.50\u00a0s, 2 more");
