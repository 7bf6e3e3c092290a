// The daemon itself: queue, workers, stages, cache, and what it uses.

import type { DaemonStatus } from "proto/api";
import { h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Parts from "./parts";

const PERIOD_MS = 2000;
const HOWS = ["executed", "hit", "joined", "failed"] as const;
const { number } = Api;

export function sum(stages: DaemonStatus.Stage[]) {
  const all = { executed: 0, hit: 0, joined: 0, failed: 0 };
  for (const stage of stages) {
    for (const how of HOWS) all[how] += number(stage[how]);
  }
  return { ...all, asked: all.executed + all.hit + all.joined };
}

const share = (part: number, whole: number) => (whole > 0 ? Format.percent(part / whole, 1) : "-");

function tiles(status: DaemonStatus) {
  const jobs = status.jobs || {};
  const stages = sum(status.stages || []);
  const cache = status.cache || {};
  const own = status.process || {};
  const limit = number(cache.limit_bytes);
  return h("div", { class: "tiles" },
    Parts.tile("Jobs running", Format.group(number(jobs.running)),
      `of ${Format.group(number(jobs.max_running))} at once`),
    Parts.tile("Jobs queued", Format.group(number(jobs.queued)),
      `of ${Format.group(number(jobs.max_queued))}`),
    Parts.tile("Slots busy",
      `${Format.group(number(status.used_slots))} of ${Format.group(number(status.slots))}`,
      Format.count(number(status.waiting_leases), "stage waits", "stages wait")),
    Parts.tile("Cache hits", share(stages.hit, stages.asked),
      `${Format.group(stages.hit)} of ${Format.group(stages.asked)} stages`),
    cache.bytes === undefined ? Parts.tile("Cache", "-", "being counted")
      : Parts.tile("Cache", Format.bytes(number(cache.bytes)),
        limit > 0 ? `of ${Format.bytes(limit)}` : "no limit"),
    Parts.tile("Evicted", Format.bytes(number(cache.evicted_bytes)),
      Format.count(number(cache.evicted_files), "file", "files")),
    Parts.tile("Disk free", Format.bytes(number((status.disk || {}).free_bytes)),
      `${Format.bytes(number((status.disk || {}).reserve_bytes))} kept for the database`),
    Parts.tile("Memory", Format.bytes(number(own.resident_bytes)),
      `${Format.count(number(own.client_connections), "connection", "connections")} of clients`));
}

export function runs(worker: DaemonStatus.Worker) {
  const leases = worker.leases || [];
  if (leases.length === 0) return number(worker.used_slots) > 0 ? "cancelled stages" : "idle";
  const more = number(worker.used_slots) - leases.length;
  return leases.map((lease) =>
    `${Format.clean(lease.stage)} ${Format.seconds(lease.seconds || 0)}`).join(", ") +
    (more > 0 ? `, ${more} more` : "");
}

const role = (name: string) => Format.lower(name).replace(/-role$/, "");

const workerTable = (status: DaemonStatus) => Parts.table("Workers",
  ["Worker", ["Roles", "optional"], ["Slots", "number"], ["Done", "number optional"],
    ["Failed", "number optional"], "Runs"],
  (status.workers || []).map((worker): Parts.Cell[] => [Parts.name(worker.name),
    [(worker.roles || []).map(role).join(", "), "optional"],
    [`${number(worker.used_slots)} of ${number(worker.slots)}`, "number"],
    [Format.group(number(worker.succeeded)), "number optional"],
    [Format.group(number(worker.failed)), "number optional"], [runs(worker), "name"]]),
  "No worker is connected: jobs wait. `edgekilnd --workers N` starts some.");

const stageTable = (status: DaemonStatus) => Parts.table("Stages",
  ["Stage", ["Executed", "number"], ["From the cache", "number"],
    ["Shared", "number optional"], ["Failed", "number optional"], ["CPU", "number"],
    ["Each", "number optional"]],
  (status.stages || []).map((stage): Parts.Cell[] => [Format.clean(stage.name),
    [Format.group(number(stage.executed)), "number"], [Format.group(number(stage.hit)), "number"],
    [Format.group(number(stage.joined)), "number optional"],
    [Format.group(number(stage.failed)), "number optional"],
    [Format.seconds(stage.cpu_seconds || 0), "number"],
    [number(stage.executed) > 0
      ? Format.seconds((stage.cpu_seconds || 0) / number(stage.executed)) : "-",
    "number optional"]]),
  "No stage has been asked for yet.");

export function open(main: HTMLElement) {
  let closed = false;
  let timer = 0;
  const problem = h("div", {});
  // Each is drawn anew only when it changes, so that focus and scroll positions
  // stay in the others.
  const [head, workers, stages] = [h("div", {}), h("div", {}), h("div", {})];
  main.replaceChildren(h("h1", {}, "Daemon"), problem, head,
    h("section", {}, h("h2", {}, "Workers"), workers),
    h("section", {}, h("h2", {}, "Stages"), stages));
  async function draw() {
    try {
      const status = await Api.daemon();
      if (closed) return;
      Parts.replace(problem);
      Parts.replace(head,
        status.refusal ? h("p", { class: "callout bad" }, "Takes no jobs: ",
          Format.clean(status.refusal)) : null,
        h("p", { class: "about muted" }, "Up since ", Parts.when(status.started),
          ". Counters begin at 0 with each start."),
        tiles(status));
      Parts.replace(workers, workerTable(status));
      Parts.replace(stages, stageTable(status));
    } catch (error) {
      if (!closed) Parts.replace(problem, Parts.problem(error));
    }
    if (!closed) timer = window.setTimeout(draw, PERIOD_MS);
  }
  draw();
  return () => { closed = true; clearTimeout(timer); };
}
