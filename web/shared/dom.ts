// Elements from attributes and text. No markup is ever parsed, so that a name
// out of a model stays text.

const SVG = "http://www.w3.org/2000/svg";

export type Child = Node | string | number | boolean | null | undefined | Child[];

type Handlers = {
  [K in keyof GlobalEventHandlersEventMap as `on${K}`]?:
    (event: GlobalEventHandlersEventMap[K]) => unknown;
};

// Attributes, handlers as "onclick", and properties of its style. What is false
// or absent is left out.
export interface Attributes extends Handlers {
  style?: Record<string, string>;
  [name: string]: string | number | boolean | null | undefined | Record<string, string> |
    ((event: never) => unknown);
}

// Without what is absent.
export const nodesOf = (children: Child[]): (Node | string)[] => children.flatMap((child) => {
  if (child === null || child === undefined || typeof child === "boolean") return [];
  if (Array.isArray(child)) return nodesOf(child);
  return typeof child === "number" ? String(child) : child;
});

function fill<T extends HTMLElement | SVGElement>(node: T, attributes: Attributes,
  children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") {
      node.addEventListener(name.slice(2), value as EventListener);
    } else if (typeof value === "object") {
      for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...nodesOf(children));
  return node;
}

export const h = <K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes,
  ...children: Child[]) => fill(document.createElement(tag), attributes, children);
export const s = <K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes,
  ...children: Child[]) => fill(document.createElementNS(SVG, tag), attributes, children);

// Of the page's own markup.
export const byId = (id: string) => document.getElementById(id)!;

// What is chosen or typed in the field that an event comes from.
export const valueOf = (event: Event) =>
  (event.target as HTMLInputElement | HTMLSelectElement).value;

// A drawing of that size in pixels, which shrinks with the paper.
export const drawing = (width: number, height: number, label: string, className: string,
  ...children: Child[]) => s("svg", { viewBox: `0 0 ${width} ${height}`, width, height,
  role: "img", "aria-label": label, class: className }, ...children);

// Calls draw(width) now and when the width of `host` changes.
export function responsive(host: Element, draw: (width: number) => void) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(host.clientWidth);
    if (width < 50 || width === last) return;
    last = width;
    draw(width);
  }).observe(host);
}
