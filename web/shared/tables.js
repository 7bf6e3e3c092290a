// Tables that sort by a click on a title and filter by text.
const Tables = (() => {
  const { h } = Dom;

  // Numbers by size, texts as people sort them; what is missing comes last.
  function compare(a, b, descending) {
    const missing = (value) => value === null || value === undefined || value === "";
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    const order = typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
    return descending ? -order : order;
  }

  const cellClass = (column) => [column.number && "number", column.name && "name",
    column.bar && "bar", column.optional && "optional", column.roomy && "roomy"].filter(Boolean).join(" ");

  function cell(column, row) {
    const change = column.change ? column.change(row) : 0;
    const colour = change > 0 ? " worse" : change < 0 ? " better" : "";
    return h("td", { class: cellClass(column) + colour || null,
      title: column.title_of ? column.title_of(row) : null }, column.text(row));
  }

  function heading(column, state, update) {
    const sorted = state.column === column;
    if (column.bar || !column.value) {
      return h("th", { scope: "col", class: cellClass(column) || null },
        column.title || h("span", { class: "hidden-label" }, "bar"));
    }
    return h("th", { scope: "col", class: cellClass(column) || null, "data-key": column.title,
      "aria-sort": sorted ? (state.descending ? "descending" : "ascending") : "none" },
      h("button", { type: "button", title: column.hint || null, onclick: () => {
        state.descending = sorted ? !state.descending : Boolean(column.number);
        state.column = column;
        update(column);
      } }, column.title));
  }

  function filterField(state, update, label) {
    return h("label", {}, label,
      h("input", { type: "search", spellcheck: "false", oninput: (event) => {
        state.text = event.target.value.toLowerCase();
        update();
      } }));
  }

  function choiceField(choice, state, update) {
    return h("label", {}, choice.title,
      h("select", { onchange: (event) => {
        state.choice = event.target.value;
        update();
      } }, h("option", { value: "" }, "all"),
      choice.values.map((value) => h("option", { value }, Format.clean(value)))));
  }

  // `columns`: title, text(row), value(row) to sort by, number, name, bar,
  // optional (not on phones and paper), roomy (not on phones), change(row) (> 0 is worse), hint. `filter(row)`:
  // the text that is searched. `choice`: title, values, of(row). `foot`: texts.
  function make({ label, columns, rows, filter, choice, foot, filterLabel }) {
    const state = { column: null, descending: false, text: "", choice: "" };
    const head = h("thead");
    const body = h("tbody");
    const count = h("span", { class: "count", role: "status" });
    const table = h("table", { "aria-label": label }, head, body);
    if (foot) {
      table.append(h("tfoot", {}, h("tr", {}, columns.map((column, i) =>
        h("td", { class: cellClass(column) || null }, foot[i] || "")))));
    }
    function update(pressed) {
      let shown = rows.filter((row) =>
        (!state.text || filter(row).toLowerCase().includes(state.text)) &&
        (!state.choice || choice.of(row) === state.choice));
      if (state.column) {
        const { value } = state.column;
        shown = [...shown].sort((a, b) => compare(value(a), value(b), state.descending));
      }
      head.replaceChildren(h("tr", {}, columns.map((column) => heading(column, state, update))));
      body.replaceChildren(...shown.map((row) =>
        h("tr", {}, columns.map((column) => cell(column, row)))));
      count.textContent = shown.length === rows.length
        ? Format.count(rows.length, "row", "rows")
        : `${Format.group(shown.length)} of ${Format.count(rows.length, "row", "rows")}`;
      // The button that was pressed is a new one.
      if (pressed) head.querySelector(`th[aria-sort]:not([aria-sort="none"]) button`).focus();
    }
    update();
    const scroll = h("div", { class: rows.length > 24 ? "scroll tall" : "scroll",
      tabindex: "0", role: "region", "aria-label": `${label}, table` }, table);
    if (!filter) return [scroll];
    const tools = h("div", { class: "tools" },
      filterField(state, update, filterLabel || "Filter"),
      choice && choice.values.length > 1 && choiceField(choice, state, update), count);
    return [tools, scroll];
  }

  const bar = (share, style) => h("span", { class: `bar-line ${style || ""}`,
    style: { width: `${Math.max(0, Math.min(1, share || 0)) * 100}%` } });

  return { make, bar };
})();
