// A browser, and what every page must keep whatever it shows.

import fs from "node:fs";
import { createRequire } from "node:module";

// Where npm has put the packages.
const require = createRequire(`${process.cwd()}/node_modules/`);
const { chromium } = require("playwright-core");
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const WIDTHS = [1400, 400];

let failures = 0;

export function check(holds, what, output = "") {
  if (holds) return;
  ++failures;
  console.log("FAILED:", what);
  if (output) console.log(output);
}

export const failed = () => failures;

export const equal = (got, want, what) => check(
  JSON.stringify(got) === JSON.stringify(want), what,
  `got  ${JSON.stringify(got)}\nwant ${JSON.stringify(want)}`);

// Calls `use` with a page of the browser. Every error of its scripts, every
// refusal of its Content-Security-Policy and every request to elsewhere than
// `origin` is a failure; `bearable` is what its console may say.
export async function withPage(browser, { origin, width = 1400, dark = false, bearable }, use) {
  const context = await browser.newContext({ viewport: { width, height: 900 },
    colorScheme: dark ? "dark" : "light", bypassCSP: false });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => check(false, "no script fails", String(error)));
  page.on("console", (line) => check(line.type() !== "error" ||
    (bearable && bearable.test(line.text())), "the console is quiet", line.text()));
  page.on("request", (request) => check(request.url().startsWith(origin) ||
    request.url().startsWith("data:"), "nothing is loaded from elsewhere", request.url()));
  page.on("dialog", (dialog) => {
    check(false, "no name becomes a script", dialog.message());
    dialog.dismiss();
  });
  try {
    await use(page);
  } catch (error) {
    check(false, "the page can be used", String(error.stack || error));
  } finally {
    await context.close();
  }
}

export const launch = (executable) => chromium.launch({ executablePath: executable,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });

// Nothing is cut off at the side, and no text by its own box.
export async function fits(page, what) {
  // What is not laid out yet would have no width.
  await page.evaluate(() => document.querySelectorAll("section").forEach((section) => {
    section.style.contentVisibility = "visible";
  }));
  const wide = await page.evaluate(() =>
    document.documentElement.scrollWidth - window.innerWidth);
  check(wide <= 0, `${what}: nothing is wider than the window`, `${wide} pixels`);
  const cut = await page.evaluate(() => [...document.querySelectorAll(
    "h1, h2, h3, p, li, td, th, dd, dt, button, .tile .value, .tile .label, .badge")]
    .filter((node) => {
      const style = getComputedStyle(node);
      return style.overflowX === "hidden" && style.textOverflow !== "ellipsis" &&
        node.scrollWidth > node.clientWidth + 1 && node.getClientRects().length > 0;
    }).map((node) => node.outerHTML.slice(0, 200)));
  equal(cut, [], `${what}: no text is cut`);
}

// Axe finds nothing serious.
export async function accessible(page, what) {
  // Not by addScriptTag(): the page's policy allows no scripts but its own.
  await page.evaluate(AXE);
  const violations = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, help, nodes }) => `${id}: ${help}: ` +
        nodes.slice(0, 3).map((node) => node.html).join(" | ")));
  equal(violations, [], `${what}: axe`);
}
