// The rows of a sweep. They come as lists, in the order of FIELDS, and texts as
// indices, so that thousands fit a page.
const Data = (() => {
  const FIELDS = ["cell", "state", "model", "target", "recipe", "values", "cycles",
    "latency_ms", "bytes", "accuracy", "metric", "same_as", "best", "front", "note"];
  const TEXTS = new Set(["state", "model", "target", "recipe", "metric", "note"]);

  function rowOf(list, texts) {
    const row = {};
    FIELDS.forEach((field, i) => {
      row[field] = TEXTS.has(field) ? Format.clean(texts[list[i]]) : list[i];
    });
    row.values = row.values.map((index) => (index < 0 ? null : Format.clean(texts[index])));
    return row;
  }

  // What rows differ in: a name, and of(row).
  function dimensionsOf(rows, keys) {
    const fixed = ["model", "target", "recipe"].map((name) => ({ name, of: (row) => row[name] }));
    const varied = keys.map((key, i) => ({ name: Format.clean(key), of: (row) => row.values[i] }));
    const differs = ({ of }) => rows.some((row) => of(row) !== of(rows[0]));
    return [...fixed.filter(differs), ...varied];
  }

  // What is measured: a name, of(row), and its text. Less is better, unless
  // `more` says otherwise.
  function measuresOf(rows, memories) {
    const measures = [{ name: "cycles", of: (row) => row.cycles, text: Format.group },
      ...memories.map((name, i) => ({ name: Format.clean(name), of: (row) => row.bytes[i],
        text: Format.bytes }))];
    const metric = rows.map((row) => row.metric).find((name) => name) || "";
    if (rows.some((row) => row.accuracy !== null)) {
      measures.push({ name: metric || "accuracy", more: !["mse", "mae"].includes(metric),
        of: (row) => row.accuracy, text: (value) => (["mse", "mae", "cosine", "auc"].includes(metric)
          ? Format.significant(value, 4) : Format.percent(value, 2)) });
    }
    return measures;
  }

  const isNumber = (value) => typeof value === "number" && isFinite(value);

  function read() {
    const all = JSON.parse(document.getElementById("data").textContent);
    const rows = all.rows.map((list) => rowOf(list, all.texts));
    const done = rows.filter((row) => isNumber(row.cycles));
    return { ...all, rows, done, keys: all.keys,
      dimensions: dimensionsOf(rows, all.keys), measures: measuresOf(done, all.memories) };
  }

  return { read, isNumber };
})();
