// Tables that sort by a click on a title and filter by text.

import { type Child, h, valueOf } from "./dom";
import * as Format from "./format";

type Value = number | string | null | undefined;

export interface Column<Row> {
  title: string;
  text: (row: Row) => Child;
  value?: (row: Row) => Value;  // To sort by.
  number?: boolean;
  name?: boolean;
  bar?: boolean;
  optional?: boolean;  // Not on phones and paper.
  roomy?: boolean;     // Not on phones.
  change?: (row: Row) => number;  // > 0 is worse.
  hint?: string;
  title_of?: (row: Row) => string;
}

interface Choice<Row> {
  title: string;
  values: string[];
  of: (row: Row) => string;
}

interface Table<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  filter?: (row: Row) => string;  // The text that is searched.
  filterLabel?: string;
  choice?: Choice<Row>;
  foot?: string[];
}

interface State<Row> {
  column: Column<Row> | null;
  descending: boolean;
  text: string;
  choice: string;
}

const isMissing = (value: Value) => value === null || value === undefined || value === "";

// Numbers by size, texts as people sort them; what is missing comes last.
function compare(a: Value, b: Value, descending: boolean) {
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  const order = typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
  return descending ? -order : order;
}

const cellClass = <Row>(column: Column<Row>) => [column.number && "number",
  column.name && "name", column.bar && "bar", column.optional && "optional",
  column.roomy && "roomy"].filter(Boolean).join(" ");

function cell<Row>(column: Column<Row>, row: Row) {
  const change = column.change ? column.change(row) : 0;
  const colour = change > 0 ? " worse" : change < 0 ? " better" : "";
  return h("td", { class: cellClass(column) + colour || null,
    title: column.title_of ? column.title_of(row) : null }, column.text(row));
}

function heading<Row>(column: Column<Row>, state: State<Row>, update: (pressed: boolean) => void) {
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
      update(true);
    } }, column.title));
}

function filterField<Row>(state: State<Row>, update: () => void, label: string) {
  return h("label", {}, label,
    h("input", { type: "search", spellcheck: "false", oninput: (event) => {
      state.text = valueOf(event).toLowerCase();
      update();
    } }));
}

function choiceField<Row>(choice: Choice<Row>, state: State<Row>, update: () => void) {
  return h("label", {}, choice.title,
    h("select", { onchange: (event) => {
      state.choice = valueOf(event);
      update();
    } }, h("option", { value: "" }, "all"),
    choice.values.map((value) => h("option", { value }, Format.clean(value)))));
}

export function make<Row>(wanted: Table<Row>): Child[] {
  const { label, columns, rows, filter, choice, foot } = wanted;
  const state: State<Row> = { column: null, descending: false, text: "", choice: "" };
  const head = h("thead", {});
  const body = h("tbody", {});
  const count = h("span", { class: "count", role: "status" });
  const table = h("table", { "aria-label": label }, head, body);
  if (foot) {
    table.append(h("tfoot", {}, h("tr", {}, columns.map((column, i) =>
      h("td", { class: cellClass(column) || null }, foot[i] || "")))));
  }
  const isShown = (row: Row) =>
    (!state.text || !filter || filter(row).toLowerCase().includes(state.text)) &&
    (!state.choice || !choice || choice.of(row) === state.choice);
  function update(pressed = false) {
    let shown = rows.filter(isShown);
    const value = state.column?.value;
    if (value) {
      shown = [...shown].sort((a, b) => compare(value(a), value(b), state.descending));
    }
    head.replaceChildren(h("tr", {}, columns.map((column) => heading(column, state, update))));
    body.replaceChildren(...shown.map((row) =>
      h("tr", {}, columns.map((column) => cell(column, row)))));
    count.textContent = shown.length === rows.length
      ? Format.count(rows.length, "row", "rows")
      : `${Format.group(shown.length)} of ${Format.count(rows.length, "row", "rows")}`;
    // The button that was pressed is a new one.
    if (pressed) {
      head.querySelector<HTMLElement>(`th[aria-sort]:not([aria-sort="none"]) button`)?.focus();
    }
  }
  update();
  const scroll = h("div", { class: rows.length > 24 ? "scroll tall" : "scroll",
    tabindex: "0", role: "region", "aria-label": `${label}, table` }, table);
  if (!filter) return [scroll];
  const tools = h("div", { class: "tools" },
    filterField(state, update, wanted.filterLabel || "Filter"),
    choice && choice.values.length > 1 && choiceField(choice, state, update), count);
  return [tools, scroll];
}

export const bar = (share: number, style = "") => h("span", { class: `bar-line ${style}`,
  style: { width: `${Math.max(0, Math.min(1, share || 0)) * 100}%` } });
