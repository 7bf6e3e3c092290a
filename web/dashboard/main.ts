// Which page is open, and whether the daemon takes jobs.

import { byId, h } from "../shared/dom";
import * as Format from "../shared/format";
import * as Api from "./api";
import * as Compare from "./compare";
import * as Jobs from "./jobs";
import * as Job from "./job";
import * as Daemon from "./daemon";
import * as Others from "./others";

const PAGES = [["#/jobs", "Jobs"], ["#/daemon", "Daemon"], ["#/targets", "Targets"],
  ["#/quarantine", "Quarantine"]];
const HEALTH_MS = 5000;
const main = byId("main");
const health = h("span", { class: "health", role: "status" }, "");
let close = () => {};

function decoded(id: string) {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function open() {
  close();
  const [, page, id] = location.hash.split("/");
  const here = PAGES.find(([href]) => href === `#/${page}`) || PAGES[0];
  byId("contents").replaceChildren(h("ul", {},
    PAGES.map(([href, title]) => h("li", {}, h("a",
      { href, "aria-current": href === here[0] && "page" }, title))),
    h("li", { class: "health" }, health)));
  document.title = `edgekiln: ${here[1].toLowerCase()}`;
  if (page === "daemon") close = Daemon.open(main);
  else if (page === "targets") close = Others.targets(main);
  else if (page === "quarantine") close = Others.quarantine(main);
  else if (page === "jobs" && id) close = Job.open(main, decoded(id));
  else close = Jobs.open(main);
}

async function look() {
  const said = await Api.ready().then(() => ["takes jobs", "passed"],
    (error) => (error instanceof Api.Refusal ? [`takes no jobs: ${error.message}`, "failed"]
      : ["no answer from the daemon", "failed"]));
  health.className = `badge ${said[1]}`;
  if (health.textContent !== Format.clean(said[0])) health.textContent = Format.clean(said[0]);
  setTimeout(look, HEALTH_MS);
}

window.addEventListener("hashchange", open);
open();
look();
Compare.drawBar();
