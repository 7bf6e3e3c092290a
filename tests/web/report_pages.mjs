// Pages of reports: what stands on the screen is what the report says, and all
// that can be pressed does what it says.

import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { accessible, check, equal, fits, WIDTHS, withPage } from "./browser.mjs";

const numberOf = (text) => Number(text.replace(/[^0-9.\u2212-]/g, "").replace("\u2212", "-"));
const texts = (locator) => locator.allInnerTexts();

// Column of the table of layers with that title, as it is shown now.
async function column(page, title) {
  const titles = (await texts(page.locator("#layers thead th"))).map((text) => text.trim().toLowerCase());
  const at = titles.indexOf(title.toLowerCase());
  check(at >= 0, `the layers have a column ${title}`, titles.join(" | "));
  return texts(page.locator(`#layers tbody tr td:nth-child(${at + 1})`));
}

async function layers(page, report) {
  const all = report.layers;
  equal(await column(page, "layer"), all.map((layer) => layer.id), "layers in their order");
  equal((await column(page, "cycles")).map(numberOf), all.map((layer) => layer.cycles || 0),
    "cycles of each layer");
  const sort = page.locator("#layers th[data-key=cycles] button");
  await sort.click();
  const descending = (await column(page, "cycles")).map(numberOf);
  equal(descending, [...descending].sort((a, b) => b - a), "a click sorts, the largest first");
  await page.locator("#layers th[data-key=cycles] button").click();
  const ascending = (await column(page, "cycles")).map(numberOf);
  equal(ascending, [...descending].sort((a, b) => a - b), "another one the other way round");
  check(await page.evaluate(() => document.activeElement.textContent === "cycles"),
    "the focus stays on the title");
  const some = all[all.length - 1].id;
  await page.locator("#layers input[type=search]").fill(some);
  const found = await column(page, "layer");
  check(found.includes(some) && found.length < all.length, "Find filters", found.join(" "));
  await page.locator("#layers input[type=search]").fill("");
  const engines = [...new Set(all.map((layer) => layer.engine))];
  if (engines.length > 1) {
    await page.locator("#layers select").selectOption(engines[0]);
    equal(new Set(await column(page, "layer")),
      new Set(all.filter((layer) => layer.engine === engines[0]).map((layer) => layer.id)),
      "Engine filters");
    await page.locator("#layers select").selectOption("");
  }
}

async function timeline(page, report) {
  const host = page.locator("#timeline .figure, #timeline [tabindex='0']").first();
  const range = async () => (await page.locator("#timeline").innerText())
    .match(/cycles ([\d\u202f]+) to ([\d\u202f]+)/).slice(1).map(numberOf);
  const whole = await range();
  equal(whole[0], 0, "the timeline begins at 0");
  const last = Math.max(...report.engines.flatMap((engine) =>
    (engine.segments || []).map((segment) => segment.end)));
  check(whole[1] >= last, "and holds the last segment", `${whole} ${last}`);
  await host.focus();
  await page.keyboard.press("+");
  const zoomed = await range();
  check(zoomed[1] - zoomed[0] <= whole[1] / 2 + 1, "+ zooms", `${whole} ${zoomed}`);
  await page.keyboard.press("ArrowRight");
  const moved = await range();
  check(moved[0] > zoomed[0], "an arrow moves", `${zoomed} ${moved}`);
  await page.keyboard.press("0");
  equal(await range(), whole, "0 shows all");
  const rows = report.engines.reduce((sum, engine) =>
    sum + new Set((engine.segments || []).map((segment) => segment.unit || 0)).size, 0);
  equal(await page.locator("#timeline svg rect.row").count(), rows, "a row for each unit");
}

async function graph(page, report) {
  const items = page.locator("#graph ol > li");
  const before = await items.count();
  const fold = page.locator("#graph button[aria-expanded]").first();
  if (await fold.count() === 0) return;
  await page.locator("#graph .tools button", { hasText: "unfold all" }).click();
  const open = await items.count();
  check(open >= report.layers.length, "unfolded, every layer has a row", `${before} ${open}`);
  await page.locator("#graph button[aria-expanded=true]").first().click();
  check(await items.count() < open, "a group folds");
  await page.locator("#graph .tools button", { hasText: /^fold all/ }).click();
  equal(await page.locator("#graph button[aria-expanded=true]").count(), 0, "all fold");
}

async function memory(page, report) {
  const text = (await page.locator("#memory").innerText()).replace(/[\u00a0\u202f]/g, " ");
  for (const use of report.memory.memories) {
    check(text.includes(use.name), `the memory ${use.name} is there`, text);
  }
  const drawn = await page.locator("#memory svg rect.tensor").count();
  check(drawn > 0, "tensors are drawn");
}

async function accuracy(page, report) {
  if (!report.accuracy) return;
  const text = (await page.locator("#accuracy").innerText()).replace(/[\u00a0\u202f]/g, " ");
  check(text.includes((report.accuracy.value * 100).toFixed(2)), "the accuracy", text);
  for (const end of ["low", "high"]) {
    check(text.includes((report.accuracy.interval[end] * 100).toFixed(1)),
      `its interval: ${end}`, text);
  }
}

async function whole(page, report) {
  const cycles = page.locator("#head .tile", { hasText: /^cycles/i }).locator(".value");
  equal(numberOf(await cycles.innerText()), report.totals.cycles, "cycles in the head");
  await layers(page, report);
  await timeline(page, report);
  await graph(page, report);
  await memory(page, report);
  await accuracy(page, report);
}

async function compare(page, reports, diff) {
  const pressed = page.locator("#reports [aria-pressed=true]");
  check((await pressed.innerText()).includes(reports[0].target_name), "the first one is shown");
  await page.locator("#reports button[aria-pressed]").nth(1).click();
  const cycles = page.locator("#head .tile", { hasText: /^cycles/i }).locator(".value");
  equal(numberOf(await cycles.innerText()), reports[1].totals.cycles, "a press shows the other");
  const row = page.locator("#changes table").first().locator("tr", { hasText: /^cycles/ });
  equal((await texts(row.locator("td"))).slice(1, 4).map(numberOf),
    [diff.a, diff.b, diff.change], "what changed is what report diff says");
}

// Waits until so many cells are drawn; not by waitForFunction(), whose eval the
// page's policy forbids.
async function shows(page, enough) {
  for (let left = 100; left > 0; --left) {
    if (enough(await page.locator("#front circle").count())) return;
    await page.waitForTimeout(50);
  }
}

// The page of a sweep; `rows` are those of `sweep show --json`.
async function sweepPage(page, rows) {
  const done = rows.filter((row) => row.state === "done");
  const shown = page.locator("#cells tbody tr");
  equal(await shown.count(), rows.length, "a row for each cell");
  const titles = (await texts(page.locator("#cells thead th"))).map((text) => text.trim().toLowerCase());
  const cycles = titles.indexOf("cycles");
  equal((await texts(page.locator(`#cells tbody tr td:nth-child(${cycles + 1})`))).slice(0, done.length)
    .map(numberOf), done.map((row) => row.report.totals.cycles), "cycles of each cell");
  const front = await page.locator("#cells tbody tr", { hasText: "front" }).count();
  equal(await page.locator("#front circle.front").count(), front, "the front is drawn");
  check(front > 0 && front < done.length, "some cells are on the front", String(front));
  equal(await page.locator("#front circle").count(), done.length, "a point for each cell");
  // One value of the first key, by its field; then by dragging along its axis.
  const key = page.locator("#parallel select").first();
  const value = await key.locator("option").nth(1).textContent();
  const name = (await key.locator("xpath=..").innerText()).split("\n")[0].trim();
  const wanted = done.filter((row) => row.values[name] === value).length;
  await key.selectOption({ label: value });
  await shows(page, (count) => count === wanted);
  equal(await page.locator("#front circle").count(), wanted, "a choice keeps its cells");
  equal(numberOf((await page.locator("#parallel .count").innerText()).split(" of ")[0]), wanted,
    "and counts them");
  await page.locator("#parallel button", { hasText: "show all" }).click();
  await shows(page, (count) => count === done.length);
  equal(await page.locator("#front circle").count(), done.length, "all are shown again");
  const area = await page.locator("#parallel svg.parallel").boundingBox();
  await page.mouse.move(area.x + 12, area.y + area.height - 10);
  await page.mouse.down();
  await page.mouse.move(area.x + 12, area.y + area.height / 2);
  await page.mouse.up();
  await shows(page, (count) => count < done.length);
  const kept = await page.locator("#front circle").count();
  check(kept > 0 && kept < done.length, "dragging along an axis keeps some", String(kept));
}

// A page whose head is drawn first: the rest follows, the part after `#` comes
// into view, and nothing is missing on paper.
async function largePage(page, { html, layers }) {
  await page.goto(`${pathToFileURL(html).href}#stages`);
  await page.locator("#stages").waitFor();
  equal(await page.locator("#layers tbody tr").count(), layers, "a row for each layer");
  const place = await page.locator("#stages").boundingBox();
  check(place.y >= 0 && place.y < 900, "the part after # is in view", JSON.stringify(place));
  await page.addInitScript(() => {
    window.requestAnimationFrame = () => 0;  // As long as no frame is drawn.
  });
  await page.reload();
  equal(await page.locator("#layers tbody tr").count(), 0, "the head comes first");
  await page.pdf();
  equal(await page.locator("#layers tbody tr").count(), layers, "all of it is printed");
}

// `files`: {one, two: {html, reports, diff}, hostile, large: {html, layers},
// sweep: {html, rows}}.
export async function checkReportPages(browser, files, shots) {
  const origin = "file:///";
  const go = (page, file) => page.goto(pathToFileURL(file).href);
  for (const width of WIDTHS) {
    await withPage(browser, { origin, width }, async (page) => {
      await go(page, files.one.html);
      await fits(page, `a report at ${width}`);
      if (shots) await page.screenshot({ path: `${shots}/report_${width}.png` });
      if (width === WIDTHS[0]) await whole(page, files.one.reports[0]);
      await accessible(page, `a report at ${width}`);
    });
  }
  await withPage(browser, { origin, dark: true }, async (page) => {
    await go(page, files.two.html);
    await fits(page, "two reports");
    await accessible(page, "two reports, dark");
    if (shots) await page.screenshot({ path: `${shots}/compare_1400.png` });
    await compare(page, files.two.reports, files.two.diff);
  });
  await withPage(browser, { origin, width: WIDTHS[1] }, async (page) => {
    await go(page, files.hostile);
    check((await page.locator("#layers").innerText()).includes("<script>alert(1)</script>"),
      "a hostile name is text");
    await fits(page, "hostile names");
  });
  await withPage(browser, { origin }, (page) => largePage(page, files.large));
  for (const width of WIDTHS) {
    await withPage(browser, { origin, width, dark: width < 1000 }, async (page) => {
      await go(page, files.sweep.html);
      await fits(page, `a sweep at ${width}`);
      await accessible(page, `a sweep at ${width}`);
      if (shots) await page.screenshot({ path: `${shots}/sweep_${width}.png` });
      if (width === WIDTHS[0]) await sweepPage(page, files.sweep.rows);
    });
  }
  for (const [name, { html }] of Object.entries({ one: files.one, two: files.two })) {
    const bytes = fs.statSync(html).size;
    check(bytes <= 300 * 1024, `${name}: 300 KiB`, String(bytes));
  }
}
