// Accuracy with its intervals, disagreements and the confusion matrix.
const Accuracy = (() => {
  const { h, s } = Dom;
  const MATRIX = 24;  // The largest matrix that is shown as one.
  const PAIRS = 20;

  // Values with an interval: chip and reference, of each metric.
  function rowsOf(accuracy) {
    const reference = Format.lower(accuracy.reference || "reference");
    const rows = [
      { name: `${accuracy.metric}, chip`, value: accuracy.value, interval: accuracy.interval },
      { name: `${accuracy.metric}, ${reference}`, value: accuracy.reference_value,
        interval: accuracy.reference_interval, reference: true }];
    if (accuracy.top5_value !== undefined && accuracy.metric !== "top5") {
      rows.push({ name: "top5, chip", value: accuracy.top5_value,
        interval: accuracy.top5_interval },
      { name: `top5, ${reference}`, value: accuracy.top5_reference_value,
        interval: accuracy.top5_reference_interval, reference: true });
    }
    return rows.filter((row) => row.interval);
  }

  const share = (value) => Format.percent(value || 0, 2);
  const between = (interval) =>
    `${Format.percent(interval.low || 0, 1)} to ${Format.percent(interval.high || 0, 1)}`;

  // Round shares, in tenths of a percent.
  function ticksOf(from, to) {
    const distance = Timeline.step((to - from) * 1000, 6);
    const ticks = [];
    for (let at = Math.ceil(from * 1000 / distance) * distance; at <= to * 1000 + 1e-6;
      at += distance) {
      ticks.push(at / 1000);
    }
    return ticks;
  }

  function draw(rows, host, width) {
    const left = width < 640 ? 4 : 150;
    const high = width < 640 ? 44 : 30;
    const lows = rows.map((row) => row.interval.low || 0);
    const highs = rows.map((row) => row.interval.high || 0);
    const margin = Math.max(0.005, (Math.max(...highs) - Math.min(...lows)) * 0.15);
    const from = Math.max(0, Math.min(...lows) - margin);
    const to = Math.min(1, Math.max(...highs) + margin);
    const x = (value) => left + 8 + (value - from) / (to - from) * (width - left - 34);
    const bottom = rows.length * high + 8;
    const ticks = ticksOf(from, to);
    host.replaceChildren(Dom.drawing(width, bottom + 22,
      "Accuracy with 95 % intervals: " + rows.map((row) =>
        `${row.name} ${share(row.value)}`).join(", "), "accuracy",
      ticks.map((at) => [s("line", { x1: x(at), x2: x(at), y1: 0, y2: bottom, class: "grid" }),
        s("text", { x: x(at), y: bottom + 15, class: "axis", "text-anchor": "middle" },
          Format.percent(at, 1))]),
      rows.map((row, i) => {
        const y = i * high + (width < 640 ? 30 : 18);
        const style = row.reference ? " reference" : "";
        const text = `${share(row.value)}, 95\u00a0% interval ${between(row.interval)}`;
        return [s("text", { x: 0, y: width < 640 ? y - 12 : y + 4 }, Format.clean(row.name)),
          s("line", { x1: x(row.interval.low || 0), x2: x(row.interval.high || 0), y1: y, y2: y,
            class: `whisker${style}` }),
          s("circle", { cx: x(row.value || 0), cy: y, r: 5, class: `value${style}`,
            ...Tooltip.of(row.name, [text]) })];
      })));
  }

  function intervals(accuracy) {
    const rows = rowsOf(accuracy);
    if (rows.length === 0) return null;
    const host = h("div", { class: "chart" });
    Dom.responsive(host, (width) => draw(rows, host, width));
    return h("figure", {}, host);
  }

  function values(accuracy) {
    const text = (value, interval) => Summary.metricText(accuracy.metric, value) + (interval
      ? ` (95\u00a0% interval ${between(interval)})` : "");
    const { disagreement, anomalies } = accuracy;
    const disagrees = disagreement && disagreement.interval;
    return Panel.facts([
      [Format.clean(accuracy.metric), text(accuracy.value, accuracy.interval)],
      ["reference", accuracy.reference ? `${Format.lower(accuracy.reference)}, ` +
        text(accuracy.reference_value, accuracy.reference_interval) : ""],
      ["samples", Format.group(accuracy.samples || 0)],
      ["disagreement", disagreement ? `${Format.group(disagreement.count || 0)} of ` +
        `${Format.group(disagreement.samples || 0)} samples, ${share(disagrees && disagrees.value)}` : ""],
      ["right to wrong", disagreement ? Format.group(disagreement.right_to_wrong || 0) : ""],
      ["wrong to right", disagreement ? Format.group(disagreement.wrong_to_right || 0) : ""],
      ["mean error", anomalies
        ? `normal ${Format.significant(anomalies.normal_error || 0, 5)}, ` +
          `anomaly ${Format.significant(anomalies.anomalous_error || 0, 5)}` : ""]]);
  }

  function matrix(confusion) {
    const classes = [...Array(confusion.classes).keys()];
    const counts = new Map();
    const sums = new Map();
    for (const cell of confusion.cells || []) {
      const label = cell.label || 0;
      counts.set(`${label} ${cell.predicted || 0}`, cell.count);
      sums.set(label, (sums.get(label) || 0) + cell.count);
    }
    const cell = (label, predicted) => {
      const count = counts.get(`${label} ${predicted}`) || 0;
      if (!count) return h("td", { class: "zero" }, "\u00b7");
      const part = count / sums.get(label);
      const tint = label === predicted ? "--heat" : "--miss";
      return h("td", { title: `label ${label} as ${predicted}: ${Format.percent(part, 1)}`,
        style: { "background-color": `rgba(var(${tint}), ${(0.12 + 0.6 * part).toFixed(3)})` } },
      Format.group(count));
    };
    return h("div", { class: "scroll", tabindex: "0", role: "region",
      "aria-label": "Confusion matrix, table" }, h("table", { class: "matrix" },
      h("caption", {}, "Rows: labels. Columns: classes of the chip."),
      h("thead", {}, h("tr", {}, h("td", {}), classes.map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", {}, classes.map((label) => h("tr", {}, h("th", { scope: "row" }, label),
        classes.map((predicted) => cell(label, predicted)))))));
  }

  function pairs(confusion) {
    const wrong = (confusion.cells || []).filter((c) => (c.label || 0) !== (c.predicted || 0))
      .sort((a, b) => b.count - a.count);
    const rows = wrong.slice(0, PAIRS);
    const columns = [
      { title: "label", number: true, value: (c) => c.label || 0, text: (c) => c.label || 0 },
      { title: "taken for", number: true, value: (c) => c.predicted || 0,
        text: (c) => c.predicted || 0 },
      { title: "samples", number: true, value: (c) => c.count, text: (c) => Format.group(c.count) }];
    return [Tables.make({ label: "Classes taken for each other", columns, rows }),
      wrong.length > PAIRS && h("p", { class: "muted" },
        `${Format.count(wrong.length - PAIRS, "more pair", "more pairs")} in the report`)];
  }

  function confusionPart(confusion) {
    if (!confusion || !confusion.classes) return null;
    return [h("h3", {}, "Confusion"),
      confusion.classes <= MATRIX ? matrix(confusion) : pairs(confusion)];
  }

  function make(view) {
    const { accuracy } = view.report;
    if (!accuracy) return null;
    return Panel.section("accuracy", "Accuracy",
      "Measured on the simulated chip. Lines are 95\u00a0% intervals: where the value lies for all " +
      "data of which the samples are a random part.",
      intervals(accuracy), values(accuracy), confusionPart(accuracy.confusion));
  }

  return { make };
})();
