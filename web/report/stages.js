// What was computed for this report, and what the cache had.
const Stages = (() => {
  // "simulate[3]" belongs to "simulate".
  function groupsOf(stages) {
    const groups = new Map();
    for (const stage of stages) {
      const name = (stage.name || "").split("[")[0];
      if (!groups.has(name)) {
        groups.set(name, { name, runs: 0, HIT: 0, MISS: 0, MERGED: 0, seconds: 0, cpu: 0 });
      }
      const group = groups.get(name);
      group.runs += 1;
      if (stage.cache in group) group[stage.cache] += 1;
      group.seconds += stage.seconds || 0;
      group.cpu += stage.cpu_seconds || 0;
    }
    return [...groups.values()];
  }

  const cacheText = (group) => [["HIT", "from the cache"], ["MISS", "computed"],
    ["MERGED", "shared with another job"]].filter(([key]) => group[key])
    .map(([key, text]) => (group.runs === 1 ? text : `${Format.group(group[key])} ${text}`))
    .join(", ") || "-";

  function make(view) {
    const stages = view.report.stages || [];
    if (stages.length === 0) return null;
    const groups = groupsOf(stages);
    const hits = stages.filter((stage) => stage.cache === "HIT").length;
    const cpu = groups.reduce((sum, group) => sum + group.cpu, 0);
    const longest = Math.max(1e-9, ...groups.map((group) => group.cpu));
    const time = (seconds) => (seconds > 0 ? Format.seconds(seconds) : "-");
    const columns = [
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

  return { make };
})();
