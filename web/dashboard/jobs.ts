// The list of jobs, newest first.

import type { Job } from "proto/api";
import { h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Compare from "./compare";
import * as Parts from "./parts";

const PERIOD_MS = 2000;

// All reports of a job that is over.
function pick(job: Job) {
  const { id = "", reports = 0, request = {} } = job;
  if (!Parts.over(job.state) || reports === 0 || reports > Compare.MOST) return "";
  const model = request.model_name || "model";
  const chosen = Array.from({ length: reports }, (_, i) => ({ name: Api.reportName(id, i),
    label: [model, request.targets?.[i]?.name].filter(Boolean).join(" on ") }));
  return Compare.toggle(chosen, reports === 1 ? `${chosen[0].label}, job ${id}`
    : `${reports} reports of job ${id}`);
}

function rowOf(job: Job): Parts.Cell[] {
  const request = job.request || {};
  return [
    Parts.jobLink(job.id), pick(job), Parts.badge(job.state),
    [Parts.name(request.model_name), "name"],
    [(request.targets || []).map((target) => Format.clean(target.name)).join(", "), "optional"],
    [(request.goals || []).map((goal) => Format.lower(goal)).join(", "), "optional"],
    [Parts.when(job.created), "time optional"], [Parts.took(job), "number optional"],
    [Format.clean(job.error?.message || job.waiting?.reason || ""), "name optional"]];
}

export function open(main: HTMLElement) {
  let token = "";
  let next = "";  // Of the page after this one.
  let timer = 0;
  let closed = false;
  const list = h("div", {});
  const problem = h("div", {});
  const newest = h("button", { onclick: () => go("") }, "Newest");
  const older = h("button", { onclick: () => go(next) }, "Older");
  main.replaceChildren(h("h1", {}, "Jobs"),
    h("div", { class: "tools" }, newest, older), problem, list);

  function go(wanted: string) {
    token = wanted;
    clearTimeout(timer);
    draw();
  }
  async function draw() {
    const asked = token;
    try {
      const page = await Api.jobs(asked);
      if (closed || asked !== token) return;
      next = page.next_page_token || "";
      older.disabled = !next;
      newest.disabled = !asked;
      Parts.replace(list, Parts.table("Jobs",
        ["Job", Compare.heading(), "State", "Model", ["Targets", "optional"],
          ["Goals", "optional"], ["Created", "optional"], ["Took", "number optional"], ["", "optional"]],
        (page.jobs || []).map(rowOf),
        "No jobs yet. `edgekiln profile MODEL --target T` makes one."));
      problem.replaceChildren();
    } catch (error) {
      if (!closed) problem.replaceChildren(Parts.problem(error));
    }
    if (!closed && asked === token) timer = window.setTimeout(draw, PERIOD_MS);
  }
  draw();
  return () => { closed = true; clearTimeout(timer); };
}
