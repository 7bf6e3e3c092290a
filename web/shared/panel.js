// Sections of the page and how they are announced.
const Panel = (() => {
  const { h, s } = Dom;

  // A section with a title, a line about how to read it, and its content.
  const section = (id, title, about, ...content) =>
    h("section", { id, "aria-labelledby": `${id}-title`, "data-title": title },
      h("h2", { id: `${id}-title` }, title),
      about && h("p", { class: "about" }, about), content);

  const swatch = (style) => s("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" },
    s("rect", { width: 12, height: 12, rx: 2, class: style }));

  // `entries`: pairs of a style and a text.
  const legend = (entries) => h("ul", { class: "legend" },
    entries.map(([style, text]) => h("li", {}, swatch(style), text)));

  const facts = (pairs) => h("dl", { class: "facts" },
    pairs.filter(([, text]) => text).map(([label, text]) =>
      [h("dt", {}, label), h("dd", { class: "name" }, text)]));

  const fold = (title, ...content) =>
    h("details", {}, h("summary", {}, title), content);

  return { section, legend, facts, fold };
})();
