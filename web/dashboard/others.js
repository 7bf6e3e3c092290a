// Pages that are one table each.
const Others = (() => {
  const { h } = Dom;

  // Draws once, or says why not.
  function page(main, title, about, make) {
    let closed = false;
    const body = h("div", {});
    main.replaceChildren(h("h1", {}, title), h("p", { class: "about muted" }, about), body);
    make().then((nodes) => { if (!closed) body.replaceChildren(nodes); })
      .catch((error) => { if (!closed) body.replaceChildren(Parts.problem(error)); });
    return () => { closed = true; };
  }

  const targets = (main) => page(main, "Targets", "Chips that this daemon knows by name.",
    async () => Parts.table("Targets", ["Name", "What it is", "Recipes"],
      ((await Api.targets()).targets || []).map((target) => [
        h("span", { class: "mono" }, Format.clean(target.name)), Format.clean(target.doc || ""),
        (target.recipes || []).map((recipe) => Format.clean(recipe.name)).join(", ")]),
      "There are none."));

  const quarantine = (main) => page(main, "Quarantine",
    "Stages that failed again and again on our side, and are not tried again.",
    async () => Parts.table("Quarantine", ["Stage", "Since", "Why", ""],
      ((await Api.quarantine()).stages || []).map((stage) => [
        Format.clean(stage.stage || ""), Parts.when(stage.since),
        Format.clean(stage.error?.what || ""),
        h("button", { onclick: async ({ target }) => {
          target.disabled = true;
          await Api.release(stage.id).then(() => quarantine(main),
            (error) => target.after(Parts.problem(error)));
        } }, "Try again")]),
      "Nothing is in quarantine."));

  return { targets, quarantine };
})();
