// usage: node main.mjs, in a folder with node_modules; web_test.py starts it.
// Reads one line of JSON, what there is to look at; later lines of the standard
// input answer what it asks in lines "ask WHAT" of its output.

import readline from "node:readline";
import { check, failed, launch } from "./browser.mjs";
import { checkDashboard } from "./dashboard_pages.mjs";
import { checkRendered } from "./rendered_pages.mjs";
import { checkReportPages } from "./report_pages.mjs";

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => (await lines.next()).value;
const ask = (what) => {
  console.log("ask", what);
  return next();
};

const { executable, files, dashboard, shots } = JSON.parse(await next());
const browser = await launch(executable);
try {
  await checkReportPages(browser, files, shots);
  await checkRendered(browser, dashboard, shots);
  await checkDashboard(browser, dashboard, ask, shots);
} catch (error) {
  check(false, "the test itself", String(error.stack || error));
} finally {
  await browser.close();
}
console.log(`${failed()} failures`);
process.exit(failed() ? 1 : 0);
