// Reports chosen to be compared. The choice stays while pages change, until the
// tab is closed; a bar at the bottom shows it.

import { byId, h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Parts from "./parts";

const KEY = "edgekiln.compare";
export const MOST = 16;  // One, and RenderReportRequest.beside.

export interface Chosen {
  name: string;   // "JOB/TARGET".
  label: string;  // For people.
}

// What sessionStorage has; other contents than ours are dropped.
export function parsed(text: string | null): Chosen[] {
  try {
    const all: unknown = JSON.parse(text || "[]");
    if (!Array.isArray(all)) return [];
    return all.filter((one): one is Chosen => typeof one?.label === "string" &&
      /^[^/]+\/\d+$/.test(one?.name)).slice(0, MOST);
  } catch {
    return [];
  }
}

// Without `names`; or with those of `wanted` at the end, as far as there is room.
export const without = (chosen: Chosen[], names: string[]) =>
  chosen.filter((one) => !names.includes(one.name));
export const withMore = (chosen: Chosen[], wanted: Chosen[]) =>
  [...without(chosen, wanted.map((one) => one.name)), ...wanted].slice(0, MOST);

let chosen: Chosen[] | null = null;

function current() {
  if (chosen) return chosen;
  try {
    chosen = parsed(sessionStorage.getItem(KEY));
  } catch {
    chosen = [];  // The browser allows no storage.
  }
  return chosen;
}

const isChosen = (name: string) => current().some((one) => one.name === name);

function choose(next: Chosen[]) {
  chosen = next;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // The choice stays for this page.
  }
  for (const box of document.querySelectorAll<HTMLInputElement>("input[data-reports]")) {
    const names = (box.dataset.reports || "").split(" ");
    const missing = names.filter((name) => !isChosen(name)).length;
    box.checked = missing === 0;
    box.indeterminate = missing > 0 && missing < names.length;
    box.disabled = next.length + missing > MOST;
  }
  drawBar();
}

// A box that chooses `reports`, all or none of them. `about`: what they are of.
export function toggle(reports: Chosen[], about: string) {
  const names = reports.map((one) => one.name);
  const checked = names.every(isChosen);
  return h("label", { class: "pick" }, h("input", { type: "checkbox", checked,
    disabled: !checked && current().length >= MOST, "data-reports": names.join(" "),
    "data-focus": names[0], "aria-label": `Compare ${Format.clean(about)}`,
    onchange: (event) => {
      const on = (event.target as HTMLInputElement).checked;
      choose(on ? withMore(current(), reports) : without(current(), names));
    } }), h("span", { "aria-hidden": "true" }, "Compare"));
}

// Of a column of boxes.
export const heading = () => h("span", { class: "hidden-label" }, "Compare");

// With the job where the same model was on the same target twice.
export const labelsOf = (all: Chosen[]) => all.map(({ name, label }) => {
  const several = all.filter((one) => one.label === label).length > 1;
  return Format.clip(label, 44) + (several ? `, job ${Format.clean(name.split("/")[0])}` : "");
});

export function drawBar() {
  const all = current();
  const bar = byId("compare");
  bar.hidden = all.length === 0;
  if (all.length === 0) return Parts.replace(bar);
  const labels = labelsOf(all);
  const item = ({ name }: Chosen, i: number) => h("li", {},
    h("span", { class: "name" }, labels[i]),
    h("button", { type: "button", "aria-label": `Leave out ${labels[i]}`,
      onclick: () => {
        choose(without(current(), [name]));
        // This button is gone.
        (bar.querySelector("button") || byId("main")).focus();
      } }, "\u00d7"));
  return Parts.replace(bar, h("ul", {}, all.map(item)), h("div", { class: "tools" },
    all.length < 2
      ? h("span", { class: "muted", role: "status" }, "Choose another report to compare with.")
      : h("a", { class: "button", href: Api.renderedAt(all.map(({ name }) => name), "html") },
        all.length === 2 ? `Compare ${labels[0]} with ${labels[1]}`
          : `Compare ${Format.group(all.length)} reports`),
    h("button", { type: "button", onclick: () => choose([]) }, "Clear")));
}
