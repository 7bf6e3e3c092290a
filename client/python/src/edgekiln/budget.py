"""Checks a report against limits: which are broken, by how much, in which layer,
and which layers changed since a baseline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from . import _quantity
from ._quantity import Amount
from ._text import (clean, clip_middle, format_bytes, format_percent, group_digits)
from .diff import ReportDiff, diff
from .errors import FAILED_PRECONDITION, ErrorDetail, GateError, usage
from .report import Report

Baseline = Union[Report, str, "os.PathLike[str]"]
# Tolerance for the difference of two rounded shares, in points.
_POINTS_SLACK = 1e-7
_WIDTH = 48


@dataclass(frozen=True)
class BrokenLimit:
    name: str  # "cycles", "latency", "memory.sram", "ram", "accuracy", ...
    limit: float
    value: float | None  # None: the report does not have it.
    text: str  # The line of the message.


class BudgetError(GateError, AssertionError):
    """Limits are broken. `broken` has them, `diff` what changed against the
    baseline, if there is one."""

    def __init__(self, report: Report, broken: tuple[BrokenLimit, ...],
                 changes: ReportDiff | None) -> None:
        self.report = report
        self.broken = broken
        self.diff = changes
        detail = ErrorDetail(
            what="a limit is broken" if len(broken) == 1
            else f"{len(broken)} limits are broken",
            where=f"{report.model_name} on {report.target_name}",
            reason="GATE_FAILED", fault="USER", code=FAILED_PRECONDITION)
        super().__init__(detail, tuple(one.text for one in broken))

    def __str__(self) -> str:
        lines = [f"{self.detail.what}: {clean(self.detail.where)}"]
        lines += [f"  - {clean(line)}" for line in self.lines]
        if self.diff is not None:
            lines += ["", "A: the baseline   B: this report"]
            lines += [clean(caveat) for caveat in self.diff.caveats]
            lines += self.diff.layer_lines()
        return "\n".join(lines)


def assert_budget(
        report: Report, *, cycles: Amount | None = None, latency: Amount | None = None,
        sram: Amount | None = None, ram: Amount | None = None,
        flash: Amount | None = None, memory: Mapping[str, Amount] | None = None,
        accuracy: Amount | None = None, error: Amount | None = None,
        disagreement: Amount | None = None, baseline: Baseline | None = None,
        max_regression: float | None = None,
        max_accuracy_drop: float | None = None) -> None:
    """Raises BudgetError, an AssertionError, if `report` breaks a limit.

    cycles, latency (ms), sram (the peak), ram, flash, memory[NAME] (bytes), error
    (of mse and mae) and disagreement (share) are the most that is allowed, accuracy
    (share) the least. max_regression (percent: of cycles and of each memory) and
    max_accuracy_drop (points of 100) compare with the baseline, which is a report
    or a file with one. What the report does not have breaks its limit. A value that
    differs from the reference breaks every budget.
    """
    __tracebackhide__ = True  # pytest shows the line of the test.
    judge = _Judge(report)
    judge.totals(cycles, latency)
    judge.memories(sram, ram, flash, memory or {})
    judge.accuracy(accuracy, error, disagreement)
    changes = None
    if baseline is not None:
        changes = diff(_load(baseline, report.target_name), report)
        judge.regression(changes, max_regression, max_accuracy_drop)
    elif max_regression is not None or max_accuracy_drop is not None:
        raise usage("there is no baseline", "assert_budget",
                    "baseline=, a report or a file with one")
    if judge.limits == 0:
        raise usage("there are no limits", "assert_budget",
                    "cycles=, sram=, ... or baseline= with max_regression=")
    judge.mismatches()
    if judge.broken:
        raise BudgetError(report, tuple(judge.broken), changes)


def _load(baseline: Baseline, target: str) -> Report:
    return baseline if isinstance(baseline, Report) else Report.load(baseline, target)


class _Judge:
    def __init__(self, report: Report) -> None:
        self._report = report
        self.limits = 0
        self.broken: list[BrokenLimit] = []

    def totals(self, cycles: Amount | None, latency: Amount | None) -> None:
        known = self._report.message.HasField("totals")
        totals = self._report.totals
        worst = max(self._report.layers, key=lambda one: one.cycles, default=None)
        layer = worst.id if worst is not None and worst.cycles > 0 else ""
        if cycles is not None:
            self._at_most("cycles", _quantity.cycles(cycles, "cycles"),
                          totals.cycles if known else None, "cycles", layer)
        if latency is not None:
            self._at_most("latency", _quantity.milliseconds(latency, "latency"),
                          totals.latency_ms if known else None, "ms", layer)

    def memories(self, sram: Amount | None, ram: Amount | None, flash: Amount | None,
                 named: Mapping[str, Amount]) -> None:
        known = self._report.message.HasField("memory")
        memory = self._report.memory
        worst = max(self._report.layers, key=lambda one: one.sram_bytes, default=None)
        at_peak = worst is not None and worst.sram_bytes == memory.sram_peak_bytes > 0
        for name, limit, value, layer in (
                ("sram", sram, memory.sram_peak_bytes,
                 worst.id if worst is not None and at_peak else ""),
                ("ram", ram, memory.ram_bytes, ""),
                ("flash", flash, memory.flash_bytes, "")):
            if limit is not None:
                self._at_most(name, _quantity.size(limit, name),
                              value if known else None, "bytes", layer)
        used = {use.name: use.used_bytes for use in memory.memories}
        for name, limit in named.items():
            if used and name not in used:
                raise usage(f"the target has no memory '{name}'", "memory",
                            f"one of: {', '.join(used)}")
            self._at_most(f"memory.{name}", _quantity.size(limit, f"memory {name}"),
                          used.get(name), "bytes")

    def accuracy(self, least: Amount | None, error: Amount | None,
                 disagreement: Amount | None) -> None:
        got = self._report.accuracy
        if least is not None:
            # Agreement with the reference does not count as accuracy: a data set
            # that lost its labels must break the limit.
            known = got is not None and not got.less_is_better and (
                got.metric != "agreement")
            self._add("accuracy", _quantity.share(least, "accuracy"),
                      got.value if got is not None and known else None, "", "",
                      at_least=True)
        if error is not None:
            known = got is not None and got.less_is_better
            self._at_most("error", _quantity.number(error, "error"),
                          got.value if got is not None and known else None, "error")
        if disagreement is not None:
            self._at_most("disagreement",
                          _quantity.share(disagreement, "disagreement"),
                          got.disagreement if got is not None else None, "")

    def mismatches(self) -> None:
        exact = self._report.bit_exact
        if exact is not None and exact.mismatches:
            self._break("mismatches", 0, exact.mismatches,
                        "the simulated chip differs from the reference in "
                        f"{group_digits(exact.mismatches)} of "
                        f"{group_digits(exact.outputs_compared)} values: "
                        f"{exact.first_mismatch}")

    def regression(self, changes: ReportDiff, most: float | None,
                   drop: float | None) -> None:
        if most is not None:
            self.limits += 1
            named = any(one.name.startswith("memory.") for one in changes.totals)
            for one in changes.totals:
                limited = one.name == "cycles" or (
                    one.name.startswith("memory.") if named
                    else one.name in ("flash_bytes", "ram_bytes"))
                percent = one.percent
                grew = one.b > one.a if percent is None else percent > most
                if limited and grew:
                    shown = "" if percent is None else f" ({percent:+.2f} %)"
                    self._break(one.name, most, percent,
                                f"{one.name} grew from {group_digits(one.a)} to "
                                f"{group_digits(one.b)}{shown}, at most {most:g} %")
        if drop is not None:
            self.limits += 1
            self._accuracy_drop(changes, drop)

    def _accuracy_drop(self, changes: ReportDiff, most: float) -> None:
        a, b = changes.a.accuracy, changes.b.accuracy
        if a is None or b is None or a.metric != b.metric or a.less_is_better:
            self._break("accuracy_drop", most, None,
                        "accuracy cannot be compared: one of the reports has none, or "
                        "they have different metrics")
            return
        points = 100 * (a.value - b.value)
        if points > most + _POINTS_SLACK:
            self._break("accuracy_drop", most, points,
                        f"accuracy fell from {format_percent(a.value)} to "
                        f"{format_percent(b.value)} ({-points:+.2f} points), "
                        f"at most {most:g} points")

    def _at_most(self, name: str, limit: float, value: float | None, unit: str,
                 layer: str = "") -> None:
        self._add(name, limit, value, unit, layer, at_least=False)

    def _add(self, name: str, limit: float, value: float | None, unit: str, layer: str,
             at_least: bool) -> None:
        self.limits += 1
        bound = "at least" if at_least else "at most"
        if value is None:
            self._break(name, limit, None, f"{name} not in the report, {bound} "
                        f"{_amount(limit, unit, False)}")
        elif value < limit if at_least else not value <= limit:
            exact = _amount(value, unit, False) == _amount(limit, unit, False)
            text = (f"{name} {_amount(value, unit, exact)}, {bound} "
                    f"{_amount(limit, unit, exact)}: "
                    f"{_excess(value, limit, unit, exact, at_least)}")
            if layer:
                text += f", most in {clip_middle(clean(layer), _WIDTH)}"
            self._break(name, limit, value, text)

    def _break(self, name: str, limit: float, value: float | None, text: str) -> None:
        self.broken.append(BrokenLimit(name, limit, value, text))


def _amount(value: float, unit: str, exact: bool) -> str:
    """Rounded, or exact where rounding would hide the difference."""
    if unit == "cycles":
        return group_digits(round(value))
    if unit == "bytes":
        return f"{group_digits(round(value))} B" if exact else format_bytes(round(value))
    if unit == "ms":
        return f"{value:.9g} ms" if exact else f"{value:.4g} ms"
    if unit == "error" or exact:
        return f"{value:.9g}" if exact else f"{value:.4g}"
    return format_percent(value)


def _excess(value: float, limit: float, unit: str, exact: bool, at_least: bool) -> str:
    over = abs(value - limit)
    if not unit:
        digits = ".9g" if exact else ".2f"
        return f"{100 * over:{digits}} points too {'low' if at_least else 'high'}"
    word = {"ms": "long", "error": "large"}.get(unit, "many")
    text = f"{_amount(over, unit, exact)} too {word}"
    return text + (f" ({100 * over / limit:+.1f} %)" if limit > 0 else "")
