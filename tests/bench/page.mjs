// usage: node page.mjs CHROMIUM TURNS SMALL.html LARGE.html
// Milliseconds until a page is first drawn and until all of it is there, and of
// CPU time of its main thread for each step of zooming and moving; medians over
// turns.

import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [executable, turns, ...files] = process.argv.slice(2);
const STEPS = 20;

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function taskSeconds(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

// Until two frames later: all that a key caused has been drawn.
const drawn = (page) => page.evaluate(() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done))));

async function steps(page, session, keys) {
  const took = [];
  for (let i = 0; i < STEPS; ++i) {
    const before = await taskSeconds(session);
    await page.keyboard.press(keys[i % keys.length]);
    await drawn(page);
    took.push(1e3 * (await taskSeconds(session) - before));
  }
  return took;
}

async function measure(browser, file) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  await page.goto(pathToFileURL(file).href);
  const paint = await page.evaluate(() => new Promise((done) => {
    const look = () => {
      const [entry] = performance.getEntriesByName("first-contentful-paint");
      if (entry) done(entry.startTime);
      else setTimeout(look, 10);
    };
    look();
  }));
  await page.locator("#timeline").waitFor();
  const all = await page.evaluate(() => performance.now());
  await page.locator("#timeline [tabindex='0']").first().focus();
  const zoom = await steps(page, session, ["+"]);
  const move = await steps(page, session, ["ArrowRight", "ArrowLeft"]);
  const out = await steps(page, session, ["0", "+"]);
  const text = await page.locator("#timeline").innerText();
  await context.close();
  return { paint, all, zoom: median(zoom), move: median(move), whole: Math.max(...out), text };
}

const browser = await launch(executable);
try {
  for (const file of files) {
    const all = [];
    for (let turn = 0; turn < Number(turns); ++turn) all.push(await measure(browser, file));
    const of = (key) => median(all.map((one) => one[key])).toFixed(1);
    console.log(`${(fs.statSync(file).size / 1024).toFixed(0)} KiB: first paint ${of("paint")} ms, all of it ${of("all")} ms; ` +
      `CPU per step: zoom ${of("zoom")} ms, move ${of("move")} ms, ` +
      `slowest back to all ${of("whole")} ms`);
  }
} finally {
  await browser.close();
}
