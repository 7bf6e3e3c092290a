// The list of jobs, newest first.
const Jobs = (() => {
  const { h } = Dom;
  const PERIOD_MS = 2000;

  function rowOf(job) {
    const request = job.request || {};
    return [
      h("a", { href: `#/jobs/${encodeURIComponent(job.id)}`, class: "mono" }, job.id),
      Parts.badge(job.state), [Parts.name(request.model_name), "name"],
      [(request.targets || []).map((target) => Format.clean(target.name || "")).join(", "),
        "optional"],
      [(request.goals || []).map((goal) => Format.lower(goal)).join(", "), "optional"],
      [Parts.when(job.created), "time optional"], [Parts.took(job), "number"],
      [Format.clean(job.error?.message || job.waiting?.reason || ""), "name optional"]];
  }

  function open(main) {
    let token = "";
    let timer = 0;
    let closed = false;
    const list = h("div", {});
    const problem = h("div", {});
    const newest = h("button", { onclick: () => go("") }, "Newest");
    const older = h("button", { onclick: () => go(older.dataset.next) }, "Older");
    main.replaceChildren(h("h1", {}, "Jobs"),
      h("div", { class: "tools" }, newest, older), problem, list);

    function go(next) {
      token = next;
      clearTimeout(timer);
      draw();
    }
    async function draw() {
      const asked = token;
      try {
        const page = await Api.jobs(asked);
        if (closed || asked !== token) return;
        older.dataset.next = page.next_page_token || "";
        older.disabled = !page.next_page_token;
        newest.disabled = !asked;
        Parts.replace(list, Parts.table("Jobs",
          ["Job", "State", "Model", ["Targets", "optional"], ["Goals", "optional"],
            ["Created", "optional"], ["Took", "number"], ["", "optional"]],
          (page.jobs || []).map(rowOf),
          "No jobs yet. `edgekiln profile MODEL --target T` makes one."));
        problem.replaceChildren();
      } catch (error) {
        if (!closed) problem.replaceChildren(Parts.problem(error));
      }
      if (!closed && asked === token) timer = setTimeout(draw, PERIOD_MS);
    }
    draw();
    return () => { closed = true; clearTimeout(timer); };
  }

  return { open };
})();
