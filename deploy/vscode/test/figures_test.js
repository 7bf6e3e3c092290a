'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { bytesText, errorText, groupDigits, latencyText, layersText, reportText } =
  require('../src/figures');

test('numbers are written as the command line writes them', () => {
  assert.strictEqual(groupDigits(0), '0');
  assert.strictEqual(groupDigits('1234567'), '1 234 567');
  assert.strictEqual(groupDigits(999), '999');
  assert.strictEqual(latencyText(0.763876), '0.7639 ms');
  assert.strictEqual(latencyText(21980), '21.98 s');
  assert.strictEqual(bytesText(72224), '70.5 KiB');
  assert.strictEqual(bytesText('512'), '512 B');
  assert.strictEqual(bytesText(3 << 20), '3.0 MiB');
});

test('a report is one line', () => {
  assert.strictEqual(
    reportText({ totals: { cycles: '381938', latency_ms: 0.763876 },
                 memory: { sram_peak_bytes: '72224', ram_bytes: '9' } }),
    '381 938 cycles \u00B7 0.7639 ms \u00B7 SRAM 70.5 KiB');
  assert.strictEqual(reportText({ totals: { cycles: 1, latency_ms: 1 },
                                  memory: { ram_bytes: 2048 } }),
                     '1 cycles \u00B7 1.000 ms \u00B7 RAM 2.0 KiB');
  assert.match(reportText({}), /^0 cycles/);
});

test('layers come by their cycles', () => {
  const lines = layersText(
    { layers: [{ op: 'add', cycles: 5, name: 'a' },
               { op: 'conv2d', cycles: '1000', name: 'b', engine: 'npu' }] }, 1);
  assert.strictEqual(lines.length, 1);
  assert.match(lines[0], /1 000 +npu +conv2d +b$/);
  assert.deepStrictEqual(layersText({}, 3), []);
});

test('an error is what the program said', () => {
  assert.strictEqual(
    errorText('{"error": {"what": "w", "where": "here", "fix": "do"}}', '', 'x'),
    'w; here; do');
  assert.strictEqual(errorText('', 'note\nerror: no daemon\n', 'x'), 'no daemon');
  assert.strictEqual(errorText('<html>', '', 'spawn ENOENT'), 'spawn ENOENT');
});
