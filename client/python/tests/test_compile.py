"""compile and quantize on a real daemon give what the command line gives."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from conftest import TARGET
from fake_server import FakeServer

import edgekiln
from edgekiln import ServiceError, UsageError, _rpc
from edgekiln._connection import Connection
from edgekiln._proto.edgekiln.v1 import jobs_pb2, report_pb2
from edgekiln.bundle import Bundle

Cli = Callable[..., Any]


def below(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_is_the_command_lines(client: edgekiln.Client, cli: Cli,
                                       digits: pathlib.Path,
                                       tmp_path: pathlib.Path) -> None:
    expected = cli("compile", digits, "--target", TARGET, "-o", tmp_path / "theirs",
                   "--json")
    bundle = client.compile(digits, TARGET)
    assert bundle.report.totals.cycles == expected["totals"]["cycles"]
    assert bundle.report.bit_exact is None
    paths = bundle.save(tmp_path / "mine" / "deeper")
    made = below(tmp_path / "mine" / "deeper")
    assert made == below(tmp_path / "theirs") and len(made) > 5
    assert {str(path.relative_to(tmp_path / "mine/deeper")) for path in paths} == set(made)
    assert dict(bundle.files) == {path: len(data) for path, data in made.items()}
    name = sorted(made)[0]
    assert bundle.read(name) == made[name]
    with pytest.raises(KeyError):
        bundle.read("no such file")
    # Again: files are replaced.
    assert bundle.save(tmp_path / "mine" / "deeper") == paths


def test_a_network_has_the_name_that_is_asked_for(
        client: edgekiln.Client, digits: pathlib.Path) -> None:
    bundle = client.compile(digits, TARGET, name="kws")
    assert "c/kws.h" in bundle.files
    with pytest.raises(edgekiln.ModelError, match="cannot begin C identifiers"):
        client.compile(digits, TARGET, name="../kws")


def test_a_bundle_follows_no_links(client: edgekiln.Client, digits: pathlib.Path,
                                   tmp_path: pathlib.Path) -> None:
    bundle = client.compile(digits, TARGET)
    outside = tmp_path / "outside"
    outside.write_text("kept")
    name = sorted(bundle.files)[0]
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(UsageError, match="symbolic link"):
        bundle.save(tmp_path / "out")
    assert outside.read_text() == "kept"
    with pytest.raises(UsageError, match="cannot be written"):
        bundle.save(outside)


@pytest.mark.parametrize("paths", [
    ["../x"], ["/x"], ["a//b"], ["a\\b"], ["."], [""], ["a\n"], ["a", "a"], ["x" * 1025]])
def test_paths_that_lead_elsewhere(private: pathlib.Path, paths: list[str]) -> None:
    job = jobs_pb2.Job(artifacts=[
        jobs_pb2.Artifact(path=path, digest={"hash": "0" * 64}) for path in paths])
    with pytest.raises(ServiceError, match="outside of the output"):
        Bundle(Connection("unix:/nowhere/s", "s", ""), job,
               edgekiln.Report(report_pb2.Report()), None)


def test_quantize(client: edgekiln.Client, cli: Cli, digits: pathlib.Path,
                  tmp_path: pathlib.Path) -> None:
    folder = digits.parent
    calibration, data = folder / "digits_calibration.npz", folder / "digits_test.npz"
    output = tmp_path / "mine.onnx"
    report = client.quantize(digits, TARGET, data, calibration=calibration, limit=50,
                             output=output)
    expected = cli("quantize", digits, "--target", TARGET, "--data", data, "--limit", 50,
                   "--calibration", calibration, "-o", tmp_path / "theirs.onnx", "--json")
    assert output.read_bytes() == (tmp_path / "theirs.onnx").read_bytes()
    assert [path.name for path in tmp_path.iterdir() if ".part" in path.name] == []
    quantized = report.quantized
    assert quantized is not None
    theirs = expected["quantized"]
    assert quantized.samples == theirs["samples"] > 0
    assert quantized.output_sqnr_db == theirs["output_sqnr_db"]
    assert [layer.id for layer in quantized.layers] == [
        layer["id"] for layer in theirs["layers"]]
    for mine, other in zip(quantized.layers, theirs["layers"]):
        assert mine.output_sqnr_db == other.get("output_sqnr_db")
        assert mine.scale == other.get("scale", 0)
    assert any(layer.weights == "INT8" for layer in quantized.layers)
    assert report.accuracy is not None and report.accuracy.samples == 50


def test_quantize_for_no_chip(client: edgekiln.Client, digits: pathlib.Path) -> None:
    report = client.quantize(digits, calibration_method="minmax")
    assert report.quantized is not None and report.target_name == ""
    assert client.profile(digits, TARGET, timing_only=True).quantized is None


def test_an_output_that_cannot_be(private: pathlib.Path, digits: pathlib.Path) -> None:
    """Before anything is asked of a daemon."""
    model = private / "net.onnx"
    model.write_bytes(digits.read_bytes())

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        raise AssertionError("a daemon was asked")

    with FakeServer(str(private / "s"), {_rpc.CREATE_JOB: answer},
                    {_rpc.CREATE_JOB: jobs_pb2.CreateJobRequest}) as server:
        with edgekiln.connect(server.address) as client:
            for output, why in ((private, "folder"), (private / "no/such.onnx", "folder"),
                                (model, "model is read"), ("/dev/null", "regular")):
                with pytest.raises(UsageError, match=why):
                    client.quantize(model, output=output)
            with pytest.raises(UsageError, match="need data"):
                client.quantize(model, limit=3)
    assert model.read_bytes() == digits.read_bytes()
