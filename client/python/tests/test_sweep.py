"""Sweeps on a real daemon give the same rows as the command line."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from conftest import TARGET, Daemon
from test_jobs import wait_for_end

import edgekiln
from edgekiln import ModelError
from edgekiln._proto.edgekiln.v1 import jobs_pb2


def rows_of(text: str) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in text.splitlines()]


def test_rows_are_those_of_the_command_line(
        client: edgekiln.Client, daemon: Daemon, bin_folder: pathlib.Path,
        digits: pathlib.Path) -> None:
    sweep = client.sweep(digits, [TARGET, "toy-array"], goal="timing",
                         vary={"pes": [32, 64]},
                         exclude=[{"target": "toy-array", "pes": "32"}])
    rows = sweep.rows()
    done = subprocess.run(
        [bin_folder / "edgekiln", "sweep", digits, "--target", TARGET, "--target",
         "toy-array", "--timing-only", "--vary", "pes=32,64", "--exclude",
         "target=toy-array pes=32", "--json", "--server", daemon.address],
        stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    expected = sorted((row for row in rows_of(done.stdout) if "cell" in row),
                      key=lambda row: row["cell"])
    assert [(row.cell, row.state.lower(), row.model, row.target) for row in rows] == [
        (row["cell"], row["state"].lower(), row["model"], row["target"])
        for row in expected]
    for row, other in zip(rows, expected):
        assert row.report is not None
        assert row.report.totals.cycles == other["report"]["totals"]["cycles"]
        assert row.error is None
    assert sweep.keys == ("pes",) and sweep.finished
    assert rows[0].values == {"pes": "32"} and rows[-1].values == {"pes": None}
    assert sweep.summary.done == sweep.summary.valid == 3
    full = client.report(rows[0].job)
    assert full.totals.cycles == rows[0].report.totals.cycles  # type: ignore[union-attr]
    assert len(full.layers) > 5


def test_rows_come_one_by_one_and_again(client: edgekiln.Client,
                                        digits: pathlib.Path) -> None:
    with client.sweep([digits], "dla-64-*", goal="timing") as sweep:
        first = next(iter(sweep))
        assert first.state == "DONE" and not sweep.finished
        rows = list(sweep)
        assert rows[0] is first and rows == list(sweep) and len(rows) == 14
        frame = sweep.to_pandas()
        assert list(frame.index) == list(range(14))
        assert frame["cycles"].min() > 0 and "memory.sram" in frame.columns
        assert "dla-64-o-512k" in sweep._repr_html_()
        assert repr(sweep).endswith("14 of 14 cells>")


def test_refused_rows_have_the_reason(client: edgekiln.Client,
                                      digits: pathlib.Path) -> None:
    rows = client.sweep(digits, [TARGET, "toy-array"], goal="timing",
                        recipes=["serial"]).rows()
    assert [row.state for row in rows] == ["DONE", "REFUSED"]
    assert rows[1].error is not None and rows[1].error.reason == "RECIPE_UNKNOWN"
    assert rows[1].report is None


def test_a_sweep_that_cannot_be_meant(client: edgekiln.Client,
                                      digits: pathlib.Path) -> None:
    with pytest.raises(ModelError, match="SWEEP_KEY_UNKNOWN"):
        client.sweep(digits, TARGET, vary={"nothing": [1]}).wait()
    with pytest.raises(edgekiln.UsageError, match="no values"):
        client.sweep(digits, TARGET, vary={"pes": []})
    with pytest.raises(edgekiln.UsageError, match="goal"):
        client.sweep(digits, TARGET, goal="guess")


def test_validate_and_equal_names(client: edgekiln.Client, digits: pathlib.Path,
                                  tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "digits.onnx"
    copy.write_bytes(digits.read_bytes())
    folder = digits.parent
    rows = client.sweep([digits, copy], TARGET, goal="validate", limit=50,
                        data=folder / "digits_test.npz",
                        calibration=folder / "digits_calibration.npz").rows()
    assert {row.model for row in rows} == {str(digits), str(copy)}
    accuracies = {row.report.accuracy.value for row in rows
                  if row.report is not None and row.report.accuracy is not None}
    assert len(accuracies) == 1 and accuracies.pop() > 0.9


def test_leaving_the_context_cancels(client: edgekiln.Client, daemon: Daemon,
                                     digits: pathlib.Path) -> None:
    with client.sweep(digits, TARGET, limit=20000,
                      vary={"seed": range(os.getpid(), os.getpid() + 3)}) as sweep:
        pass
    assert wait_for_end(daemon, sweep.id).state == jobs_pb2.CANCELLED


def test_ctrl_c_while_waiting_cancels(client: edgekiln.Client, daemon: Daemon,
                                      digits: pathlib.Path) -> None:
    import _thread
    import threading

    sweep = client.sweep(digits, TARGET, limit=20000,
                         vary={"seed": range(os.getpid() + 9, os.getpid() + 12)})
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        sweep.wait()
    assert wait_for_end(daemon, sweep.id).state == jobs_pb2.CANCELLED
