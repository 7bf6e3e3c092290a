// Elements from attributes and text. No markup is ever parsed, so that a name
// out of a model stays text.
const Dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (typeof value === "function") {
        node.addEventListener(name.slice(2), value);
      } else if (name === "style") {
        for (const [key, text] of Object.entries(value)) {
          node.style.setProperty(key, text);
        }
      } else {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    const there = (child) =>
      child !== null && child !== undefined && child !== false;
    node.append(...children.flat(Infinity).filter(there));
    return node;
  }

  const h = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  // A drawing of that size in pixels, which shrinks with the paper.
  const drawing = (width, height, label, className, ...children) =>
    s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": label, class: className }, ...children);

  // Calls draw(width) now and when the width of `host` changes.
  function responsive(host, draw) {
    let last = 0;
    const update = () => {
      const width = Math.floor(host.clientWidth);
      if (width < 50 || width === last) return;
      last = width;
      draw(width);
    };
    new ResizeObserver(update).observe(host);
    return update;
  }

  return { h, s, drawing, responsive };
})();
