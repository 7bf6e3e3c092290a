// Puts the page together.

import { byId, h, nodesOf } from "../shared/dom";
import * as Format from "../shared/format";
import * as Data from "./data";
import * as Summary from "./summary";
import * as Layers from "./layers";
import * as Timeline from "./timeline";
import * as Memory from "./memory";
import * as Roofline from "./roofline";
import * as Graph from "./graph";
import * as Accuracy from "./accuracy";
import * as Quantization from "./quantization";
import * as Stages from "./stages";
import * as Compare from "./compare";

const { views, diffs } = Data.read();
const main = byId("main");

function contents() {
  const items = [...main.querySelectorAll<HTMLElement>("section")].map((section) =>
    h("li", {}, h("a", { href: `#${section.id}` }, section.dataset.title)));
  byId("contents").replaceChildren(h("ul", {}, items));
}

// `pressed`: by a button of the table of reports, which is drawn anew.
function showBody(index: number, pressed = false) {
  const view = views[index];
  const parts = [
    views.length > 1 && Compare.overview(views, index, (other) => show(other, true)),
    views.length > 1 && Compare.make(views, diffs, index),
    Layers.make(view), Timeline.make(view), Memory.make(view), Roofline.make(view),
    Graph.make(view), Accuracy.make(view), Quantization.make(view), Stages.make(view)];
  main.replaceChildren(...nodesOf(parts));
  contents();
  if (pressed) main.querySelector<HTMLElement>("#reports [aria-pressed=true]")?.focus();
  byId("foot").replaceChildren(
    `Made by edgekiln ${Format.clean(view.report.version || "")} from the report alone. ` +
    "A thin space groups digits; KiB and MiB are powers of 1024.");
}

function showHead(index: number) {
  byId("head").replaceChildren(...nodesOf(Summary.make(views[index])));
}

function show(index: number, pressed = false) {
  showHead(index);
  showBody(index, pressed);
}

// Calls `draw` once a frame has been drawn without it, or before the page is printed.
function afterFrame(draw: () => void) {
  let drawn = false;
  const once = () => {
    if (!drawn) draw();
    drawn = true;
  };
  addEventListener("beforeprint", once);
  requestAnimationFrame(() => setTimeout(once));
}

// A report of many layers shows its head first: the rest of a thousand takes a
// second. The browser looks for the part after `#` before that exists.
function showHeadFirst() {
  showHead(0);
  byId("foot").replaceChildren("The rest of the report is being drawn.");
  afterFrame(() => {
    showBody(0);
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  });
}

const MANY_LAYERS = 200;
const layers = views.reduce((sum, view) => sum + view.layers.length, 0);
if (layers > MANY_LAYERS && !document.hidden) showHeadFirst();
else show(0);
