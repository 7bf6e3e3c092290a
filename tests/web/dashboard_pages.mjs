// The dashboard of a daemon: what it shows is what the daemon answers, also
// after the daemon was killed.

import { accessible, check, equal, fits, WIDTHS, withPage } from "./browser.mjs";

const digits = (text) => Number(text.replace(/[^\d]/g, ""));
const get = async (url) => (await fetch(url)).json();
// The browser's own lines about calls that the daemon did not answer.
const BEARABLE = /Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE/;

async function jobs(page, address, wanted) {
  const { jobs: listed } = await get(`${address}/v1/jobs?page_size=50`);
  await page.goto(`${address}/#/jobs`);
  await page.locator("tbody tr").first().waitFor();
  equal(await page.locator("tbody tr td:first-child").allInnerTexts(),
    listed.map((job) => job.id), "jobs, newest first");
  equal(await page.locator("tbody tr td:nth-child(3)").allInnerTexts(),
    listed.map((job) => job.state.toLowerCase()), "their states");
  check((await page.locator("tbody").innerText()).includes(wanted), "a hostile name is text");
}

async function job(page, address, id) {
  await page.locator(`a[href="#/jobs/${id}"]`).click();
  await page.locator("#report0 table").waitFor();
  const report = await get(`${address}/v1/jobs/${id}/reports/0`);
  const tile = page.locator("#report0 .tile", { hasText: /^cycles/i }).locator(".value");
  equal(digits(await tile.innerText()), Number(report.totals.cycles), "cycles of the report");
  equal((await page.locator("#report0 tbody td:nth-child(4)").allInnerTexts()).map(digits),
    report.layers.map((layer) => Number(layer.cycles || 0)), "cycles of its layers");
  const whole = await get(`${address}/v1/jobs/${id}`);
  equal(await page.locator("section", { hasText: "Stages" }).first().locator("tbody tr").count(),
    whole.stages.length, "a row for each stage");
}

async function daemon(page, address) {
  await page.goto(`${address}/#/daemon`);
  await page.locator("table").first().waitFor();
  const status = await get(`${address}/v1/daemon`);
  const rows = page.locator("section", { hasText: "From the cache" }).locator("tbody tr");
  equal(await rows.locator("td:first-child").allInnerTexts(),
    status.stages.map((stage) => stage.name), "stages by name");
  equal((await rows.locator("td:nth-child(2)").allInnerTexts()).map(digits),
    status.stages.map((stage) => Number(stage.executed || 0)), "how many were executed");
  equal(await page.locator("section", { hasText: "Workers" }).first().locator("tbody tr").count(),
    status.workers.length, "a row for each worker");
}

// `ask(line)` has the test's other process do something, see web_test.py.
async function survivesKill(page, address, ask) {
  const id = await ask("start");
  await page.goto(`${address}/#/jobs/${id}`);
  await page.locator("#main .badge").first().waitFor();
  await ask("kill");
  await page.locator("#contents .badge.failed").waitFor();
  await ask("restart");
  await page.locator("#report0 table, .badge.SUCCEEDED").first().waitFor({ timeout: 120_000 });
  await page.locator("#contents .badge.passed").waitFor();
  const whole = await get(`${address}/v1/jobs/${id}`);
  equal(whole.state, "SUCCEEDED", "the job goes on");
  const rows = page.locator("section", { hasText: "Stages" }).first().locator("tbody tr");
  equal((await rows.locator("td:first-child").allInnerTexts()).sort(),
    whole.stages.map((stage) => stage.name).sort(), "no event is missed");
}

export async function checkDashboard(browser, { address, job: id, hostile }, ask, shots) {
  for (const width of WIDTHS) {
    await withPage(browser, { origin: address, width, dark: width < 1000 }, async (page) => {
      for (const [name, ready] of [["jobs", "tbody tr"], ["daemon", "tbody tr"],
        ["targets", "tbody tr"], ["quarantine", "p"], [`jobs/${id}`, "#report0 tbody tr"]]) {
        await page.goto(`${address}/#/${name}`);
        await page.locator(ready).first().waitFor();
        await fits(page, `${name} at ${width}`);
        await accessible(page, `${name} at ${width}`);
        if (shots) {
          await page.screenshot({ path: `${shots}/${name.replace(/s\/.*/, "")}_${width}.png` });
        }
      }
    });
  }
  await withPage(browser, { origin: address, bearable: BEARABLE }, async (page) => {
    await jobs(page, address, hostile);
    await job(page, address, id);
    await daemon(page, address);
    await survivesKill(page, address, ask);
  });
}
