// The extension in code-server, under chromium, as a user sees it.
//
// usage: editor_test.mjs BIN MODEL TOOLS SHOTS
//   TOOLS: a folder made by install_tools; SHOTS: where screenshots go.
// Exit code 77: a tool is not there.

import assert from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const [bin, model, tools, shots] = process.argv.slice(2).map((p) => path.resolve(p));
const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const server = path.join(tools, 'node_modules/code-server/out/node/entry.js');
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser']
  .find((file) => fs.existsSync(file));
const vsix = fs.readdirSync(extension).find((name) => name.endsWith('.vsix'));
for (const [what, there] of [['code-server (see install_tools)', fs.existsSync(server)],
                             ['chromium', chromium],
                             ['a .vsix (npm ci && npx vsce package)', vsix]]) {
  if (there) continue;
  console.log(`SKIPPED: no ${what}`);
  process.exit(77);
}
const require = createRequire(path.join(tools, 'package.json'));
const playwright = require('playwright-core');

const LIMIT = 60000;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ek-editor-'));
const workspace = path.join(folder, 'chips');
fs.mkdirSync(path.join(folder, 'data/User'), { recursive: true });
fs.mkdirSync(workspace);
fs.copyFileSync(model, path.join(workspace, `net${path.extname(model)}`));
const CHIP = `# A chip of one's own.
# model: net${path.extname(model)}

extends: "dla"
set { name: "pes" value: 96 }
set { name: "sram_bytes" value: 196608 }
`;
fs.writeFileSync(path.join(workspace, 'chip.txtpb'), CHIP);
fs.writeFileSync(path.join(folder, 'data/User/settings.json'), JSON.stringify({
  'edgekiln.path': path.join(bin, 'edgekiln'),
  'editor.minimap.enabled': false,
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
}));
for (const name of ['run', 'state', 'cache']) {
  fs.mkdirSync(path.join(folder, name), { mode: 0o700 });
}
const environment = {
  PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8',
  XDG_RUNTIME_DIR: path.join(folder, 'run'),
  XDG_STATE_HOME: path.join(folder, 'state'),
  XDG_CACHE_HOME: path.join(folder, 'cache'),
};

function freePort() {
  return new Promise((resolve) => {
    const listener = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}

function codeServer(...args) {
  return [server, '--auth', 'none', '--user-data-dir', path.join(folder, 'data'),
          '--extensions-dir', path.join(folder, 'extensions'),
          '--disable-telemetry', '--disable-update-check', ...args];
}

// The daemon that the language server started.
function stopDaemons() {
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const comm = fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
      const env = fs.readFileSync(`/proc/${pid}/environ`, 'utf8');
      if (comm === 'edgekilnd' && env.includes(`XDG_RUNTIME_DIR=${folder}/run`)) {
        process.kill(Number(pid), 'SIGTERM');
      }
    } catch {
      // Gone, or not ours.
    }
  }
}

async function shoot(page, name, clip) {
  fs.mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: path.join(shots, `${name}.png`), clip });
}

// A lens and the status bar have the figures of the model, and follow an edit.
async function seeFigures(page) {
  await page.waitForSelector('.explorer-folders-view .monaco-list-row',
                             { timeout: LIMIT });
  await page.locator('.explorer-folders-view')
    .getByText('chip.txtpb', { exact: true }).dblclick();
  const lens = page.locator('.codelens-decoration', { hasText: /\d cycles/ });
  await lens.waitFor({ timeout: LIMIT });
  const first = await lens.textContent();
  const status = page.locator('.statusbar-item', { hasText: /\d cycles/ });
  await status.waitFor({ timeout: LIMIT });
  assert.match(first, /cycles . [\d.]+ ms . SRAM/);
  await shoot(page, 'figures');

  // As one types: another number of processing elements.
  await page.keyboard.press('Control+Home');
  for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Backspace');  // 96 -> 9
  await page.locator('.codelens-decoration', { hasText: '%' })
    .waitFor({ timeout: LIMIT });
  assert.notStrictEqual(await lens.textContent(), first);
}

// What the daemon refuses is a problem with a place, and has a quick fix.
async function seeProblem(page) {
  await page.keyboard.press('Backspace');
  await page.keyboard.type('4000');
  await page.locator('.squiggly-error').first().waitFor({ timeout: LIMIT });
  await page.keyboard.press('Control+Shift+M');
  await page.locator('.markers-panel', { hasText: 'out of range' })
    .waitFor({ timeout: LIMIT });
  await shoot(page, 'problem');

  await page.locator('.monaco-editor .view-line', { hasText: '4000' }).first()
    .click();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Control+.');
  await page.locator('.action-widget', { hasText: 'Set to 1024' })
    .waitFor({ timeout: LIMIT });
  await page.keyboard.press('Enter');
  await page.locator('.view-line', { hasText: '1024' }).first()
    .waitFor({ timeout: LIMIT });
  await page.locator('.squiggly-error').first()
    .waitFor({ state: 'detached', timeout: LIMIT });
}

// The parameters of the base are offered.
async function seeCompletion(page) {
  await page.keyboard.press('Control+End');
  await page.keyboard.type('set { name: "');
  // The lens comes to say what the status bar says.
  await page.waitForFunction(() => {
    const text = (selector) => [...document.querySelectorAll(selector)]
      .map((element) => element.textContent)
      .find((found) => /\d cycles/.test(found));
    const shown = text('.statusbar-item');
    return shown && shown.includes('outdated') &&
           shown.trim() === (text('.codelens-decoration') || '').trim();
  }, undefined, { timeout: LIMIT });
  const list = page.locator('.suggest-widget');
  if (!await list.isVisible()) await page.keyboard.press('Control+Space');
  await list.getByText('fill_cycles').first().waitFor({ timeout: LIMIT });
  await shoot(page, 'completion');
  // docs/editor.png.
  await shoot(page, 'editor', { x: 323, y: 36, width: 614, height: 436 });
  await page.keyboard.press('Escape');
}

// From the menu of the file.
async function profileModel(page) {
  await page.locator('.explorer-folders-view').getByText(/^net\./)
    .click({ button: 'right' });
  // A menu that has just opened takes no click: it could be the one that opened it.
  const entry = page.getByText('Profile this model').first();
  await entry.click();
  while (await entry.isVisible()) {
    await page.waitForTimeout(500);
    if (await entry.isVisible()) await entry.click();
  }
  await page.locator('.notification-toast', { hasText: /\d cycles/ })
    .waitFor({ timeout: LIMIT });
  await shoot(page, 'profile');
}

async function main() {
  const installed = spawnSync(process.execPath, codeServer(
    '--install-extension', path.join(extension, vsix)),
                              { env: environment, encoding: 'utf8' });
  assert.strictEqual(installed.status, 0, installed.stdout + installed.stderr);
  const port = await freePort();
  const log = fs.openSync(path.join(folder, 'log'), 'w');
  const code = spawn(process.execPath, codeServer(
    '--bind-addr', `127.0.0.1:${port}`, workspace),
                     { env: environment, stdio: ['ignore', log, log] });
  let browser;
  let page;
  try {
    for (let i = 0; ; ++i) {
      const up = await fetch(`http://127.0.0.1:${port}/healthz`).then(() => true,
                                                                      () => false);
      if (up) break;
      assert.ok(i < 300, fs.readFileSync(path.join(folder, 'log'), 'utf8'));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    browser = await playwright.chromium.launch(
      { executablePath: chromium, args: ['--no-sandbox'] });
    page = await browser.newPage({ viewport: { width: 1100, height: 620 } });
    await page.goto(`http://127.0.0.1:${port}/?folder=${workspace}`);
    await seeFigures(page);
    await seeProblem(page);
    await seeCompletion(page);
    await profileModel(page);
    console.log('ok');
  } catch (error) {
    if (page) await shoot(page, 'failed').catch(() => {});
    throw error;
  } finally {
    if (browser) await browser.close();
    code.kill('SIGTERM');
    await new Promise((resolve) => code.on('exit', resolve));
    stopDaemons();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

await main();
