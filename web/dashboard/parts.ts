// Pieces that several pages use.

import type { Job, JobState } from "proto/api";
import { type Child, h } from "../shared/dom";
import * as Format from "../shared/format";

// A text or a node, alone or with a class.
export type Cell = Node | string | [Child, string];

// Whether a job is over.
export const over = (state: JobState | undefined) =>
  state === "SUCCEEDED" || state === "FAILED" || state === "CANCELLED";

export const name = (text: string | undefined) =>
  h("span", { class: "name" }, Format.clean(text || "-"));
export const badge = (state: string | undefined) =>
  h("span", { class: `badge ${Format.clean(state)}` }, Format.lower(Format.clean(state)));

// With the date, unless it is today.
const clock = (time: Date) => (time.toDateString() === new Date().toDateString()
  ? time.toLocaleTimeString() : time.toLocaleString());
export const when = (text: string | undefined) => (text
  ? h("time", { datetime: text, title: text }, clock(new Date(text))) : "-");
export const took = (job: Job) => (job.started
  ? Format.seconds((Date.parse(job.finished || new Date().toISOString()) -
      Date.parse(job.started)) / 1e3)
  : "-");

export const jobLink = (id = "") =>
  h("a", { href: `#/jobs/${encodeURIComponent(id)}`, class: "mono" }, id);

export function table(label: string, titles: Cell[], rows: Cell[][], empty: string) {
  if (rows.length === 0) return h("p", { class: "muted" }, empty);
  const cell = (tag: "th" | "td") => (one: Cell) => (Array.isArray(one)
    ? h(tag, { class: one[1] }, one[0]) : h(tag, {}, one));
  return h("div", { class: "scroll", tabindex: "0", role: "region",
    "aria-label": `${label}, table` }, h("table", {},
    h("caption", { class: "hidden-label" }, label),
    h("thead", {}, h("tr", {}, titles.map(cell("th")))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
}

export const tile = (label: string, value: string, extra = "") => h("div", { class: "tile" },
  h("div", { class: "label" }, label), h("div", { class: "value" }, value),
  h("div", { class: "extra" }, extra));

// `error`: an Error, or an ErrorDetail of the daemon.
export function problem(error: unknown) {
  const { message, what } = error as { message?: string; what?: string };
  return h("p", { class: "callout bad", role: "alert" },
    Format.clean(message || what || String(error)));
}

// Puts nodes into `host`, leaving it alone where nothing has changed, so that a
// selection stays. What has the focus keeps it if it has a data-focus.
export function replace(host: HTMLElement, ...nodes: Child[]) {
  const fresh = h("div", {}, nodes);
  if (host.dataset.drawn === fresh.innerHTML) return;
  host.dataset.drawn = fresh.innerHTML;
  const active = document.activeElement;
  const held = host.contains(active) ? active?.getAttribute("data-focus") : null;
  host.replaceChildren(...fresh.childNodes);
  if (held) {
    host.querySelector<HTMLElement>(`[data-focus="${CSS.escape(held)}"]`)
      ?.focus({ preventScroll: true });
  }
}
