"""Calls to a fake server: errors, retries, hostile answers."""

from __future__ import annotations

import hashlib
import pathlib
import time
from typing import Any

import grpc
import pytest
from fake_server import FakeServer, abort

import edgekiln
from edgekiln import ModelError, ServiceError, _connection, _download, _rpc, _transfer
from edgekiln._blobs import Digest
from edgekiln._connection import Connection
from edgekiln._proto.edgekiln.v1 import data_pb2, error_pb2, jobs_pb2, report_pb2
from edgekiln._proto.google.bytestream import bytestream_pb2

DETAIL = error_pb2.ErrorDetail(
    fault=error_pb2.ErrorDetail.USER, reason="TARGET_UNKNOWN",
    what="no such target", where="GetTarget", need="a name of the list",
    limit="28 targets", fix="did you mean dla?", message="no such target")


def one_answer(path: pathlib.Path, answer: Any) -> FakeServer:
    return FakeServer(str(path / "s"), {_rpc.LIST_TARGETS: answer},
                      {_rpc.LIST_TARGETS: jobs_pb2.ListTargetsRequest})


def test_the_daemons_detail_is_in_the_error(private: pathlib.Path) -> None:
    def answer(request: Any, context: grpc.ServicerContext) -> None:
        abort(context, grpc.StatusCode.NOT_FOUND, DETAIL)

    with one_answer(private, answer) as server:
        with edgekiln.connect(server.address) as client, pytest.raises(
                ModelError) as caught:
            client.targets()
    detail = caught.value.detail
    assert (detail.reason, detail.what, detail.where, detail.limit, detail.need,
            detail.fix, detail.fault, detail.code) == (
        "TARGET_UNKNOWN", "no such target", "GetTarget", "28 targets",
        "a name of the list", "did you mean dla?", "USER", 5)
    assert "did you mean dla?" in str(caught.value)


@pytest.mark.parametrize(("code", "reason"), [
    (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN"), (grpc.StatusCode.UNAVAILABLE, "")])
def test_a_daemon_that_goes_down_is_waited_for(
        private: pathlib.Path, code: grpc.StatusCode, reason: str) -> None:
    calls = []

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        calls.append(time.monotonic())
        if len(calls) == 2:
            if reason:
                abort(context, code, error_pb2.ErrorDetail(
                    fault=error_pb2.ErrorDetail.INFRA, reason=reason, what="down"))
            context.abort(code, "broken")
        return jobs_pb2.ListTargetsResponse()

    with one_answer(private, answer) as server:
        with edgekiln.connect(server.address) as client:
            client.targets()
            client.targets()
    assert len(calls) == 3


def test_what_the_daemon_refuses_for_the_moment_is_asked_again_when_it_says(
        private: pathlib.Path) -> None:
    calls = []

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        calls.append(time.monotonic())
        if len(calls) == 1:
            abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, error_pb2.ErrorDetail(
                fault=error_pb2.ErrorDetail.QUOTA, reason="QUEUE_FULL", what="full"),
                retry_after=0.3)
        return jobs_pb2.ListTargetsResponse()

    request = jobs_pb2.ListTargetsRequest()
    with one_answer(private, answer) as server:
        connection = Connection(server.address, "s", "")
        connection.when_told(lambda: connection.call(_rpc.LIST_TARGETS, request), None)
        assert len(calls) == 2 and calls[1] - calls[0] >= 0.3
        calls.clear()
        with pytest.raises(ServiceError, match="QUEUE_FULL") as caught:
            connection.when_told(lambda: connection.call(_rpc.LIST_TARGETS, request),
                                 time.monotonic() + 0.1)
        assert caught.value.retry_after == pytest.approx(0.3)
        connection.close()


@pytest.mark.parametrize("address", ["unix:/nowhere/s", "127.0.0.1:1"])
def test_nothing_listens(address: str) -> None:
    with edgekiln.connect(address) as client, pytest.raises(
            ServiceError, match="no daemon answers") as caught:
        client.targets()
    assert caught.value.detail.reason == "DAEMON_UNREACHABLE"
    assert address in caught.value.detail.where


def test_an_upload_gives_up_soon_where_nothing_has_ever_answered(
        tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transfer, "_FIRST_PATIENCE", 0.3)
    (tmp_path / "m.onnx").write_bytes(b"model")
    with edgekiln.connect("unix:/nowhere/s") as client, pytest.raises(
            ServiceError, match="no daemon answers"):
        client.inspect(tmp_path / "m.onnx")


def test_a_slow_daemon_ends_with_the_timeout(private: pathlib.Path) -> None:
    calls = []

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        calls.append(1)
        if len(calls) == 2:
            time.sleep(1)
        return jobs_pb2.ListTargetsResponse()

    with one_answer(private, answer) as server:
        with edgekiln.connect(server.address, timeout=0.3) as client:
            client.targets()
            with pytest.raises(edgekiln.DeadlineError, match="the time is up") as caught:
                client.targets()
    assert caught.value.detail.reason == "TIMEOUT"


DATA = b"0123456789" * 1000
GOOD = Digest(hashlib.sha256(DATA).hexdigest(), len(DATA))


def reader(path: pathlib.Path, answer: Any) -> FakeServer:
    return FakeServer(str(path / "s"), {_rpc.READ: answer},
                      {_rpc.READ: bytestream_pb2.ReadRequest}, streams=(_rpc.READ,))


def test_a_download_goes_on_where_it_broke(private: pathlib.Path) -> None:
    offsets = []

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        offsets.append(request.read_offset)
        yield bytestream_pb2.ReadResponse(
            data=DATA[request.read_offset:request.read_offset + 4000])
        if request.read_offset + 4000 < len(DATA):
            context.abort(grpc.StatusCode.UNAVAILABLE, "cut")

    pieces: list[bytes] = []
    with reader(private, answer) as server:
        connection = Connection(server.address, "s", "")
        _download.download(connection, GOOD, pieces.append, None)
        connection.close()
    assert b"".join(pieces) == DATA and offsets == [0, 4000, 8000]


@pytest.mark.parametrize(("sent", "what"), [
    (b"x" * len(DATA), "does not have its digest"), (DATA + b"x", "more than the blob"),
    (DATA[:-1], "does not have its digest")], ids=["other", "longer", "shorter"])
def test_a_download_that_is_not_the_blob(private: pathlib.Path, sent: bytes,
                                         what: str) -> None:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        yield bytestream_pb2.ReadResponse(data=sent)

    with reader(private, answer) as server:
        connection = Connection(server.address, "s", "")
        with pytest.raises(ServiceError, match=what):
            _download.download(connection, GOOD, lambda data: None, None)
        connection.close()


def test_an_endless_download_is_cut_off(private: pathlib.Path) -> None:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        while context.is_active():
            yield bytestream_pb2.ReadResponse(data=bytes(1 << 20))

    received: list[int] = []
    with reader(private, answer) as server:
        connection = Connection(server.address, "s", "")
        with pytest.raises(ServiceError, match="more than the blob"):
            _download.download(connection, Digest("0" * 64, 5 << 20),
                               lambda data: received.append(len(data)), None)
        connection.close()
    assert sum(received) <= 5 << 20


@pytest.mark.parametrize(("digest", "reason"), [
    (data_pb2.Digest(hash="0" * 64, size_bytes=1 << 50), "ANSWER_TOO_LARGE"),
    (data_pb2.Digest(hash="../../x", size_bytes=1), "BAD_DIGEST"),
    (data_pb2.Digest(hash="0" * 64, size_bytes=-1), "BAD_DIGEST")])
def test_a_whole_answer_that_cannot_be(private: pathlib.Path, digest: data_pb2.Digest,
                                       reason: str) -> None:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        return report_pb2.Report(whole=digest)

    with FakeServer(str(private / "s"), {_rpc.GET_REPORT: answer},
                    {_rpc.GET_REPORT: jobs_pb2.GetReportRequest}) as server:
        with edgekiln.connect(server.address) as client, pytest.raises(
                edgekiln.EdgekilnError) as caught:
            client.report("j1")
    assert caught.value.detail.reason == reason


def test_other_packages_may_bring_their_own_status_proto() -> None:
    """Puts different files of the same names into protobuf's default pool."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    for name, package in (("google/rpc/status.proto", "google.rpc"),
                          ("edgekiln/v1/error.proto", "edgekiln.v1")):
        file = descriptor_pb2.FileDescriptorProto(name=name, package=package,
                                                  syntax="proto3")
        message = file.message_type.add(name="Status" if "status" in name
                                        else "ErrorDetail")
        message.field.add(name="other", number=1, type=9, label=1)
        descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    assert error_pb2.ErrorDetail(reason="X").reason == "X"
    assert _connection.RECONNECT_FOR == 300
