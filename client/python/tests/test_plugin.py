"""The pytest plugin of the installed wheel."""

from __future__ import annotations

import pathlib

import pytest
from conftest import Daemon

TEST = """
    def test_budget(edgekiln, assert_budget):
        report = edgekiln.profile({model!r}, "dla-64-o-512k", timing_only=True)
        assert_budget(report, cycles={cycles}, baseline="main.json", max_regression=0)

    def test_same_client(edgekiln):
        assert edgekiln.targets()
"""


def run(pytester: pytest.Pytester, daemon: Daemon, digits: pathlib.Path,
        cycles: object, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(TEST.format(model=str(digits), cycles=repr(cycles)))
    return pytester.runpytest_subprocess(f"--edgekiln-server={daemon.address}",
                                         *arguments)


def test_fixtures(pytester: pytest.Pytester, daemon: Daemon,
                  digits: pathlib.Path) -> None:
    run(pytester, daemon, digits, "200k",
        "--edgekiln-update-baselines").assert_outcomes(passed=2)
    baseline = pytester.path / "main.json"
    run(pytester, daemon, digits, "200k").assert_outcomes(passed=2)
    # Edits the baseline: conv2 was faster.
    text = baseline.read_text()
    at = text.index('"cycles": ', text.index('"id": "conv2"'))
    end = text.index(",", at)
    slower = int(text[at + 10:end])
    baseline.write_text(text[:at] + f'"cycles": {slower - 1000}' + text[end:])
    result = run(pytester, daemon, digits, 150_000)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([
        "*assert_budget(report, cycles=150000*",
        "E *BudgetError: a limit is broken: digits.onnx on dla-64-o-512k",
        "E * - cycles 178 781, at most 150 000: 28 781 too many (+19.2 %), most in *",
        "E *A: the baseline   B: this report",
        "E *LAYER *CYCLES A *CYCLES B *CHANGE *",
        "E *conv2 *27 232 *28 232 *+1 000*",
    ])
    # The traceback shows the line of the test, not those of the plugin.
    assert "budget.py" not in result.stdout.str().split("short test summary")[0]


def test_a_missing_baseline(pytester: pytest.Pytester, daemon: Daemon,
                            digits: pathlib.Path) -> None:
    result = run(pytester, daemon, digits, 200_000)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E *main.json' cannot be read*"])
