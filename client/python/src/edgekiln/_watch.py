"""Follows a job and reconnects after a break: every event once, in order."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc

from . import _rpc, errors
from ._connection import RECONNECT_FOR, Connection
from ._proto.edgekiln.v1 import jobs_pb2
from ._status import RpcFailure, failure_of

_FIRST_BACKOFF, _MAX_BACKOFF, _REVIVE_EVERY = 0.1, 3.0, 0.4
# Limits the memory for queued events; gRPC's flow control stops the sender.
_MAX_QUEUED = 1024
_MAX_TOLD = 300.0  # Seconds that a daemon may ask to wait.
FINAL = (jobs_pb2.SUCCEEDED, jobs_pb2.FAILED, jobs_pb2.CANCELLED)
TICK = 0.05


class _EventStream:
    """One WatchJob call, read in a thread so that the caller can check deadlines
    while no event arrives."""

    def __init__(self, connection: Connection, job_id: str, after: int) -> None:
        self._call = connection.server_stream(
            _rpc.WATCH_JOB, jobs_pb2.WatchJobRequest(id=job_id, after_sequence=after))
        # Events, then None or an RpcFailure.
        self._queue: queue.Queue[Any] = queue.Queue(_MAX_QUEUED)
        self._closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        self._closed = True
        self._call.cancel()

    def next(self) -> Any:
        """Raises queue.Empty after a tick without an event."""
        return self._queue.get(timeout=TICK)

    def _read(self) -> None:
        end: RpcFailure | None = None
        try:
            for event in self._call:
                self._put(event)
        except grpc.RpcError as error:
            end = failure_of(error)
        except ValueError:  # The channel was closed.
            end = RpcFailure(errors.CANCELLED, "the client was closed")
        self._put(end)

    def _put(self, item: Any) -> None:
        while not self._closed:
            try:
                return self._queue.put(item, timeout=1)
            except queue.Full:
                continue


def watch(connection: Connection, job_id: str,
          after: int) -> Iterator[jobs_pb2.JobEvent | None]:
    """The events behind number `after` up to the job's last one, and None at
    least every tick. Raises EdgekilnError: no such job, or the connection broke
    and did not come back."""
    sequence = after
    broken_since = time.monotonic()
    backoff = _FIRST_BACKOFF
    longest = _REVIVE_EVERY if connection.own_daemon else _MAX_BACKOFF
    while True:
        stream = _EventStream(connection, job_id, sequence)
        try:
            while True:
                try:
                    event = stream.next()
                except queue.Empty:
                    yield None
                    continue
                if event is None or isinstance(event, RpcFailure):
                    failure = event
                    break
                connection.reached = True
                broken_since, backoff = time.monotonic(), _FIRST_BACKOFF
                # Already delivered before the break.
                if event.sequence <= sequence:
                    continue
                sequence = event.sequence
                final = event.WhichOneof("event") == "state" and event.state in FINAL
                yield event
                if final:
                    return
        finally:
            stream.close()
        # A stream that ends without error before the last event: the daemon stopped.
        failure = failure or RpcFailure(errors.UNAVAILABLE,
                                        "the daemon ends the event stream early")
        connection.note(failure)
        late = time.monotonic() - broken_since > RECONNECT_FOR
        told = failure.retry_after
        if late or not (failure.is_transient() or told is not None):
            raise connection.explain(failure, None)
        until = time.monotonic() + (backoff if told is None else min(told, _MAX_TOLD))
        while time.monotonic() < until:
            yield None
            time.sleep(TICK)
        if connection.revive is not None:
            connection.revive()
        backoff = min(2 * backoff, longest)
