'use strict';

// What is shown of results. Pure, so that it can be tested without an editor.

// 1234567 -> "1 234 567", as the command line prints it.
function groupDigits(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ' ');
}

function latencyText(milliseconds) {
  return milliseconds < 10000 ? `${Number(milliseconds).toPrecision(4)} ms`
                              : `${(milliseconds / 1000).toPrecision(4)} s`;
}

function bytesText(bytes) {
  const value = Number(bytes);
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${(value / 1024).toFixed(1)} KiB`;
  return `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

// Of an edgekiln.v1.Report, as `edgekiln profile --json` prints one.
function reportText(report) {
  const totals = report.totals || {};
  const memory = report.memory || {};
  const parts = [`${groupDigits(totals.cycles || 0)} cycles`,
                 latencyText(totals.latency_ms || 0)];
  if (Number(memory.sram_peak_bytes) > 0) {
    parts.push(`SRAM ${bytesText(memory.sram_peak_bytes)}`);
  } else if (Number(memory.ram_bytes) > 0) {
    parts.push(`RAM ${bytesText(memory.ram_bytes)}`);
  }
  return parts.join(' \u00B7 ');
}

// The message of an error that `edgekiln --json` printed, or what there is.
function errorText(stdout, stderr, fallback) {
  try {
    const error = JSON.parse(stdout).error;
    if (error && error.what) {
      return [error.what, error.where, error.fix].filter(Boolean).join('; ');
    }
  } catch {
    // Not JSON: the program did not get that far.
  }
  const line = stderr.split('\n').find((text) => text.startsWith('error: '));
  return line ? line.slice('error: '.length) : fallback;
}

// The slowest layers as lines of text.
function layersText(report, count) {
  const layers = [...(report.layers || [])];
  layers.sort((a, b) => Number(b.cycles || 0) - Number(a.cycles || 0));
  return layers.slice(0, count).map((layer) =>
    `${groupDigits(layer.cycles || 0).padStart(14)}  ` +
    `${String(layer.engine || '').padEnd(12)}  ${layer.op || ''}  ` +
    `${layer.name || layer.id || ''}`);
}

module.exports = {
  bytesText, errorText, groupDigits, latencyText, layersText, reportText,
};
