"""Retries of uploads and downloads."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ._connection import Connection
from ._rpc import Method, RequestT, ResponseT
from ._status import RpcFailure

_FIRST_BACKOFF, _MAX_BACKOFF = 0.1, 2.0
# A transfer without progress ends after this time. The shorter one applies to a
# daemon that has never answered.
_PATIENCE, _FIRST_PATIENCE = 300.0, 3.0


class Backoff:
    """Waits longer after each failure in a row, and finally gives up."""

    def __init__(self, connection: Connection, deadline: float | None) -> None:
        self._connection = connection
        self._deadline = deadline
        self._started = time.monotonic()
        self.progressed()

    def progressed(self) -> None:
        self._failed_at = math.inf
        self._delay = _FIRST_BACKOFF

    def remaining(self) -> float | None:
        """The timeout of the next attempt."""
        if self._deadline is None:
            return None
        return max(self._deadline - time.monotonic(), 0.001)

    def wait(self, failure: RpcFailure) -> None:
        """Returns when it is time to try again, or raises."""
        self._connection.note(failure)
        now = time.monotonic()
        self._failed_at = min(self._failed_at, now)
        known = self._connection.reached or self._connection.own_daemon
        patience = _PATIENCE if known else _FIRST_PATIENCE
        late = now + self._delay > self._failed_at + patience
        if late or not failure.is_transient():
            raise self._connection.explain(failure, self._deadline,
                                           now - self._started) from None
        self._connection.wait_to_reconnect(self._delay)
        self._delay = min(2 * self._delay, _MAX_BACKOFF)

    def call(self, method: Method[RequestT, ResponseT], request: RequestT,
             expected: Callable[[RpcFailure], ResponseT | None] | None = None,
             ) -> ResponseT:
        """Repeats a call; `expected` may turn a failure into an answer."""
        while True:
            try:
                return self._connection.unary(method, request, self.remaining())
            except RpcFailure as failure:
                answer = None if expected is None else expected(failure)
                if answer is not None:
                    return answer
                self.wait(failure)
