// What the events of a job say, in their order.

import type { JobEvent, StageProgress, SweepRow } from "proto/api";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Parts from "./parts";

const MAX_LINES = 1000;

interface Stage {
  name: string;
  target: number;  // -1: unknown.
  how: string;     // "running", or what the cache did.
  seconds?: number;
  progress?: StageProgress | null;
}

export interface State {
  stages: Stage[];
  lines: { time?: string; text: string; level: string }[];
  samples: Map<number, JobEvent.Samples>;  // By target.
  waiting: string;
  cells: number;  // Of a sweep.
  rows: Map<number, SweepRow>;  // By cell.
}

export const newState = (): State =>
  ({ stages: [], lines: [], samples: new Map(), waiting: "", cells: 0, rows: new Map() });

const running = (state: State, name: string | undefined) =>
  state.stages.filter((stage) => stage.name === name && stage.how === "running");

function line(state: State, event: JobEvent, text: string, level = "") {
  state.lines.push({ time: event.time, text, level });
  if (state.lines.length > MAX_LINES) state.lines.shift();
}

export function apply(state: State, event: JobEvent) {
  if (event.stage_started) {
    const { name = "", target = 0 } = event.stage_started;
    state.waiting = "";
    // Again, if its worker was lost.
    const again = running(state, name).find((stage) => stage.target === target);
    if (!again) state.stages.push({ name, target, how: "running" });
  } else if (event.stage_finished) {
    // The event does not say of which target.
    const { name = "", cache = "", seconds } = event.stage_finished;
    const [stage] = running(state, name);
    if (stage) Object.assign(stage, { how: cache, seconds, progress: null });
    else state.stages.push({ name, target: -1, how: cache, seconds });
  } else if (event.progress) {
    for (const stage of running(state, event.progress.stage)) {
      stage.progress = event.progress.progress;
    }
  } else if (event.samples) {
    state.samples.set(event.samples.target || 0, event.samples);
  } else if (event.waiting) {
    state.waiting = event.waiting.reason || "";
  } else if (event.log) {
    line(state, event, event.log.text || "", event.log.severity);
  } else if (event.error) {
    line(state, event, event.error.message || event.error.what || "", "WARNING");
  } else if (event.state) {
    line(state, event, Format.lower(event.state));
    // After a restart of the daemon: all of them come again.
    if (event.state === "QUEUED") state.stages = [];
    if (Parts.over(event.state)) state.waiting = "";
  } else if (event.planned) {
    state.cells = Api.number(event.planned.summary?.cells);
  } else if (event.row) {
    state.rows.set(event.row.cell || 0, event.row);
  }
  return state;
}
