// Pages that are one table each.

import { h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Parts from "./parts";

// Draws once, or says why not.
function page(main: HTMLElement, title: string, about: string, make: () => Promise<Node>) {
  let closed = false;
  const body = h("div", {});
  main.replaceChildren(h("h1", {}, title), h("p", { class: "about muted" }, about), body);
  make().then((nodes) => { if (!closed) body.replaceChildren(nodes); })
    .catch((error) => { if (!closed) body.replaceChildren(Parts.problem(error)); });
  return () => { closed = true; };
}

export const targets = (main: HTMLElement) => page(main, "Targets",
  "Chips that this daemon knows by name.",
  async () => Parts.table("Targets", ["Name", "What it is", "Recipes"],
    ((await Api.targets()).targets || []).map((target): Parts.Cell[] => [
      h("span", { class: "mono" }, Format.clean(target.name)), Format.clean(target.doc),
      (target.recipes || []).map((recipe) => Format.clean(recipe.name)).join(", ")]),
    "There are none."));

export const quarantine = (main: HTMLElement): (() => void) => page(main, "Quarantine",
  "Stages that failed again and again on our side, and are not tried again.",
  async () => Parts.table("Quarantine", ["Stage", "Since", "Why", ""],
    ((await Api.quarantine()).stages || []).map((stage): Parts.Cell[] => [
      Format.clean(stage.stage || ""), Parts.when(stage.since),
      Format.clean(stage.error?.what || ""),
      h("button", { onclick: async (event) => {
        const button = event.target as HTMLButtonElement;
        button.disabled = true;
        await Api.release(stage.id || "").then(() => quarantine(main),
          (error) => button.after(Parts.problem(error)));
      } }, "Try again")]),
    "Nothing is in quarantine."));
