// Pieces that several pages use.
const Parts = (() => {
  const { h } = Dom;
  const over = (state) => ["SUCCEEDED", "FAILED", "CANCELLED"].includes(state);

  const name = (text) => h("span", { class: "name" }, Format.clean(text || "-"));
  const badge = (state) =>
    h("span", { class: `badge ${Format.clean(state)}` }, Format.lower(Format.clean(state)));
  const when = (text) => (text
    ? h("time", { datetime: text, title: text }, clock(new Date(text))) : "-");
  // With the date, unless it is today.
  const clock = (time) => (time.toDateString() === new Date().toDateString()
    ? time.toLocaleTimeString() : time.toLocaleString());
  const took = (job) => (job.started
    ? Format.seconds((Date.parse(job.finished || new Date().toISOString()) -
        Date.parse(job.started)) / 1e3)
    : "-");

  // `rows`: lists of cells, as [content, class] or content alone.
  function table(label, titles, rows, empty) {
    if (rows.length === 0) return h("p", { class: "muted" }, empty);
    const cell = (tag) => (one) => (Array.isArray(one)
      ? h(tag, { class: one[1] }, one[0]) : h(tag, {}, one));
    return h("div", { class: "scroll", tabindex: "0", role: "region",
      "aria-label": `${label}, table` }, h("table", {},
      h("caption", { class: "hidden-label" }, label),
      h("thead", {}, h("tr", {}, titles.map(cell("th")))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
  }

  const tile = (label, value, extra = "") => h("div", { class: "tile" },
    h("div", { class: "label" }, label), h("div", { class: "value" }, value),
    h("div", { class: "extra" }, extra));

  const problem = (error) => h("p", { class: "callout bad", role: "alert" },
    Format.clean(error.message || String(error)));

  // Puts nodes into `host`, leaving it alone where nothing has changed, so that a
  // selection or the focus stays.
  function replace(host, ...nodes) {
    const fresh = h("div", {}, nodes);
    if (host.dataset.drawn === fresh.innerHTML) return;
    host.dataset.drawn = fresh.innerHTML;
    host.replaceChildren(...fresh.childNodes);
  }

  return { over, name, badge, when, took, table, tile, problem, replace };
})();
