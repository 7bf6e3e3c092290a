// Puts the page together.
const { views, diffs } = Data.read();
const main = document.getElementById("main");

function contents() {
  const items = [...main.querySelectorAll("section")].map((section) =>
    Dom.h("li", {}, Dom.h("a", { href: `#${section.id}` }, section.dataset.title)));
  document.getElementById("contents").replaceChildren(Dom.h("ul", {}, items));
}

// `pressed`: by a button of the table of reports, which is drawn anew.
function show(index, pressed = false) {
  const view = views[index];
  document.getElementById("head").replaceChildren(...Summary.make(view).flat(2).filter(Boolean));
  const parts = [
    views.length > 1 && Compare.overview(views, index, (other) => show(other, true)),
    views.length > 1 && Compare.make(views, diffs, index),
    Layers.make(view), Timeline.make(view), Memory.make(view), Roofline.make(view),
    Graph.make(view), Accuracy.make(view), Quantization.make(view), Stages.make(view)];
  main.replaceChildren(...parts.filter(Boolean));
  contents();
  if (pressed) main.querySelector("#reports [aria-pressed=true]").focus();
  document.getElementById("foot").replaceChildren(
    `Made by edgekiln ${Format.clean(view.report.version || "")} from the report alone. ` +
    "A thin space groups digits; KiB and MiB are powers of 1024.");
}

show(0);
