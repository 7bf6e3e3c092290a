// Sections of the page and how they are announced.

import { type Child, h, s } from "./dom";

// A section with a title, a line about how to read it, and its content.
export const section = (id: string, title: string, about: string | null, ...content: Child[]) =>
  h("section", { id, "aria-labelledby": `${id}-title`, "data-title": title },
    h("h2", { id: `${id}-title` }, title),
    about && h("p", { class: "about" }, about), content);

const swatch = (style: string) => s("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" },
  s("rect", { width: 12, height: 12, rx: 2, class: style }));

// `entries`: pairs of a style and a text.
export const legend = (entries: [string, string][]) => h("ul", { class: "legend" },
  entries.map(([style, text]) => h("li", {}, swatch(style), text)));

// Pairs of a label and a text; those without a text are left out.
export const facts = (pairs: [string, string][]) => h("dl", { class: "facts" },
  pairs.filter(([, text]) => text).map(([label, text]) =>
    [h("dt", {}, label), h("dd", { class: "name" }, text)]));

export const fold = (title: string, ...content: Child[]) =>
  h("details", {}, h("summary", {}, title), content);
