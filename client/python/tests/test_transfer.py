"""Uploads to a real daemon, also over connections that break."""

from __future__ import annotations

import pathlib
import secrets
import threading
from typing import Any

import pytest
from conftest import Daemon
from fake_server import CuttingProxy

import edgekiln
from edgekiln import ModelError, UsageError, _blobs, _upload
from edgekiln._connection import Connection

MIB = 1 << 20


@pytest.fixture
def big(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "big.bin"
    path.write_bytes(secrets.token_bytes(24 * MIB + 17))
    return path


def has(address: str, digest: _blobs.Digest) -> bool:
    """Whether the daemon has the blob."""
    connection = Connection(address, "", "")
    blob = _blobs.Blob(digest, "x", b"")
    try:
        missing = _upload._Uploader(connection, None, None)._missing([blob])
    finally:
        connection.close()
    return not missing


def test_a_broken_upload_goes_on_where_it_was(daemon: Daemon, private: pathlib.Path,
                                              big: pathlib.Path) -> None:
    proxy = CuttingProxy(str(private / "p"), daemon.address, [10 * MIB, 3 * MIB, 6 * MIB])
    with edgekiln.connect(proxy.address) as client:
        digest = client.upload(big)
    assert has(daemon.address, digest)
    assert proxy.connections == 4
    # Only the data in flight at each cut is sent twice.
    assert 24 * MIB < proxy.sent < 24 * MIB + 3 * 4 * MIB
    proxy.close()


def test_an_upload_survives_a_restart_of_the_daemon(
        bin_folder: pathlib.Path, private: pathlib.Path, big: pathlib.Path) -> None:
    own = Daemon(bin_folder, private, workers=0)
    sent: list[int] = []
    restarted = threading.Event()

    def restart(done: int, total: int) -> None:
        sent.append(done)
        if done > 8 * MIB and not restarted.is_set():
            restarted.set()
            own.stop()
            own.start()

    try:
        with edgekiln.connect(own.address) as client:
            digest = client.upload(big, progress=restart)
        assert restarted.is_set() and has(own.address, digest)
        assert sent[-1] == digest.size_bytes
    finally:
        own.stop()


@pytest.mark.parametrize("size", [0, 1, 256 << 10, (256 << 10) + 1, MIB, MIB + 1])
def test_sizes(daemon: Daemon, client: edgekiln.Client, tmp_path: pathlib.Path,
               size: int) -> None:
    data = secrets.token_bytes(size)
    path = tmp_path / "x"
    path.write_bytes(data)
    digest = client.upload(path)
    assert digest == client.upload(data) and digest.size_bytes == size
    assert has(daemon.address, digest)


def test_what_the_daemon_has_is_not_sent_again(client: edgekiln.Client,
                                               big: pathlib.Path) -> None:
    told: list[tuple[int, int]] = []
    client.upload(big, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (big.stat().st_size,) * 2
    told.clear()
    client.upload(big, progress=lambda done, total: told.append((done, total)))
    assert not told


def test_a_file_that_changes_is_noticed(client: edgekiln.Client, daemon: Daemon,
                                        big: pathlib.Path) -> None:
    connection = Connection(daemon.address, "", "")
    blob = _blobs.open_blob(big, "x")
    with open(big, "r+b") as file:
        file.truncate(5 * MIB)
    with pytest.raises(ModelError, match="the file changed"):
        _upload.upload(connection, [blob], None)
    small = big.with_name("small")
    small.write_bytes(b"before")
    blob = _blobs.open_blob(small, "x")
    small.write_bytes(b"after")
    with pytest.raises(ModelError, match="the file changed"):
        _upload.upload(connection, [blob], None)
    connection.close()


@pytest.mark.parametrize(("path", "what"), [
    ("/nowhere/x.onnx", "does not exist"), ("/dev/zero", "not a regular file"),
    ("/tmp", "is a folder")])
def test_files_that_cannot_be_read(client: edgekiln.Client, path: str,
                                   what: str) -> None:
    with pytest.raises(UsageError, match=what):
        client.inspect(path)


def test_large_files_are_not_held_in_memory(client: edgekiln.Client,
                                            tmp_path: pathlib.Path) -> None:
    import tracemalloc

    path = tmp_path / "large"
    with open(path, "wb") as file:
        for _ in range(64):
            file.write(secrets.token_bytes(MIB))
    tracemalloc.start()
    client.upload(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * MIB


def test_write_request_is_what_protobuf_makes_of_it() -> None:
    from edgekiln._proto.google.bytestream import bytestream_pb2

    for data in (b"", b"x", bytes(127), bytes(128), bytes(300_000)):
        made: Any = bytestream_pb2.WriteRequest.FromString(
            _upload.write_request("uploads/u/blobs/h/1", 1 << 40, True, data))
        assert made == bytestream_pb2.WriteRequest(
            resource_name="uploads/u/blobs/h/1", write_offset=1 << 40,
            finish_write=True, data=data)


def test_an_error_of_progress_ends_the_upload(client: edgekiln.Client,
                                              big: pathlib.Path) -> None:
    def fail(done: int, total: int) -> None:
        if done > 3 * MIB:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        client.upload(big, progress=fail)
    client.upload(big)


def test_ctrl_c_ends_an_upload(client: edgekiln.Client, big: pathlib.Path) -> None:
    import _thread
    import time

    told: list[int] = []

    def interrupt(done: int, total: int) -> None:
        if done >= 3 * MIB and not told:
            told.append(done)
            _thread.interrupt_main()
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        client.upload(big, progress=interrupt)
    client.upload(big)
