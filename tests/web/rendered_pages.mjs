// What the dashboard leads to: whole reports, files, and comparing by clicking.

import { accessible, check, equal, fits, WIDTHS, withPage } from "./browser.mjs";

const digits = (text) => Number(text.replace(/[^\d]/g, ""));
const get = async (url) => (await fetch(url)).json();
const cyclesOf = (report) => Number(report.totals.cycles);

// The page of a report is one document, and shows what the report says.
async function opensReport(page, { address, job, hostile }) {
  await page.goto(`${address}/#/jobs/${job}`);
  const link = page.locator("#report0 a", { hasText: "Open the report" });
  await link.waitFor();
  const asked = [];
  const note = (request) => asked.push(request.url());
  page.on("request", note);
  await link.click();
  await page.locator("#head h1").waitFor();
  await page.locator("#layers tbody tr").first().waitFor();
  page.off("request", note);
  equal(asked.filter((url) => !url.includes("/v1/jobs/") || url.endsWith("/html")),
    [`${address}/v1/jobs/${job}/reports/0/html`], "the page of a report is one document");
  check((await page.locator("#head h1").innerText()).includes(hostile), "a hostile name is text");
  const report = await get(`${address}/v1/jobs/${job}/reports/0`);
  const tile = page.locator("#head .tile", { hasText: /^cycles/i }).locator(".value");
  equal(digits(await tile.innerText()), cyclesOf(report), "cycles of the whole report");
  equal(await page.locator("#layers tbody tr").count(), report.layers.length,
    "a row for each layer");
  const refused = await page.evaluate(() => fetch("/v1/jobs").then(() => false, () => true));
  check(refused, "the page cannot ask the daemon");
  const origin = await page.evaluate(() => self.origin);
  equal(origin, "null", "the page has no origin that could ask the daemon");
  await fits(page, "a report of the daemon");
  await accessible(page, "a report of the daemon");
  await page.goBack();
  await page.locator("#report0 table").waitFor();
}

async function downloads(page, { address, job }) {
  const links = await page.locator("#report0 .downloads a").evaluateAll((all) =>
    all.map((link) => link.href));
  equal(links.map((link) => link.slice(link.lastIndexOf("/") + 1)),
    ["json", "csv", "markdown", "perfetto", "model-explorer"], "the other formats");
  for (const link of links) {
    const answer = await fetch(link);
    check(answer.ok && /^attachment; filename=/.test(answer.headers.get("content-disposition")),
      `${link} is a file`, `${answer.status} ${answer.headers.get("content-disposition")}`);
  }
  const report = await get(`${address}/v1/jobs/${job}/reports/0`);
  equal(JSON.parse(await (await fetch(links[0])).text()).totals.cycles, cyclesOf(report),
    "the same report as JSON");
}

// One on the list, by the keyboard; another one on its job's page.
async function comparesByClicking(page, { address, job, other }) {
  const bar = page.locator("#compare");
  await page.goto(`${address}/#/jobs`);
  const row = page.locator("tbody tr", { has: page.locator(`a[href="#/jobs/${other}"]`) });
  await row.locator("input").focus();
  await page.keyboard.press("Space");
  await bar.locator("li").first().waitFor();
  check((await bar.innerText()).includes("Choose another report"), "one is not enough");
  await page.reload();
  await row.locator("input").waitFor();
  check(await row.locator("input").isChecked(), "the choice stays");
  await page.locator(`a[href="#/jobs/${job}"]`).click();
  await page.locator("#report0 .pick input").check();
  const link = bar.locator("a");
  await link.waitFor();
  check(/^Compare .+ with .+/.test(await link.innerText()), "the bar names both",
    await link.innerText());
  await link.click();
  await page.locator("#reports tbody tr").first().waitFor();
  equal(await page.locator("#reports tbody tr").count(), 2, "both reports are there");
  const [a, b] = [await get(`${address}/v1/jobs/${other}/reports/0`),
    await get(`${address}/v1/jobs/${job}/reports/0`)];
  const totals = page.locator("#changes tr", { has: page.locator("td", { hasText: /^cycles$/ }) });
  equal((await totals.locator("td").allInnerTexts()).slice(1, 3).map(digits),
    [cyclesOf(a), cyclesOf(b)], "from the first one chosen to the second");
  await page.goBack();
  await bar.locator("li button").first().click();
  equal(await bar.locator("li").count(), 1, "one is left out");
  await bar.locator("button", { hasText: "Clear" }).click();
  check(await bar.isHidden(), "none is chosen");
  check(!await page.locator("#report0 .pick input").isChecked(), "nor is its box");
  await page.locator("#report0 .pick input").check();
  equal(await bar.locator("li").count(), 1, "one can be chosen again");
  await bar.locator("li button").click();
  check(await page.evaluate(() => document.activeElement.id === "main"), "the focus is kept");
}

async function sideBySide(page, { address, several }) {
  await page.goto(`${address}/#/jobs/${several}`);
  await page.locator("a", { hasText: "All targets side by side" }).click();
  await page.locator("#reports tbody tr").first().waitFor();
  equal(await page.locator("#reports tbody tr").count(), 2, "all targets of a job");
}

async function sweep(page, { address, sweep: id }) {
  await page.goto(`${address}/#/jobs/${id}`);
  const rows = page.locator("#cells tbody tr");
  await page.locator(".badge.SUCCEEDED").waitFor();
  const { sweep: summary } = await get(`${address}/v1/jobs/${id}`);
  await rows.nth(Number(summary.cells) - 1).waitFor();
  equal(await rows.count(), Number(summary.cells), "a row for each cell");
  const link = rows.first().locator("a");
  const cell = await link.innerText();
  const cycles = digits(await rows.first().locator("td:nth-child(8)").innerText());
  await link.click();
  await page.locator("#report0 table").waitFor();
  equal(cyclesOf(await get(`${address}/v1/jobs/${cell}/reports/0`)), cycles,
    "the cell's job has its cycles");
}

export async function checkRendered(browser, dashboard, shots) {
  const { address } = dashboard;
  for (const width of WIDTHS) {
    await withPage(browser, { origin: address, width, dark: width < 1000 }, async (page) => {
      await page.goto(`${address}/#/jobs/${dashboard.several}`);
      await page.locator("#report1 .pick input").check();
      await page.locator("#report0 .pick input").check();
      for (const name of [`jobs/${dashboard.several}`, "jobs", `jobs/${dashboard.sweep}`]) {
        await page.goto(`${address}/#/${name}`);
        await page.locator("#main tbody input").or(page.locator("#report0 input")).first().waitFor();
        await fits(page, `${name} with a choice at ${width}`);
        await accessible(page, `${name} with a choice at ${width}`);
      }
      if (shots) await page.screenshot({ path: `${shots}/choice_${width}.png` });
    });
  }
  await withPage(browser, { origin: address, bearable: /Content Security Policy/ }, async (page) => {
    await opensReport(page, dashboard);
    await downloads(page, dashboard);
    await comparesByClicking(page, dashboard);
    await sideBySide(page, dashboard);
    await sweep(page, dashboard);
  });
}
