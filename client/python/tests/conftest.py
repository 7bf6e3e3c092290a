"""A daemon with two workers on a Unix socket in a temporary folder.

Environment: EDGEKILN_BIN, the folder of the programs; EDGEKILN_SOURCE, the
clone; EDGEKILN_SHARED, the folder with models (run_tests.py sets them). A test
whose data is absent skips, and fails where CI=true.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import edgekiln

TARGET = "dla-64-o-512k"
pytest_plugins = ["pytester"]


def need(path: pathlib.Path) -> pathlib.Path:
    if path.exists():
        return path
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true, and {path} is absent")
    pytest.skip(f"{path} is absent")


def folder_of(variable: str) -> pathlib.Path:
    return need(pathlib.Path(os.environ.get(variable, f"{variable}-is-not-set")))


@pytest.fixture(scope="session")
def bin_folder() -> pathlib.Path:
    return need(folder_of("EDGEKILN_BIN") / "edgekilnd").parent


@pytest.fixture(scope="session")
def source() -> pathlib.Path:
    return folder_of("EDGEKILN_SOURCE")


@pytest.fixture(scope="session")
def digits(source: pathlib.Path) -> pathlib.Path:
    return need(source / "docs/example/digits.onnx")


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    return folder_of("EDGEKILN_SHARED")


@pytest.fixture
def private() -> Iterator[pathlib.Path]:
    """A folder with a short path: Unix socket paths are limited to 107 bytes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ek-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class Daemon:
    """An edgekilnd that can be restarted with its state."""

    def __init__(self, bin_folder: pathlib.Path, folder: pathlib.Path,
                 workers: int, listen: str = "") -> None:
        self.folder = folder
        self._command = [
            str(bin_folder / "edgekilnd"), "--listen", listen or f"unix:{folder}/d.sock",
            "--workers-listen", f"unix:{folder}/w.sock", "--state", f"{folder}/state",
            "--workers", str(workers), "--ready-file", f"{folder}/ready"]
        self.start()

    def start(self) -> None:
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self._command, stderr=log, stdout=log)
        until = time.monotonic() + 30
        while not ready.exists():
            assert self.process.poll() is None and time.monotonic() < until, (
                (self.folder / "log").read_text())
            time.sleep(0.02)
        self.address = ready.read_text().split()[0]

    def stop(self, with_signal: int = signal.SIGTERM) -> None:
        self.process.send_signal(with_signal)
        self.process.wait(20)


@pytest.fixture(scope="session")
def daemon(bin_folder: pathlib.Path) -> Iterator[Daemon]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ek-"))
    made = Daemon(bin_folder, folder, workers=2)
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def client(daemon: Daemon) -> Iterator[edgekiln.Client]:
    with edgekiln.connect(daemon.address, timeout=60) as made:
        yield made


@pytest.fixture
def cli(daemon: Daemon, bin_folder: pathlib.Path) -> Callable[..., Any]:
    """Runs the command line on the same daemon. Returns its parsed JSON with --json,
    else its output."""

    def run(*arguments: object) -> Any:
        done = subprocess.run(
            [bin_folder / "edgekiln", *map(str, arguments)], text=True, timeout=60,
            env={**os.environ, "EDGEKILN_SERVER": daemon.address},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return run
