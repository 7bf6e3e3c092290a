"""Jobs on a real daemon give the same figures as the command line."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from conftest import TARGET, Daemon, need
from fake_server import CuttingProxy

import edgekiln
from edgekiln import CancelledError, DeadlineError, ModelError, Options, Transform, _rpc
from edgekiln._connection import Connection
from edgekiln._proto.edgekiln.v1 import jobs_pb2

Cli = Callable[..., Any]
RUN_FIELDS = ("job_id", "stages", "gates")


def test_profile_is_the_command_lines(client: edgekiln.Client, cli: Cli,
                                      digits: pathlib.Path) -> None:
    events: list[int] = []
    report = client.profile(digits, TARGET,
                            on_event=lambda event: events.append(event.sequence))
    expected = cli("profile", digits, "--target", TARGET, "--json")
    assert report.totals.cycles == expected["totals"]["cycles"]
    assert [layer.cycles for layer in report.layers] == [
        layer["cycles"] for layer in expected["layers"]]
    made = json.loads(report.to_json())
    for name in RUN_FIELDS:
        made.pop(name), expected.pop(name)
    assert made == expected
    assert report.bit_exact is not None and report.bit_exact.mismatches == 0
    assert report.accuracy is None
    assert events == list(range(1, len(events) + 1))
    assert f"{report.totals.cycles:,}".replace(",", " ") in repr(report)


def test_baselines_are_the_bytes_of_the_command_line(
        client: edgekiln.Client, cli: Cli, digits: pathlib.Path,
        tmp_path: pathlib.Path) -> None:
    report = client.profile(digits, TARGET)
    report.save(tmp_path / "mine.json")
    new = tmp_path / "new.json"
    new.write_text(json.dumps(cli("profile", digits, "--target", TARGET, "--json")))
    cli("report", "baseline", new, "-o", tmp_path / "theirs.json")
    assert (tmp_path / "mine.json").read_text() == (tmp_path / "theirs.json").read_text()


def test_diff_is_the_command_lines(client: edgekiln.Client, cli: Cli,
                                   digits: pathlib.Path, tmp_path: pathlib.Path) -> None:
    a = client.profile(digits, TARGET)
    b = client.profile(digits, "dla-128-i-1m", timing_only=True)
    for name, report in (("a.json", a), ("b.json", b)):
        report.save(tmp_path / name)
    expected = cli("report", "diff", tmp_path / "a.json", tmp_path / "b.json",
                   "--target", TARGET, "--target", "dla-128-i-1m", "--json")
    made = edgekiln.diff(a, b)
    assert list(made.caveats) == expected["caveats"]
    assert [(one.name, one.a, one.b, one.change) for one in made.totals] == [
        (one["name"], one["a"], one["b"], one["change"]) for one in expected["totals"]]
    assert [(one.id, one.change, list(one.differences)) for one in made.layers] == [
        (one["id"], one["change"], one["differences"]) for one in expected["layers"]]


def test_validate(client: edgekiln.Client, cli: Cli, digits: pathlib.Path) -> None:
    folder = digits.parent
    calibration, data = folder / "digits_calibration.npz", folder / "digits_test.npz"
    report = client.validate(digits, TARGET, data, calibration=calibration, limit=100)
    expected = cli("validate", digits, "--target", TARGET, "--data", data,
                   "--calibration", calibration, "--limit", 100, "--json")
    assert report.accuracy is not None
    assert report.accuracy.value == expected["accuracy"]["value"]
    assert report.accuracy.samples == 100 and report.accuracy.metric == "top1"
    assert report.accuracy.interval is not None
    assert asdict(report.accuracy.interval) == expected["accuracy"]["interval"]
    with np.load(data) as arrays:
        samples = {"image": arrays["x"][:100], "y": arrays["y"][:100]}
    again = client.validate(digits, TARGET, samples, calibration=calibration)
    assert again.accuracy == report.accuracy


def test_run_gives_the_outputs_of_the_command_line(
        client: edgekiln.Client, cli: Cli, digits: pathlib.Path,
        tmp_path: pathlib.Path) -> None:
    with np.load(digits.parent / "digits_test.npz") as arrays:
        images = arrays["x"][:7].astype("float32").reshape(7, 1, 28, 28)
    np.savez(tmp_path / "in.npz", image=images)
    for target in (None, TARGET):
        chip = [] if target is None else ["--target", target]
        cli("run", digits, "--data", tmp_path / "in.npz", "-o", tmp_path / "out.npz",
            *chip)
        outputs = client.run(digits, {"image": images}, target)
        with np.load(tmp_path / "out.npz") as expected:
            assert set(outputs) == set(expected.files) == {"logits"}
            assert outputs["logits"].dtype == expected["logits"].dtype
            assert np.array_equal(outputs["logits"], expected["logits"])
        assert np.array_equal(client.run(digits, images, target)["logits"],
                              outputs["logits"])
    scaled = client.run(digits, images * 2, transforms=[Transform(scale=0.5)])
    assert np.array_equal(scaled["logits"], client.run(digits, images)["logits"])


def test_a_shared_model(client: edgekiln.Client, cli: Cli, shared: pathlib.Path) -> None:
    model = need(shared / "models/ad_int8.tflite")
    report = client.profile(model, "toy-array", timing_only=True)
    expected = cli("profile", model, "--target", "toy-array", "--timing-only", "--json")
    assert report.totals.cycles == expected["totals"]["cycles"] > 0
    described = client.inspect(model, "toy-array")
    assert described.format == "tflite" and described.quantized
    assert [layer.engine for layer in described.layers][0]
    assert described.inputs[0].type == "int8"


def test_inspect(client: edgekiln.Client, cli: Cli, digits: pathlib.Path) -> None:
    described = client.inspect(digits)
    expected = cli("inspect", digits, "--json")
    assert described.macs == expected["macs"]
    assert [layer.id for layer in described.layers] == [
        layer["id"] for layer in expected["layers"]]
    assert described.inputs[0].shape == (1, 1, 28, 28)
    assert len(described.to_pandas()) == len(described.layers)
    assert "conv1" in described._repr_html_()


def test_models_and_targets_as_bytes_and_files(
        client: edgekiln.Client, digits: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = b'extends: "dla"\nset { name: "pes" value: 96 }\n'
    path = tmp_path / "mine.txtpb"
    path.write_bytes(text)
    by_path = client.profile(str(digits), path, timing_only=True)
    by_bytes = client.profile(digits.read_bytes(), text, timing_only=True)
    assert by_path.target_name == "mine" and by_bytes.target_name == "target"
    assert by_path.totals == by_bytes.totals
    assert "dla-64-o-512k" in client.targets()


def test_options(client: edgekiln.Client, digits: pathlib.Path) -> None:
    def cycles(**options: Any) -> int:
        return client.profile(digits, TARGET, timing_only=True, **options).totals.cycles

    usual = cycles()
    assert cycles(offload="none") > usual
    assert cycles(recipe="serial") != usual
    assert cycles(io="float") > usual
    report = client.profile(digits, TARGET, timing_only=True, recipe="serial",
                            options=Options(job_class="batch"))
    assert report.recipe == "serial" and report.offload == "all"


def test_errors_have_the_daemons_detail(client: edgekiln.Client, digits: pathlib.Path,
                                        tmp_path: pathlib.Path) -> None:
    with pytest.raises(ModelError) as caught:
        client.profile(digits, "dla-64-o-512")
    assert caught.value.detail.reason == "TARGET_UNKNOWN"
    assert "dla-64-o-512k" in str(caught.value)
    with pytest.raises(ModelError) as caught:
        client.profile(digits, TARGET, recipe="nothing")
    assert caught.value.detail.reason == "RECIPE_UNKNOWN"
    (tmp_path / "bad.onnx").write_bytes(b"no model at all")
    with pytest.raises(ModelError) as caught:
        client.profile(tmp_path / "bad.onnx", TARGET)
    assert caught.value.detail.fault == "USER" and caught.value.detail.what
    assert "bad.onnx" in str(caught.value)


@pytest.mark.parametrize("options", [
    {"offload": "some"}, {"io": "text"}, {"calibration_method": "percentile:20"},
    {"limit": 0}, {"seed": -1}, {"timeout": 0}, {"options": Options(job_class="x")},
    {"transforms": [Transform(scale=0)]}, {"options": Options(run_timeout=-1)},
    {"options": Options(accuracy_budget=1)}, {"data": {}}, {"calibration": "nowhere"},
])
def test_arguments_that_cannot_be_meant(client: edgekiln.Client, digits: pathlib.Path,
                                        options: dict[str, Any]) -> None:
    with pytest.raises(edgekiln.UsageError):
        client.profile(digits, TARGET, **options)


def test_a_watch_goes_on_after_its_connection_broke(
        daemon: Daemon, private: pathlib.Path, digits: pathlib.Path) -> None:
    """The proxy cuts the connection while events come."""
    proxy = CuttingProxy(str(private / "p"), daemon.address, [])
    sequences: list[int] = []

    def on_event(event: jobs_pb2.JobEvent) -> None:
        sequences.append(event.sequence)
        if len(sequences) in (2, 5, 9):
            proxy.cut()

    with edgekiln.connect(proxy.address) as client:
        report = client.profile(digits, TARGET, seed=int(time.time()), limit=64,
                                on_event=on_event)
    proxy.close()
    assert report.totals.cycles > 0 and proxy.connections > 1
    assert sequences == list(range(1, len(sequences) + 1))


def job_of(daemon: Daemon, job_id: str) -> jobs_pb2.Job:
    connection = Connection(daemon.address, "", "")
    try:
        return connection.call(_rpc.GET_JOB, jobs_pb2.GetJobRequest(id=job_id))
    finally:
        connection.close()


def wait_for_end(daemon: Daemon, job_id: str) -> jobs_pb2.Job:
    until = time.monotonic() + 10
    while (job := job_of(daemon, job_id)).state in (jobs_pb2.QUEUED, jobs_pb2.RUNNING):
        assert time.monotonic() < until, job
        time.sleep(0.05)
    return job


LONG_JOB = """
import sys
import edgekiln
client = edgekiln.connect(sys.argv[1])
client.profile(sys.argv[2], "dla-64-o-512k", seed=int(sys.argv[3]), limit=50000,
               on_event=lambda event: print(event.sequence, flush=True))
"""


def test_ctrl_c_cancels_the_job(daemon: Daemon, cli: Cli, digits: pathlib.Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", LONG_JOB, daemon.address, str(digits), str(os.getpid())],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline().strip() == "1"
    while program.stdout.readline().strip() not in ("4", ""):
        pass
    [job] = [job for job in cli("jobs", "list", "--state", "active", "--json")["jobs"]]
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors and program.returncode != 0
    assert wait_for_end(daemon, job["id"]).state == jobs_pb2.CANCELLED


def test_a_timeout_cancels_the_job(daemon: Daemon, client: edgekiln.Client, cli: Cli,
                                   digits: pathlib.Path) -> None:
    with pytest.raises(DeadlineError, match="the time is up") as caught:
        client.profile(digits, TARGET, seed=os.getpid() + 1, limit=50000, timeout=2.5)
    found = re.search(r"job (\S+)", caught.value.detail.message)
    assert found is not None
    job = wait_for_end(daemon, found.group(1).rstrip(":"))
    assert job.state == jobs_pb2.CANCELLED


def test_a_job_that_is_cancelled_elsewhere(daemon: Daemon, client: edgekiln.Client,
                                           cli: Cli, digits: pathlib.Path) -> None:
    cancelled: list[str] = []

    def on_event(event: jobs_pb2.JobEvent) -> None:
        if not cancelled and event.WhichOneof("event") == "stage_started":
            [job] = cli("jobs", "list", "--state", "active", "--json")["jobs"]
            cancelled.append(job["id"])
            cli("jobs", "cancel", job["id"])

    with pytest.raises(CancelledError, match="the job was cancelled"):
        client.profile(digits, TARGET, seed=os.getpid() + 2, limit=50000,
                       on_event=on_event)


def test_an_error_of_on_event_cancels_the_job(daemon: Daemon, client: edgekiln.Client,
                                              cli: Cli, digits: pathlib.Path) -> None:
    def on_event(event: jobs_pb2.JobEvent) -> None:
        if event.WhichOneof("event") == "stage_started":
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        client.profile(digits, TARGET, seed=os.getpid() + 3, limit=50000,
                       on_event=on_event)
    newest = cli("jobs", "list", "--json")["jobs"][0]
    assert wait_for_end(daemon, newest["id"]).state == jobs_pb2.CANCELLED


def test_a_newer_job_supersedes(daemon: Daemon, digits: pathlib.Path) -> None:
    pane = Options(supersede="pane")
    with edgekiln.connect(daemon.address) as one, edgekiln.connect(
            daemon.address) as other:
        started: list[int] = []

        def on_event(event: jobs_pb2.JobEvent) -> None:
            if not started and event.WhichOneof("event") == "stage_started":
                started.append(1)
                other.profile(digits, TARGET, timing_only=True, options=pane)

        with pytest.raises(CancelledError, match="SUPERSEDED"):
            one.profile(digits, TARGET, seed=os.getpid() + 4, limit=50000, options=pane,
                        on_event=on_event)
