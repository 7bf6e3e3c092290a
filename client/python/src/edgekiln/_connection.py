"""Typed calls to a daemon, retried where that is safe.

If a daemon that answered before is unreachable or shutting down, calls, transfers
and watches wait for it to come back. Deadlines are values of time.monotonic();
None means no deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

import grpc

from . import _rpc, errors
from ._proto.edgekiln.v1 import jobs_pb2
from ._rpc import Method, RequestT, ResponseT
from ._status import RpcFailure, failure_of
from ._text import format_seconds
from .errors import EdgekilnError, ErrorDetail, error_of

# How long to wait for a daemon that answered before: it may be restarting.
RECONNECT_FOR = 300.0
_CALL_TIMEOUT = 30.0   # For calls that need no worker.
_CANCEL_FOR = 10.0     # For CancelJob. Without it the job just runs to its end.
_RETRY_EVERY = 0.2
# The daemon needs this long to be sure that it has no worker.
_NO_WORKER_VERDICT = 6.0
_MIN_DELAY, _MAX_DELAY, _MAX_WAIT = 0.1, 300.0, 600.0


ResultT = TypeVar("ResultT")


class Patience(Enum):
    SHORT = 0
    WORKER = 1  # The time depends on the size of the model.
    CANCEL = 2


class Connection:
    """`shown` is the address in error messages, `fix` the advice if nothing answers
    there. `revive` is called before each reconnect and may start a daemon."""

    def __init__(self, target: str, shown: str, fix: str,
                 revive: Callable[[], None] | None = None) -> None:
        self.shown = shown
        self.revive = revive
        self.reached = False  # Whether the daemon has ever answered.
        self._fix = fix
        self._channel = grpc.insecure_channel(target, options=_options(target))

    @property
    def own_daemon(self) -> bool:
        return self.revive is not None

    def close(self) -> None:
        self._channel.close()

    # Single gRPC calls.

    def unary(self, method: Method[RequestT, ResponseT], request: RequestT,
              timeout: float | None) -> ResponseT:
        """One attempt. Raises RpcFailure."""
        call = self._channel.unary_unary(
            f"/{method.name}", request_serializer=_serialize,
            response_deserializer=method.response.FromString)
        with _failures():
            answer: ResponseT = call(request, timeout=timeout)
        self.reached = True
        return answer

    def server_stream(self, method: Method[RequestT, ResponseT], request: RequestT,
                      timeout: float | None = None) -> Any:
        """Returns the gRPC call: an iterator of responses with cancel()."""
        call = self._channel.unary_stream(
            f"/{method.name}", request_serializer=_serialize,
            response_deserializer=method.response.FromString)
        return call(request, timeout=timeout)

    def client_stream(self, method: Method[Any, ResponseT], requests: Iterator[bytes],
                      timeout: float | None = None) -> Any:
        """Returns gRPC's future. The requests are already serialized."""
        call = self._channel.stream_unary(
            f"/{method.name}", request_serializer=None,
            response_deserializer=method.response.FromString)
        return call.future(requests, timeout=timeout)

    # Calls with retries.

    def call(self, method: Method[RequestT, ResponseT], request: RequestT, *,
             patience: Patience = Patience.SHORT,
             deadline: float | None = None) -> ResponseT:
        start = time.monotonic()
        wait = _CANCEL_FOR if patience is Patience.CANCEL else RECONNECT_FOR
        give_up = start + wait
        while True:
            now = time.monotonic()
            until = _until(patience, deadline, now)
            try:
                return self.unary(method, request,
                                  None if until is None else max(until - now, 0.001))
            except RpcFailure as failure:
                self.note(failure)
                now = time.monotonic()
                late = until is not None and now >= until
                if late or now >= give_up or not self._may_retry(failure):
                    raise self.explain(failure, deadline, now - start) from None
            self.wait_to_reconnect(_RETRY_EVERY)

    def when_told(self, attempt: Callable[[], ResultT],
                  deadline: float | None) -> ResultT:
        """Calls `attempt` again after the delay that the daemon asks for when its
        queue or disk is full; for ten minutes if there is no deadline."""
        limit = time.monotonic() + _MAX_WAIT if deadline is None else deadline
        while True:
            try:
                return attempt()
            except EdgekilnError as error:
                if error.retry_after is None:
                    raise
                delay = min(max(error.retry_after, _MIN_DELAY), _MAX_DELAY)
                if time.monotonic() + delay >= limit:
                    raise
            time.sleep(delay)

    def cancel(self, job_id: str) -> None:
        """Cancels the job. If the daemon cannot be reached, the job goes on."""
        try:
            self.call(_rpc.CANCEL_JOB, jobs_pb2.CancelJobRequest(id=job_id),
                      patience=Patience.CANCEL)
        except EdgekilnError:
            pass

    def note(self, failure: RpcFailure) -> None:
        """Records that the daemon answered, if it did."""
        self.reached = self.reached or failure.detail is not None

    def wait_to_reconnect(self, delay: float) -> None:
        if self.revive is not None:
            self.revive()
        time.sleep(delay)

    def explain(self, failure: RpcFailure, deadline: float | None,
                waited: float = 0.0) -> EdgekilnError:
        """The error to raise. Failures of gRPC itself get a helpful text."""
        if failure.detail is not None:
            return failure.error()
        late = failure.code == errors.DEADLINE_EXCEEDED
        there = self.reached or self.own_daemon
        passed = deadline is not None and time.monotonic() >= deadline
        if late and there and passed:
            return time_is_up(waited, self.shown)
        if not late and not failure.is_transient():
            return failure.error()
        why = "no answer in time" if late else failure.message
        return error_of(ErrorDetail(
            what="the daemon no longer answers" if self.reached else "no daemon answers",
            where=f"{self.shown} ({why})", fix=self._fix, fault="INFRA",
            reason="DAEMON_UNREACHABLE", code=errors.UNAVAILABLE))

    def _may_retry(self, failure: RpcFailure) -> bool:
        """Our own daemon may be shutting down when we first see it."""
        return ((self.reached or self.own_daemon) and failure.is_transient()
                and failure.code in (errors.UNAVAILABLE, errors.CANCELLED))


def time_is_up(waited: float, where: str = "") -> EdgekilnError:
    return error_of(ErrorDetail(
        what="the time is up", where=where, reason="TIMEOUT", fault="USER",
        limit=f"timeout {format_seconds(waited)}", code=errors.DEADLINE_EXCEEDED,
        fix="give it more time; what is finished is not computed again"))


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        raise failure_of(error) from None


def _serialize(message: _rpc.Message) -> bytes:
    return message.SerializeToString()


def _until(patience: Patience, deadline: float | None, now: float) -> float | None:
    if patience is Patience.WORKER:
        return None if deadline is None else max(deadline, now + _NO_WORKER_VERDICT)
    limit = now + _CALL_TIMEOUT
    # A job is cancelled when the time is up: the deadline does not apply.
    if deadline is None or patience is Patience.CANCEL:
        return limit
    return min(deadline, limit)


def _options(target: str) -> list[tuple[str, Any]]:
    local = target.startswith("unix:")
    options: list[tuple[str, Any]] = [
        # One TCP connection per client object.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 5000),
        ("grpc.max_reconnect_backoff_ms", 200 if local else 2000),
        # No proxies from environment variables, no service configuration from DNS.
        ("grpc.enable_http_proxy", 0),
        ("grpc.service_config_disable_resolution", 1),
    ]
    if local:
        # The daemon identifies us by the socket, not by a host name.
        return [*options, ("grpc.default_authority", "localhost")]
    # Detects a dead host. Servers reject shorter intervals.
    return [*options, ("grpc.keepalive_time_ms", 30000),
            ("grpc.keepalive_timeout_ms", 10000)]
