"""Uploads a file by this package and by the command line, in turn, to the same
daemon; prints the rates and their ratio (goal: 0.8).

usage: bench_upload.py BIN [--size GIB] [--rounds N]

The package must be installed (tests/run_tests.py shows how). Each round is a new
process for each, and a file with new bytes, which is in the page cache. Time ends
when the daemon has the blob, and includes hashing. For the command line it begins
with the process (`edgekiln targets check FILE`); for the package with the call of
Client.upload(), and in a second line with the process, Python's start and imports
included. Uses about (2 * rounds + 1) * GIB of the temporary folder. Needs an idle
machine: the package takes more CPU time (2.1 s against 1.5 s for 1 GiB), most of it
in parallel with the daemon.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from edgekiln import _blobs, _rpc
from edgekiln._connection import Connection
from edgekiln._proto.build.bazel.remote.execution.v2 import remote_execution_pb2 as reapi

UPLOAD = """
import sys, time
import edgekiln
client = edgekiln.connect(sys.argv[1])
print(time.monotonic(), flush=True)
client.upload(sys.argv[2])
"""
STARTED = "python from its start"
GIB = 1 << 30
POLL = 0.002


class Blocks:
    """A file of that size, other bytes each time."""

    def __init__(self, path: pathlib.Path, size: int) -> None:
        self.path = path
        block = os.urandom(1 << 20)
        with open(path, "wb") as file:
            for _ in range(size >> 20):
                file.write(block)

    def renew(self) -> _blobs.Digest:
        with open(self.path, "r+b") as file:
            file.write(os.urandom(64))
        return _blobs.open_blob(self.path, "FILE").digest


def start_daemon(programs: pathlib.Path, folder: pathlib.Path,
                 ) -> tuple[subprocess.Popen[bytes], str]:
    address = f"unix:{folder}/d.sock"
    with open(folder / "log", "wb") as log:
        daemon = subprocess.Popen(
            [programs / "edgekilnd", "--listen", address, "--workers-listen",
             f"unix:{folder}/w.sock", "--state", folder / "state", "--ready-file",
             folder / "ready"], stderr=log, stdout=log)
    while not (folder / "ready").exists():
        if daemon.poll() is not None:
            raise SystemExit((folder / "log").read_text())
        time.sleep(0.01)
    return daemon, address


def seconds_until_there(command: list[str], address: str,
                        digest: _blobs.Digest) -> tuple[float, float]:
    """Until the daemon has the blob: from the time that the command printed, or
    from its start if it prints none; and from its start."""
    connection = Connection(address, "", "")
    request = reapi.FindMissingBlobsRequest()
    request.blob_digests.add(hash=digest.hash, size_bytes=digest.size_bytes)
    connection.call(_rpc.FIND_MISSING, request)
    began = time.monotonic()
    program = subprocess.Popen(command, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        while connection.call(_rpc.FIND_MISSING, request).missing_blob_digests:
            if program.poll() not in (None, 0):
                time.sleep(0.2)
                if connection.call(_rpc.FIND_MISSING, request).missing_blob_digests:
                    raise SystemExit(f"{command[0]} failed")
            time.sleep(POLL)
        ended = time.monotonic()
    finally:
        program.kill()
        printed, _ = program.communicate()
        connection.close()
    return ended - float(printed or began), ended - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path, metavar="BIN")
    parser.add_argument("--size", type=float, default=1.0, metavar="GIB")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    size = int(arguments.size * GIB) >> 20 << 20
    with tempfile.TemporaryDirectory(prefix="ek-") as name:
        folder = pathlib.Path(name)
        daemon, address = start_daemon(arguments.programs, folder)
        file = Blocks(folder / "file.txtpb", size)
        commands = {
            "python": [sys.executable, "-c", UPLOAD, address, str(file.path)],
            "command line": [str(arguments.programs / "edgekiln"), "targets", "check",
                             str(file.path), "--server", address, "--quiet"],
        }
        rates: dict[str, list[float]] = {name: [] for name in (*commands, STARTED)}
        try:
            for _ in range(arguments.rounds):
                for name, command in commands.items():
                    took, since_start = seconds_until_there(command, address,
                                                            file.renew())
                    rates[name].append(size / took / 1e6)
                    if name == "python":
                        rates[STARTED].append(size / since_start / 1e6)
                    print(f"{name:13} {took:6.2f} s  {rates[name][-1]:7.1f} MB/s",
                          flush=True)
        finally:
            daemon.terminate()
            daemon.wait()
    for name in ("python", STARTED):
        for what, choose in (("medians", statistics.median), ("best", max)):
            ratio = choose(rates[name]) / choose(rates["command line"])
            print(f"{name}: ratio {ratio:.2f} ({what} of {arguments.rounds})")


if __name__ == "__main__":
    main()
