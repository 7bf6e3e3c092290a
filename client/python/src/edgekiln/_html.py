"""HTML tables for notebooks. Every string is escaped: names come from untrusted
models."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._text import (clean, clip_middle, format_bytes, format_latency, format_percent,
                    group_digits)

if TYPE_CHECKING:
    from .report import Report
    from .sweep import SweepRow

_MAX_ROWS = 1000
_NAME_WIDTH = 80


def escape(text: str) -> str:
    return html.escape(clip_middle(clean(text), _NAME_WIDTH), quote=True)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> str:
    """Cells are text, not HTML. The first `names` columns are aligned left."""

    def row(cells: Sequence[str], tag: str) -> str:
        made = []
        for i, cell in enumerate(cells):
            side = "left" if i < names else "right"
            made.append(f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>')
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in rows[:_MAX_ROWS])
    more = len(rows) - _MAX_ROWS
    rest = f"<p>and {group_digits(more)} more rows</p>" if more > 0 else ""
    return (f"<table><thead>{row(header, 'th')}</thead><tbody>{body}</tbody></table>"
            f"{rest}")


def report(one: Report) -> str:
    return (f"<div><p><b>{escape(one.model_name)}</b> on "
            f"<b>{escape(one.target_name)}</b></p>{table(['', ''], _totals(one), 1)}"
            f"{table(_LAYER_HEADER, _layers(one), 3)}{_warnings(one)}</div>")


def _totals(one: Report) -> list[list[str]]:
    totals = one.totals
    fidelity = totals.fidelity.lower().replace("_", "-")
    rows = [["cycles", f"{group_digits(totals.cycles)} ({fidelity})"],
            ["latency", format_latency(totals.latency_ms)],
            ["MACs", group_digits(totals.macs)]]
    for use in one.memory.memories:
        rows.append([f"memory {use.name}", f"{format_bytes(use.used_bytes)} of "
                     f"{format_bytes(use.capacity_bytes)}"])
    accuracy = one.accuracy
    if accuracy is not None:
        rows.append([accuracy.metric, f"{accuracy.value:.6g} (reference "
                     f"{accuracy.reference_value:.6g}, {accuracy.samples} samples)"])
    exact = one.bit_exact
    if exact is not None:
        rows.append(["compared", f"{group_digits(exact.outputs_compared)} values, "
                     f"{group_digits(exact.mismatches)} mismatches"])
    return rows


_LAYER_HEADER = ["layer", "op", "engine", "cycles", "%", "utilization", "SRAM", "tiles"]


def _layers(one: Report) -> list[list[str]]:
    total = one.totals.cycles
    return [[layer.id, layer.op, layer.engine, group_digits(layer.cycles),
             f"{100 * layer.cycles / total:.1f}" if total else "-",
             format_percent(layer.utilization, 1) if layer.utilization else "-",
             format_bytes(layer.sram_bytes) if layer.sram_bytes else "-",
             group_digits(layer.tiles)]
            for layer in one.layers]


def _warnings(one: Report) -> str:
    # Warnings are sentences and are not clipped like names.
    items = "".join(f"<li>{html.escape(clean(text), quote=True)}</li>"
                    for text in one.warnings)
    return f"<ul>{items}</ul>" if items else ""


def sweep(rows: Sequence[SweepRow]) -> str:
    keys = list(dict.fromkeys(key for row in rows for key in row.values))
    header = ["cell", "state", "model", "target", "recipe", *keys, "cycles",
              "accuracy", "error"]
    body = []
    for row in rows:
        accuracy = row.report.accuracy if row.report is not None else None
        body.append([
            str(row.cell), row.state, row.model, row.target, row.recipe,
            *(row.values.get(key) or "-" for key in keys),
            "-" if row.report is None else group_digits(row.report.totals.cycles),
            "-" if accuracy is None else f"{accuracy.value:.4g}",
            "" if row.error is None else row.error.what])
    return table(header, body, 5 + len(keys))
