// One job: its stages and log as they happen, and what it found out.

import type { Job } from "proto/api";
import { h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as JobReports from "./job_reports";
import { apply, newState, type State } from "./job_state";
import * as Parts from "./parts";
import * as SweepCells from "./sweep_cells";

const KINDS = ["state", "stage_started", "stage_finished", "progress", "samples", "waiting",
  "error", "counted", "log", "planned", "row"];
const RETRY_MS = 2000;

function stageTable(state: State, targets: string[]) {
  const rows = state.stages.map((stage): Parts.Cell[] => [Format.clean(stage.name),
    [targets.length > 1 ? targets[stage.target] || "" : "", "optional"],
    Format.lower(Format.clean(stage.how)),
    [stage.how === "running" ? "" : Format.seconds(stage.seconds || 0), "number"],
    stage.progress ? h("progress", { value: Api.number(stage.progress.done),
      max: Math.max(1, Api.number(stage.progress.total)), "aria-label": stage.name }) : ""]);
  return Parts.table("Stages", ["Stage", ["Target", "optional"], "How", ["Took", "number"], ""],
    rows, "No stage has begun.");
}

const log = (state: State) => (state.lines.length === 0
  ? h("p", { class: "muted" }, "Nothing yet.")
  : h("ul", { class: "log" }, state.lines.map(({ time, text, level }) =>
    h("li", { class: level }, Parts.when(time), " ", Format.clean(text)))));

const targetsOf = (job: Job) =>
  (job.request?.targets || []).map((target) => Format.clean(target.name));

function headOf(job: Job, cancel: (button: HTMLButtonElement) => void) {
  return [h("h1", {}, Parts.name(job.request?.model_name || (job.sweep ? "sweep" : "")), " ",
    h("span", { class: "on mono" }, job.id)),
  h("div", { class: "badges" }, Parts.badge(job.state),
    Parts.over(job.state) ? null
      : h("button", { onclick: (event) => cancel(event.target as HTMLButtonElement) }, "Cancel")),
  job.error ? Parts.problem(job.error) : null,
  h("dl", { class: "facts" },
    h("dt", {}, "Targets"), h("dd", {}, targetsOf(job).join(", ") || "-"),
    h("dt", {}, "Created"), h("dd", {}, Parts.when(job.created)),
    h("dt", {}, "Took"), h("dd", {}, Parts.took(job)))];
}

function liveOf(state: State, targets: string[], id: string) {
  const samples = [...state.samples.values()].map((one) =>
    `${Format.group(Api.number(one.done))} of ${Format.group(Api.number(one.total))} samples`);
  return [
    state.waiting ? h("p", { class: "callout" }, "Waits: ", Format.clean(state.waiting)) : null,
    samples.length ? h("p", {}, samples.join("; ")) : null,
    state.cells ? SweepCells.make(state.rows, state.cells, id) : null,
    h("section", {}, h("h2", {}, "Stages"), stageTable(state, targets)),
    h("section", {}, h("h2", {}, "Log"), log(state))];
}

export function open(main: HTMLElement, id: string) {
  let closed = false;
  const state = newState();
  let targets: string[] = [];
  let events: EventSource | null = null;
  let drawing = 0;
  let last = 0;  // Sequence of the last event.
  let loads = 0;
  let timer = 0;
  const problem = h("div", {});
  const head = h("div", {});
  const live = h("div", {});
  const reports = h("div", {});
  main.replaceChildren(problem, head, reports, live);

  function fail(error: unknown) {
    if (!closed) problem.replaceChildren(Parts.problem(error));
  }
  async function cancel(button: HTMLButtonElement) {
    button.disabled = true;
    await Api.cancel(id).catch(fail);
  }
  function drawLive() {
    drawing = 0;
    Parts.replace(live, liveOf(state, targets, id));
  }
  // At most once a frame, however many events come.
  const drawSoon = () => { drawing = drawing || requestAnimationFrame(drawLive); };

  async function load() {
    const mine = ++loads;
    const job = await Api.job(id);
    // Answers may come in another order.
    if (closed || mine !== loads) return;
    problem.replaceChildren();
    targets = targetsOf(job);
    Parts.replace(head, headOf(job, cancel));
    const found = await Promise.all(Array.from({ length: job.reports || 0 },
      (_, target) => Api.report(id, target)));
    if (!closed && mine === loads) Parts.replace(reports, JobReports.make(id, found));
  }
  function watch() {
    if (closed) return;
    const source = new EventSource(Api.eventsOf(id, last));
    events = source;
    for (const kind of KINDS) {
      source.addEventListener(kind, ({ data }) => {
        // An error of the connection has a name of ours, and no data.
        if (closed || data === undefined) return;
        const event = JSON.parse(data);
        last = Api.number(event.sequence);
        apply(state, event);
        if (kind === "state") load().catch(fail);
        drawSoon();
      });
    }
    source.addEventListener("end", () => {
      source.close();
      load().catch(fail);
    });
    source.addEventListener("failed", ({ data }) => {
      source.close();
      fail(JSON.parse(data).error);
    });
    // A browser comes again by itself after a cut, but not after an answer
    // such as 503.
    source.onerror = () => {
      if (closed || source.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(watch, RETRY_MS);
    };
  }
  load().catch(fail);
  watch();
  drawLive();
  return () => {
    closed = true;
    cancelAnimationFrame(drawing);
    clearTimeout(timer);
    events?.close();
  };
}
