// One box beside the pointer, or beside what has the focus.

import { type Attributes, h } from "./dom";

const box = h("div", { class: "tip", role: "status", hidden: true });

function place(x: number, y: number) {
  const margin = 12;
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = Math.min(x + margin, window.innerWidth - width - 4);
  const above = y + margin + height > window.innerHeight;
  box.style.setProperty("left", `${Math.max(4, left)}px`);
  box.style.setProperty("top", `${Math.max(4, above ? y - height - margin : y + margin)}px`);
}

// A bold line, then one for each text.
export function show(x: number, y: number, title: string, lines: string[]) {
  if (!box.parentNode) document.body.append(box);
  box.replaceChildren(h("b", {}, title), ...lines.map((line) => h("div", {}, line)));
  box.hidden = false;
  place(x, y);
}

export const hide = () => { box.hidden = true; };

// Handlers for a mark that has something to tell.
export function of(title: string, lines: string[]): Attributes {
  const beside = (event: Event) => {
    const area = (event.target as Element).getBoundingClientRect();
    show(area.right, area.top, title, lines);
  };
  return { onpointermove: (event) => show(event.clientX, event.clientY, title, lines),
    onpointerleave: hide, onfocus: beside, onblur: hide };
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});
