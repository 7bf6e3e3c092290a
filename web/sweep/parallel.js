// Parallel coordinates: an axis for each key and measure, a line for each cell.
// Dragging along an axis keeps the lines that cross it there.
const Parallel = (() => {
  const { h, s } = Dom;
  const HEIGHT = 360;
  const TOP = 34;
  const BOTTOM = HEIGHT - 14;
  const AXIS = 118;  // Least distance of two axes in pixels.
  const MOST_TICKS = 14;

  const yOf = (part) => BOTTOM - part * (BOTTOM - TOP);
  const partOf = (y) => Math.max(0, Math.min(1, (BOTTOM - y) / (BOTTOM - TOP)));

  function axesOf(view) {
    const { done } = view;
    return [
      ...view.dimensions.map(({ name, of }) => ({ name, of, ...Scales.ofTexts(done.map(of)) })),
      ...view.measures.map(({ name, of, text }) => ({ name, of,
        ...Scales.ofNumbers(done.map(of), text) }))];
  }

  // Whether a row crosses every axis where that was asked for.
  const isKept = (axes, row) => axes.every(({ of, place, range }) => {
    if (!range) return true;
    const part = place(of(row));
    return part !== undefined && part >= range[0] - 1e-9 && part <= range[1] + 1e-9;
  });

  // Axes that a row has no value on are passed over.
  function pathOf(axes, row) {
    const points = axes.map((axis) => [axis.x, axis.place(axis.of(row))])
      .filter(([, part]) => part !== undefined);
    return points.map(([x, part], i) =>
      `${i ? "L" : "M"}${x.toFixed(1)} ${yOf(part).toFixed(1)}`).join("");
  }

  const joined = (axes, rows) => rows.map((row) => pathOf(axes, row)).join("");

  function axisMarks(axis, last) {
    const every = Math.ceil(axis.ticks.length / MOST_TICKS);
    const anchor = last ? "end" : "start";
    const dx = last ? -6 : 6;
    return [
      s("text", { x: axis.x, y: 14, class: "axis title",
        "text-anchor": axis.first ? "start" : last ? "end" : "middle" }, Format.clip(axis.name, 20)),
      s("line", { x1: axis.x, x2: axis.x, y1: TOP, y2: BOTTOM, class: "parallel-axis" }),
      axis.ticks.filter((_, i) => i % every === 0).map(([part, text]) =>
        s("text", { x: axis.x + dx, y: yOf(part) + 4, class: "axis tick", "text-anchor": anchor },
          Format.clip(text, 14))),
      axis.range && s("rect", { x: axis.x - 6, width: 12, y: yOf(axis.range[1]),
        height: Math.max(2, yOf(axis.range[0]) - yOf(axis.range[1])), class: "brush" })];
  }

  function draw(view, state, width) {
    const { axes } = state;
    const inner = Math.max(width, AXIS * axes.length);
    axes.forEach((axis, i) => {
      axis.first = i === 0;
      axis.x = axes.length === 1 ? inner / 2 : 12 + i * (inner - 24) / (axes.length - 1);
    });
    const kept = view.done.filter((row) => isKept(axes, row));
    const left = view.done.filter((row) => !isKept(axes, row));
    const front = kept.filter((row) => row.front);
    const label = `Parallel coordinates of ${Format.count(view.done.length, "cell", "cells")} over ` +
      axes.map((axis) => axis.name).join(", ");
    state.host.replaceChildren(Dom.drawing(inner, HEIGHT, label, "parallel",
      s("path", { class: "line left", d: joined(axes, left) }),
      s("path", { class: "line kept", d: joined(axes, kept.filter((row) => !row.front)) }),
      s("path", { class: "line front", d: joined(axes, front) }),
      axes.map((axis, i) => axisMarks(axis, i === axes.length - 1))));
    state.count.textContent = kept.length === view.done.length
      ? Format.count(kept.length, "cell", "cells")
      : `${Format.group(kept.length)} of ${Format.count(view.done.length, "cell", "cells")}`;
    state.clear.disabled = axes.every((axis) => !axis.range);
  }

  // The axis near a pointer, and where along it that is.
  function at(state, event) {
    const area = state.host.firstChild.getBoundingClientRect();
    const x = event.clientX - area.left;
    const axis = state.axes.find((one) => Math.abs(one.x - x) < 14);
    return axis && { axis, part: partOf(event.clientY - area.top) };
  }

  function listen(state, update) {
    let held = null;
    state.host.addEventListener("pointerdown", (event) => {
      held = at(state, event);
      if (held) state.host.setPointerCapture(event.pointerId);
    });
    state.host.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons) return;
      const area = state.host.firstChild.getBoundingClientRect();
      const part = partOf(event.clientY - area.top);
      held.axis.range = [Math.min(held.part, part), Math.max(held.part, part)];
      if (held.axis.select) held.axis.select.value = "";
      update();
    });
    state.host.addEventListener("pointercancel", () => { held = null; });
    state.host.addEventListener("pointerup", (event) => {
      const end = held && at(state, event);
      // A click without a drag takes the limits away.
      if (end && end.axis === held.axis && Math.abs(end.part - held.part) < 0.01) {
        held.axis.range = null;
        if (held.axis.select) held.axis.select.value = "";
        update();
      }
      held = null;
    });
  }

  // For keys and screen readers: a choice for each dimension.
  function choices(view, state, update) {
    return view.dimensions.map(({ name }, i) => {
      const axis = state.axes[i];
      if (axis.ticks.length < 2 || axis.ticks.length > 40) return null;
      axis.select = h("select", { onchange: ({ target }) => {
        const part = axis.place(axis.ticks[Number(target.value)]?.[1]);
        axis.range = target.value === "" ? null : [part, part];
        update();
      } }, h("option", { value: "" }, "all"),
      axis.ticks.map(([, text], at) => h("option", { value: at }, text)));
      return h("label", {}, Format.clean(name), axis.select);
    });
  }

  // `changed(kept)` is called with the rows that are kept.
  function make(view, changed) {
    const state = { axes: axesOf(view), host: h("div", { class: "chart scroll",
      tabindex: "0", role: "region", "aria-label": "Parallel coordinates, drawing" }),
      count: h("span", { class: "count", role: "status" }), clear: null };
    let width = 0;
    let frame = 0;
    // At most once a frame, however fast the pointer moves.
    const update = () => {
      frame = frame || requestAnimationFrame(() => {
        frame = 0;
        draw(view, state, width);
        changed(view.done.filter((row) => isKept(state.axes, row)));
      });
    };
    state.clear = h("button", { type: "button", onclick: () => {
      for (const axis of state.axes) axis.range = null;
      for (const select of tools.querySelectorAll("select")) select.value = "";
      update();
    } }, "show all");
    const tools = h("div", { class: "tools" }, choices(view, state, () => update()), state.clear,
      state.count);
    listen(state, update);
    Dom.responsive(state.host, (now) => { width = now; draw(view, state, now); });
    return Panel.section("parallel", "Parallel coordinates",
      "A line is a cell. Drag along an axis to keep the lines that cross it there; a click on it " +
      "keeps all again.", tools, h("figure", {}, state.host,
        Panel.legend([["front", "on the Pareto front"], ["kept", "other cells"]])));
  }

  return { make, isKept, axesOf };
})();
