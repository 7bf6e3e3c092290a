"""assert_budget: what its message says, and what breaks a limit."""

from __future__ import annotations

import pathlib

import pytest
from reports import report, validated

from edgekiln import BudgetError, GateError, UsageError, assert_budget


def test_message_names_limits_amounts_layers_and_what_changed() -> None:
    before = report({"conv1": 1000, "conv2": 5000, "gone": 50})
    now = report({"conv1": 1000, "conv2": 7500, "new": 70}, sram=8192)
    with pytest.raises(BudgetError) as caught:
        assert_budget(now, cycles=7000, sram="4KiB", ram="1kB", baseline=before,
                      max_regression=2)
    assert str(caught.value).split("\n") == [
        "4 limits are broken: net.onnx on chip",
        "  - cycles 8 570, at most 7 000: 1 570 too many (+22.4 %), most in conv2",
        "  - sram 8.0 KiB, at most 4.0 KiB: 4.0 KiB too many (+100.0 %), most in conv1",
        "  - cycles grew from 6 050 to 8 570 (+41.65 %), at most 2 %",
        "  - memory.sram grew from 4 096 to 8 192 (+100.00 %), at most 2 %",
        "",
        "A: the baseline   B: this report",
        "LAYER  CYCLES A  CYCLES B  CHANGE  WHAT ELSE",
        "conv2     5 000     7 500  +2 500  tiles 50 -> 75, SRAM 4.0 KiB -> 8.0 KiB",
        "new           -        70     +70  added, on array",
        "gone         50         -     -50  removed, was on array",
        "conv1     1 000     1 000       -  SRAM 4.0 KiB -> 8.0 KiB",
    ]
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, GateError)
    assert [one.name for one in caught.value.broken] == [
        "cycles", "sram", "cycles", "memory.sram"]
    assert caught.value.detail.reason == "GATE_FAILED"


@pytest.mark.parametrize("limits", [
    {"cycles": 300}, {"cycles": "0.3k"}, {"latency": "600us"}, {"latency": 0.0006},
    {"sram": 4096}, {"ram": 100}, {"flash": "2KiB"}, {"memory": {"sram": "4Ki"}},
])
def test_a_value_equal_to_its_limit_keeps_it(limits: dict[str, object]) -> None:
    assert_budget(report({"a": 300}), **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(("limits", "text"), [
    ({"cycles": 299}, "cycles 300, at most 299: 1 too many (+0.3 %), most in a"),
    ({"sram": 4095}, "sram 4 096 B, at most 4 095 B: 1 B too many (+0.0 %), most in a"),
    ({"latency": "500ns"},
     "latency 0.0006 ms, at most 0.0005 ms: 0.0001 ms too long (+20.0 %)"),
    ({"accuracy": "95%"}, "accuracy not in the report, at least 95.00 %"),
    ({"error": 0.1}, "error not in the report, at most 0.1"),
    ({"disagreement": 0.01}, "disagreement not in the report, at most 1.00 %"),
])
def test_broken(limits: dict[str, object], text: str) -> None:
    with pytest.raises(BudgetError) as caught:
        assert_budget(report({"a": 300}), **limits)  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_accuracy() -> None:
    assert_budget(validated(0.95), accuracy=0.95)
    with pytest.raises(BudgetError, match="1.00 points too low"):
        assert_budget(validated(0.94), accuracy="95%")
    with pytest.raises(BudgetError, match="not in the report"):
        assert_budget(validated(0.99, "agreement"), accuracy=0.5)
    assert_budget(validated(0.02, "mse"), error=0.02)
    with pytest.raises(BudgetError, match=r"error 0.03, at most 0.02: 0.01 too large"):
        assert_budget(validated(0.03, "mse"), error=0.02)


def test_accuracy_drop() -> None:
    assert_budget(validated(0.95), baseline=validated(0.955), max_accuracy_drop=0.5)
    with pytest.raises(BudgetError, match=r"fell from 95.60 % to 95.00 % \(-0.60 points"):
        assert_budget(validated(0.95), baseline=validated(0.956), max_accuracy_drop=0.5)
    with pytest.raises(BudgetError, match="cannot be compared"):
        assert_budget(report({"a": 1}), baseline=validated(0.9), max_accuracy_drop=1)


def test_mismatches_break_every_budget() -> None:
    wrong = report({"a": 300})
    wrong.message.bit_exact.outputs_compared = 1000
    wrong.message.bit_exact.mismatches = 3
    with pytest.raises(BudgetError, match="differs from the reference in 3 of 1 000"):
        assert_budget(wrong, cycles="1M")


@pytest.mark.parametrize("limits", [
    {}, {"baseline": report({"a": 1})}, {"max_regression": 1}, {"cycles": "many"},
    {"cycles": -1}, {"cycles": float("nan")}, {"accuracy": "96"}, {"sram": "64 miles"},
    {"memory": {"rom": 1}}, {"latency": "2h"},
])
def test_what_cannot_be_meant(limits: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        assert_budget(report({"a": 300}), **limits)  # type: ignore[arg-type]


def test_hostile_names_cannot_reach_the_terminal(tmp_path: pathlib.Path) -> None:
    name = "a\x1b[2J\n\u202efake\u2066" + "x" * 200
    with pytest.raises(BudgetError) as caught:
        assert_budget(report({name: 300}), cycles=1,
                      baseline=report({name: 100}), max_regression=1)
    text = str(caught.value)
    assert "\x1b" not in text and "\u202e" not in text and "\u2066" not in text
    assert len(max(text.split("\n"), key=len)) < 150


def test_baselines_as_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "main.json"
    report({"a": 300}).save(path)
    assert_budget(report({"a": 303}), baseline=path, max_regression=1)
    with pytest.raises(BudgetError):
        assert_budget(report({"a": 304}), baseline=str(path), max_regression=1)
    with pytest.raises(UsageError, match="0 reports of target 'other'"):
        assert_budget(report({"a": 1}, target="other"), baseline=path, max_regression=1)
