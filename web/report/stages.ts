// What was computed for this report, and what the cache had.

import type { Report } from "proto/page";
import * as Format from "../shared/format";
import * as Tables from "../shared/tables";
import * as Panel from "../shared/panel";
import type { View } from "./data";

interface Group {
  name: string;
  runs: number;
  HIT: number;
  MISS: number;
  MERGED: number;
  seconds: number;
  cpu: number;
}

// "simulate[3]" belongs to "simulate".
function groupsOf(stages: Report.Stage[]) {
  const groups = new Map<string, Group>();
  for (const stage of stages) {
    const name = (stage.name || "").split("[")[0];
    const group = groups.get(name) ||
      { name, runs: 0, HIT: 0, MISS: 0, MERGED: 0, seconds: 0, cpu: 0 };
    groups.set(name, group);
    group.runs += 1;
    if (stage.cache && stage.cache !== "CACHE_UNSPECIFIED") group[stage.cache] += 1;
    group.seconds += stage.seconds || 0;
    group.cpu += stage.cpu_seconds || 0;
  }
  return [...groups.values()];
}

const HOW = [["HIT", "from the cache"], ["MISS", "computed"],
  ["MERGED", "shared with another job"]] as const;

const cacheText = (group: Group) => HOW.filter(([key]) => group[key])
  .map(([key, text]) => (group.runs === 1 ? text : `${Format.group(group[key])} ${text}`))
  .join(", ") || "-";

export function make(view: View) {
  const stages = view.report.stages || [];
  if (stages.length === 0) return null;
  const groups = groupsOf(stages);
  const hits = stages.filter((stage) => stage.cache === "HIT").length;
  const cpu = groups.reduce((sum, group) => sum + group.cpu, 0);
  const longest = Math.max(1e-9, ...groups.map((group) => group.cpu));
  const time = (seconds: number) => (seconds > 0 ? Format.seconds(seconds) : "-");
  const columns: Tables.Column<Group>[] = [
    { title: "stage", value: (g) => g.name, text: (g) => Format.clean(g.name) },
    { title: "cache", value: cacheText, text: cacheText },
    { title: "time", number: true, value: (g) => g.seconds, text: (g) => time(g.seconds) },
    { title: "CPU", number: true, value: (g) => g.cpu, text: (g) => time(g.cpu) },
    { title: "", bar: true, optional: true, text: (g) => Tables.bar(g.cpu / longest) }];
  return Panel.section("stages", "Stages and cache",
    `${Format.group(hits)} of ${Format.count(stages.length, "stage", "stages")} came from the ` +
    `cache; the others took ${Format.seconds(cpu)} of CPU. What the cache saved in time is not ` +
    "in the report.",
    Tables.make({ label: "Stages", columns, rows: groups }));
}
