// One job: its stages and log as they happen, and what it found out.
const Job = (() => {
  const { h } = Dom;
  const KINDS = ["state", "stage_started", "stage_finished", "progress", "samples", "waiting",
    "error", "counted", "log", "planned", "row"];
  const MAX_LINES = 1000;
  const RETRY_MS = 2000;

  // What the events say, in their order.
  function newState() {
    return { stages: [], lines: [], samples: new Map(), waiting: "", rows: 0, cells: 0 };
  }

  const running = (state, name) =>
    state.stages.filter((stage) => stage.name === name && stage.how === "running");

  function line(state, event, text, level = "") {
    state.lines.push({ time: event.time, text, level });
    if (state.lines.length > MAX_LINES) state.lines.shift();
  }

  function apply(state, event) {
    if (event.stage_started) {
      const { name, target } = event.stage_started;
      state.waiting = "";
      // Again, if its worker was lost.
      const again = running(state, name).find((stage) => stage.target === Api.number(target));
      if (!again) state.stages.push({ name, target: Api.number(target), how: "running" });
    } else if (event.stage_finished) {
      // Of which target, the event does not say.
      const { name, cache, seconds } = event.stage_finished;
      const [stage] = running(state, name);
      if (stage) Object.assign(stage, { how: cache, seconds, progress: null });
      else state.stages.push({ name, target: -1, how: cache, seconds });
    } else if (event.progress) {
      for (const stage of running(state, event.progress.stage)) {
        stage.progress = event.progress.progress;
      }
    } else if (event.samples) {
      state.samples.set(Api.number(event.samples.target), event.samples);
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
      state.cells = Api.number(event.planned.cells);
    } else if (event.row) {
      ++state.rows;
    }
    return state;
  }

  function stageTable(state, targets) {
    const bar = (stage) => (stage.progress
      ? h("progress", { value: Api.number(stage.progress.done),
        max: Math.max(1, Api.number(stage.progress.total)), "aria-label": stage.name })
      : "");
    return Parts.table("Stages", ["Stage", ["Target", "optional"], "How", ["Took", "number"], ""],
      state.stages.map((stage) => [Format.clean(stage.name || ""),
        [targets.length > 1 ? Format.clean(targets[stage.target] || "") : "", "optional"],
        Format.lower(Format.clean(stage.how || "")),
        [stage.how === "running" ? "" : Format.seconds(stage.seconds || 0), "number"],
        bar(stage)]), "No stage has begun.");
  }

  const log = (state) => (state.lines.length === 0 ? h("p", { class: "muted" }, "Nothing yet.")
    : h("ul", { class: "log" }, state.lines.map(({ time, text, level }) =>
      h("li", { class: level }, Parts.when(time), " ", Format.clean(text)))));

  function reportOf(report, index) {
    const totals = report.totals || {};
    const cycles = Api.number(totals.cycles);
    const exact = report.bit_exact;
    const mismatches = Api.number(exact?.mismatches);
    const layers = (report.layers || []).map((layer) => {
      const share = cycles > 0 ? Api.number(layer.cycles) / cycles : 0;
      return [[Parts.name(layer.name || layer.id), "name"], layer.op || "",
        Format.clean(layer.engine || ""), [Format.group(Api.number(layer.cycles)), "number"],
        [Format.percent(share, 1), "number"]];
    });
    return h("section", { id: `report${index}` },
      h("h2", {}, "On ", Parts.name(report.target_name)),
      h("div", { class: "tiles" },
        Parts.tile("Cycles", Format.group(cycles), Format.lower(totals.fidelity || "")),
        Parts.tile("Latency", Format.latency(totals.latency_ms)),
        Parts.tile("MACs", Format.group(Api.number(totals.macs))),
        exact ? Parts.tile("Bit-exact", mismatches === 0 ? "yes" : "no",
          `${Format.group(Api.number(exact.outputs_compared))} values compared`) : null),
      Parts.table("Layers", ["Layer", "Op", "Engine", ["Cycles", "number"], ["Share", "number"]],
        layers, report.whole ? "Too many layers for this page: `edgekiln report html` has them."
          : "The report has no layers."));
  }

  function open(main, id) {
    let closed = false;
    const state = newState();
    let targets = [];
    let events = null;
    let drawing = 0;
    let last = 0;  // Sequence of the last event.
    let loads = 0;
    let timer = 0;
    const problem = h("div", {});
    const head = h("div", {});
    const live = h("div", {});
    const reports = h("div", {});
    main.replaceChildren(problem, head, live, reports);

    function fail(error) {
      if (!closed) problem.replaceChildren(Parts.problem(error));
    }
    async function cancel(button) {
      button.disabled = true;
      await Api.cancel(id).catch(fail);
    }
    function drawHead(job) {
      const request = job.request || {};
      targets = (request.targets || []).map((target) => Format.clean(target.name || ""));
      Parts.replace(head,
        h("h1", {}, Parts.name(request.model_name), " ", h("span", { class: "on mono" }, job.id)),
        h("div", { class: "badges" }, Parts.badge(job.state),
          Parts.over(job.state) ? null
            : h("button", { onclick: (event) => cancel(event.target) }, "Cancel")),
        job.error ? Parts.problem(job.error) : null,
        h("dl", { class: "facts" },
          h("dt", {}, "Targets"), h("dd", {}, targets.join(", ") || "-"),
          h("dt", {}, "Created"), h("dd", {}, Parts.when(job.created)),
          h("dt", {}, "Took"), h("dd", {}, Parts.took(job))));
    }
    function drawLive() {
      drawing = 0;
      const samples = [...state.samples.values()].map((one) =>
        `${Format.group(Api.number(one.done))} of ${Format.group(Api.number(one.total))} samples`);
      Parts.replace(live,
        state.waiting ? h("p", { class: "callout" }, "Waits: ", Format.clean(state.waiting)) : null,
        state.cells ? h("p", {}, `${state.rows} of ${state.cells} cells`) : null,
        samples.length ? h("p", {}, samples.join("; ")) : null,
        h("section", {}, h("h2", {}, "Stages"), stageTable(state, targets)),
        h("section", {}, h("h2", {}, "Log"), log(state)));
    }
    // At most once a frame, however many events come.
    const drawSoon = () => { drawing = drawing || requestAnimationFrame(drawLive); };

    async function load() {
      const mine = ++loads;
      const job = await Api.job(id);
      // Answers may come in another order.
      if (closed || mine !== loads) return;
      problem.replaceChildren();
      drawHead(job);
      const found = await Promise.all(Array.from({ length: job.reports || 0 },
        (_, target) => Api.report(id, target)));
      if (!closed && mine === loads) reports.replaceChildren(...found.map(reportOf));
    }
    function watch() {
      if (closed) return;
      events = new EventSource(Api.eventsOf(id, last));
      for (const kind of KINDS) {
        events.addEventListener(kind, ({ data }) => {
          // An error of the connection has a name of ours, and no data.
          if (closed || data === undefined) return;
          const event = JSON.parse(data);
          last = Api.number(event.sequence);
          apply(state, event);
          if (kind === "state") load().catch(fail);
          drawSoon();
        });
      }
      events.addEventListener("end", () => {
        events.close();
        load().catch(fail);
      });
      events.addEventListener("failed", ({ data }) => {
        events.close();
        fail(JSON.parse(data).error);
      });
      // A browser comes again by itself after a cut, but not after an answer
      // such as 503.
      events.onerror = () => {
        if (closed || events.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(watch, RETRY_MS);
      };
    }
    load().catch(fail);
    watch();
    drawLive();
    return () => {
      closed = true;
      cancelAnimationFrame(drawing);
      clearTimeout(timer);
      if (events !== null) events.close();
    };
  }

  return { open, apply, newState };
})();
