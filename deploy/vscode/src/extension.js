'use strict';

const { execFile } = require('node:child_process');
const path = require('node:path');
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');
const { errorText, layersText, reportText } = require('./figures');

const LANGUAGE = 'edgekiln';
const MODEL_SUFFIXES = ['.onnx', '.tflite'];
const SHOWN_LAYERS = 20;

let client;
let status;
let output;

function settings() {
  return vscode.workspace.getConfiguration('edgekiln');
}

// "--server ADDRESS", if one is set.
function serverArguments() {
  const server = settings().get('server', '').trim();
  return server === '' ? [] : ['--server', server];
}

function program() {
  return settings().get('path', 'edgekiln') || 'edgekiln';
}

// A path of the settings; names of chips stay as they are.
function resolved(value, folder) {
  const isFile = value.includes('/') || value.endsWith('.txtpb') ||
                 value.endsWith('.textproto');
  return isFile && folder ? path.resolve(folder, value) : value;
}

function folderOf(uri) {
  const folder = uri ? vscode.workspace.getWorkspaceFolder(uri) : undefined;
  const first = (vscode.workspace.workspaceFolders || [])[0];
  return (folder || first || { uri: undefined }).uri?.fsPath;
}

function show(text, tooltip, isError) {
  status.text = text;
  status.tooltip = tooltip;
  status.backgroundColor =
    isError ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  status.show();
}

// The server profiles the model on the descriptor that is edited.
function onFigures(params) {
  const name = path.basename(params.model || '');
  if (params.state === 'none') {
    status.hide();
  } else if (params.state === 'running') {
    show(`$(sync~spin) ${params.text}`, name, false);
  } else {
    show(`$(${params.state === 'done' ? 'dashboard' : 'warning'}) ${params.text}`,
         `${name}: ${params.text}`, params.state === 'failed');
  }
}

async function startClient() {
  const executable = {
    command: program(),
    args: ['lsp', ...serverArguments()],
    transport: TransportKind.stdio,
  };
  client = new LanguageClient('edgekiln', 'edgekiln', executable, {
    documentSelector: [
      { language: LANGUAGE },
      { pattern: '**/*.txtpb' },
    ],
    initializationOptions: { model: settings().get('model', '') },
    synchronize: { configurationSection: 'edgekiln' },
    outputChannel: output,
  });
  client.onNotification('edgekiln/figures', onFigures);
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `edgekiln: ${program()} does not start as a language server (${error.message}); ` +
      'the setting edgekiln.path says where it is');
  }
}

// One at a time: settings change while somebody types.
let restarting = Promise.resolve();
function restart() {
  restarting = restarting.then(async () => {
    const old = client;
    client = undefined;
    if (old) await old.stop().catch(() => {});
    await startClient();
  });
  return restarting;
}

// Without a shell: names of files are anything.
function run(args, folder, token) {
  return new Promise((resolve) => {
    const child = execFile(program(), args, {
      cwd: folder, maxBuffer: 256 << 20, windowsHide: true,
    }, (error, stdout, stderr) => resolve({ error, stdout, stderr }));
    token.onCancellationRequested(() => child.kill('SIGINT'));
  });
}

async function pickModel() {
  const files = await vscode.workspace.findFiles('**/*.{onnx,tflite}',
                                                 '**/node_modules/**', 200);
  const picked = await vscode.window.showQuickPick(
    files.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri })),
    { placeHolder: 'The model to profile' });
  return picked && picked.uri;
}

async function profile(uri) {
  const model = uri || await pickModel();
  if (!model) return undefined;
  if (!MODEL_SUFFIXES.includes(path.extname(model.fsPath).toLowerCase())) {
    vscode.window.showErrorMessage('edgekiln: not a .onnx or .tflite file');
    return undefined;
  }
  const folder = folderOf(model);
  const target = resolved(settings().get('target', ''), folder);
  const name = path.basename(model.fsPath);
  const args = ['profile', model.fsPath, '--target', target, '--timing-only',
                '--json', '--quiet', '--class', 'interactive',
                ...serverArguments()];
  show(`$(sync~spin) ${name}`, `profiling ${name} on ${target}`, false);
  const done = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, cancellable: true,
      title: `Profiling ${name} on ${target}` },
    async (_progress, token) => ({ ...await run(args, folder, token),
                                   cancelled: token.isCancellationRequested }));
  if (done.cancelled) {
    show(`$(circle-slash) ${name}`, 'cancelled', false);
    return undefined;
  }
  if (done.error) {
    const what = errorText(done.stdout, done.stderr, done.error.message);
    show(`$(warning) ${name}`, what, true);
    output.appendLine(`${name} on ${target}: ${what}`);
    vscode.window.showErrorMessage(`edgekiln: ${name}: ${what}`);
    return undefined;
  }
  const report = JSON.parse(done.stdout);
  const text = reportText(report);
  show(`$(dashboard) ${text}`, `${name} on ${target}: ${text}`, false);
  output.appendLine(`${name} on ${target}: ${text}`);
  for (const line of layersText(report, SHOWN_LAYERS)) output.appendLine(line);
  vscode.window.showInformationMessage(`${name} on ${path.basename(target)}: ${text}`,
                                       'Layers')
    .then((choice) => { if (choice) output.show(true); });
  return text;
}

async function activate(context) {
  output = vscode.window.createOutputChannel('edgekiln');
  status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 50);
  status.command = 'edgekiln.showOutput';
  context.subscriptions.push(
    output, status,
    vscode.commands.registerCommand('edgekiln.profile', profile),
    vscode.commands.registerCommand('edgekiln.restart', restart),
    vscode.commands.registerCommand('edgekiln.showOutput', () => output.show(true)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const other = event.affectsConfiguration('edgekiln.path') ||
                    event.affectsConfiguration('edgekiln.server');
      if (other) restart();
    }));
  await startClient();
}

async function deactivate() {
  if (client) await client.stop().catch(() => {});
}

module.exports = { activate, deactivate };
