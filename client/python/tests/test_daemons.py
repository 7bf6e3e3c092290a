"""Daemons that restart, and daemons behind a TCP address."""

from __future__ import annotations

import os
import pathlib
import threading

from conftest import TARGET, Daemon

import edgekiln
from edgekiln._proto.edgekiln.v1 import jobs_pb2


def test_a_job_survives_a_restart_of_the_daemon(
        bin_folder: pathlib.Path, private: pathlib.Path, digits: pathlib.Path) -> None:
    own = Daemon(bin_folder, private, workers=1)
    sequences: list[int] = []
    restarts: list[threading.Thread] = []

    def restart() -> None:
        own.stop()
        own.start()

    def on_event(event: jobs_pb2.JobEvent) -> None:
        sequences.append(event.sequence)
        if not restarts and event.WhichOneof("event") == "samples":
            restarts.append(threading.Thread(target=restart))
            restarts[0].start()

    try:
        with edgekiln.connect(own.address) as client:
            report = client.profile(digits, TARGET, seed=os.getpid(), limit=600,
                                    on_event=on_event)
        assert restarts and sequences == list(range(1, len(sequences) + 1))
        assert report.bit_exact is not None and report.bit_exact.mismatches == 0
    finally:
        for thread in restarts:
            thread.join()
        own.stop()


def test_tcp(bin_folder: pathlib.Path, private: pathlib.Path,
             digits: pathlib.Path) -> None:
    remote = Daemon(bin_folder, private, workers=1, listen="127.0.0.1:0")
    try:
        assert remote.address.startswith("127.0.0.1:")
        with edgekiln.connect(remote.address) as client:
            report = client.profile(digits, TARGET, timing_only=True)
            assert client.upload(bytes(5 << 20)).size_bytes == 5 << 20
        assert report.totals.cycles > 0
    finally:
        remote.stop()
