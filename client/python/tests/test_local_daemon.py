"""The user's own daemon: found, started, shared with the command line."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from conftest import TARGET

import edgekiln
from edgekiln import AccessError, ServiceError, _local_daemon
from edgekiln._local_daemon import LocalDaemon


@pytest.fixture
def home(private: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
         bin_folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Empty home and runtime folders; the programs are in PATH."""
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        (private / name).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(private / name))
    monkeypatch.delenv("EDGEKILN_SERVER", raising=False)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    yield private
    stop(private)


def socket_of(home: pathlib.Path) -> str:
    return str(home / "XDG_RUNTIME_DIR/edgekiln/edgekilnd.sock")


def peer(home: pathlib.Path) -> int | None:
    return _local_daemon._peer_of(socket_of(home))


def stop(home: pathlib.Path) -> None:
    pid = peer(home)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + 10
    while peer(home) is not None and time.monotonic() < until:
        time.sleep(0.05)


def test_started_shared_and_started_again(home: pathlib.Path, bin_folder: pathlib.Path,
                                          digits: pathlib.Path) -> None:
    with edgekiln.connect() as client:
        report = client.profile(digits, TARGET, timing_only=True)
        pid = peer(home)
        assert pid is not None
        mode = stat.S_IMODE(os.stat(socket_of(home)).st_mode)
        assert mode == 0o600
        done = subprocess.run(
            [bin_folder / "edgekiln", "profile", digits, "--target", TARGET,
             "--timing-only", "--json"], stdout=subprocess.PIPE, check=True, timeout=60)
        assert peer(home) == pid
        assert f'"cycles": {report.totals.cycles},'.encode() in done.stdout
        stop(home)
        assert client.profile(digits, TARGET, timing_only=True).totals == report.totals
        assert peer(home) not in (None, pid)


def test_several_at_once_start_one(home: pathlib.Path) -> None:
    code = "import edgekiln; print(len(edgekiln.connect().targets()))"
    programs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                 text=True) for _ in range(3)]
    outputs = {program.communicate(timeout=30)[0] for program in programs}
    assert len(outputs) == 1 and int(outputs.pop()) > 20


def test_a_replaced_program_is_retired(home: pathlib.Path, bin_folder: pathlib.Path) -> None:
    own = home / "bin"
    own.mkdir()
    for name in ("edgekilnd", "edgekiln-worker"):
        shutil.copy2(bin_folder / name, own / name)
    with edgekiln.connect(program=str(own / "edgekilnd")) as client:
        client.targets()
    first = peer(home)
    shutil.copy2(bin_folder / "edgekilnd", own / "new")
    os.replace(own / "new", own / "edgekilnd")
    with edgekiln.connect(program=str(own / "edgekilnd")) as client:
        client.targets()
    assert first is not None and peer(home) not in (None, first)


def test_the_daemon_that_the_user_runs_comes_first(
        home: pathlib.Path, bin_folder: pathlib.Path) -> None:
    service = subprocess.Popen(
        [bin_folder / "edgekilnd", "--workers", "1", "--ready-file", home / "ready"],
        stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while not (home / "ready").exists() and time.monotonic() < until:
            time.sleep(0.05)
        with edgekiln.connect() as client:
            assert "service.sock" in repr(client)
            assert client.targets()
        assert peer(home) is None
    finally:
        service.terminate()
        service.wait(20)


def test_the_variable(home: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEKILN_SERVER", "unix:/nowhere/s")
    assert "/nowhere/s" in repr(edgekiln.connect())
    monkeypatch.setenv("EDGEKILN_SERVER", "http://x")
    with pytest.raises(edgekiln.UsageError, match="EDGEKILN_SERVER=http"):
        edgekiln.connect()
    assert "localhost:1" in repr(edgekiln.connect("localhost:1"))


def test_a_folder_that_is_open_to_others(home: pathlib.Path) -> None:
    folder = home / "XDG_RUNTIME_DIR/edgekiln"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(AccessError, match="open to others"):
        edgekiln.connect()
    folder.rmdir()
    folder.symlink_to(home / "HOME")
    with pytest.raises(AccessError, match="not yours"):
        edgekiln.connect()


def test_a_daemon_that_does_not_start(home: pathlib.Path) -> None:
    program = home / "edgekilnd"
    program.write_text("#!/bin/sh\necho my last words\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(ServiceError, match="ended at once") as caught:
        edgekiln.connect(program=str(program))
    assert caught.value.detail.where == "my last words"
    with pytest.raises(ServiceError, match="edgekilnd is missing"):
        edgekiln.connect(program="/nowhere/edgekilnd")


def test_paths_that_are_too_long(home: pathlib.Path,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    long = home / ("x" * 100)
    long.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with pytest.raises(ServiceError, match="path is too long"):
        edgekiln.connect()


def test_where_the_program_is_looked_for(home: pathlib.Path, bin_folder: pathlib.Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    links = home / "links"
    links.mkdir()
    (links / "edgekiln").symlink_to(bin_folder / "edgekiln")
    monkeypatch.setenv("PATH", f"{links}:/usr/bin")
    assert LocalDaemon().program == str(bin_folder.resolve() / "edgekilnd")
    monkeypatch.setenv("PATH", "/usr/bin")
    assert LocalDaemon().program == "edgekilnd"
