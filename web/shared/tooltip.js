// One box beside the pointer, or beside what has the focus.
const Tooltip = (() => {
  const box = Dom.h("div", { class: "tip", role: "status", hidden: true });

  function place(x, y) {
    const margin = 12;
    const { offsetWidth: width, offsetHeight: height } = box;
    const left = Math.min(x + margin, window.innerWidth - width - 4);
    const above = y + margin + height > window.innerHeight;
    box.style.setProperty("left", `${Math.max(4, left)}px`);
    box.style.setProperty("top", `${Math.max(4, above ? y - height - margin : y + margin)}px`);
  }

  // A bold line, then one for each text.
  function show(x, y, title, lines) {
    if (!box.parentNode) document.body.append(box);
    box.replaceChildren(Dom.h("b", {}, title),
      ...lines.map((line) => Dom.h("div", {}, line)));
    box.hidden = false;
    place(x, y);
  }

  const hide = () => { box.hidden = true; };

  // Handlers for a mark that has something to tell.
  function of(title, lines) {
    const beside = (event) => {
      const area = event.target.getBoundingClientRect();
      show(area.right, area.top, title, lines);
    };
    return { onpointermove: (event) => show(event.clientX, event.clientY, title, lines),
      onpointerleave: hide, onfocus: beside, onblur: hide };
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  return { show, hide, of };
})();
