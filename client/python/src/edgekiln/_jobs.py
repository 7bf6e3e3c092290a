"""Creates a job and waits for its end. Ctrl-C and timeouts cancel it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator

from . import _rpc, errors
from ._connection import Connection, Patience, time_is_up
from ._download import whole
from ._proto.edgekiln.v1 import jobs_pb2, report_pb2
from ._status import detail_of
from ._text import format_seconds
from ._watch import watch
from .errors import EdgekilnError, ErrorDetail, error_of, within

# The daemon says after a second that a stage has no worker. Until then a short
# timeout could not tell a missing worker from a slow one.
_NO_WORKER_VERDICT = 2.0
# Workers that are being replaced have the daemon's build again by then.
_OTHER_BUILD_VERDICT = 5.0
_AGAIN = "run it again; what is finished is not computed again"

OnEvent = Callable[[jobs_pb2.JobEvent], object]


class Deadline:
    """A point in time, `timeout` seconds from now; None: no deadline."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self.at = None if timeout is None else time.monotonic() + timeout

    @property
    def passed(self) -> bool:
        return self.at is not None and time.monotonic() >= self.at

    def error(self) -> EdgekilnError:
        return time_is_up(self.timeout or 0.0)


def new_request_id() -> str:
    return secrets.token_hex(16)


def create(connection: Connection, request: jobs_pb2.CreateJobRequest,
           deadline: Deadline) -> jobs_pb2.Job:
    """Safe to repeat because of request_id, which must be set."""
    def attempt() -> jobs_pb2.Job:
        return connection.call(_rpc.CREATE_JOB, request, deadline=deadline.at)

    try:
        return whole(connection, connection.when_told(attempt, deadline.at), deadline.at)
    except KeyboardInterrupt:
        # The job may have been created. The same request_id returns the same job.
        try:
            connection.cancel(connection.call(_rpc.CREATE_JOB, request,
                                              patience=Patience.CANCEL).id)
        except EdgekilnError:
            pass
        raise


def get(connection: Connection, job_id: str, deadline: Deadline) -> jobs_pb2.Job:
    job = connection.call(_rpc.GET_JOB, jobs_pb2.GetJobRequest(id=job_id),
                          deadline=deadline.at)
    return whole(connection, job, deadline.at)


def run(connection: Connection, request: jobs_pb2.CreateJobRequest,
        deadline: Deadline, on_event: OnEvent | None) -> jobs_pb2.Job:
    """Creates the job and waits for its end. Raises its error if it failed."""
    job_id = create(connection, request, deadline).id
    for event in follow(connection, job_id, 0, deadline):
        try:
            if on_event is not None:
                on_event(event)
        except BaseException:
            connection.cancel(job_id)
            raise
    job = get(connection, job_id, deadline)
    error = job_error(job)
    if error is not None:
        raise error
    return job


def follow(connection: Connection, job_id: str, after: int, deadline: Deadline,
           ) -> Generator[jobs_pb2.JobEvent, None, None]:
    """Yields the job's events. Ctrl-C, a timeout and missing workers cancel the job;
    closing the generator does not."""
    guard = _Guard(connection.own_daemon, deadline)
    try:
        for event in watch(connection, job_id, after):
            if event is not None:
                guard.on_event(event)
                yield event
            guard.check()
    except GeneratorExit:
        raise
    except EdgekilnError as error:
        if error.detail.reason in ("TIMEOUT", "NO_WORKER", "WORKER_BUILD"):
            connection.cancel(job_id)
        raise within(error, f"job {job_id}") from None
    except BaseException:  # Ctrl-C.
        connection.cancel(job_id)
        raise


class _Guard:
    """Decides when to stop waiting for a job."""

    def __init__(self, own_daemon: bool, deadline: Deadline) -> None:
        self._own_daemon = own_daemon
        self._deadline = deadline
        self._verdict = time.monotonic() + _NO_WORKER_VERDICT
        self._other_build_since: float | None = None
        self._moved = False
        self._waiting = ""  # Why nothing moves; empty if something does.

    def on_event(self, event: jobs_pb2.JobEvent) -> None:
        kind = event.WhichOneof("event")
        if kind == "waiting":
            self._waiting = event.waiting.reason
            if event.waiting.cause != jobs_pb2.JobEvent.Waiting.OTHER_BUILD:
                self._other_build_since = None
            elif self._other_build_since is None:
                self._other_build_since = time.monotonic()
        elif kind in ("stage_started", "progress", "samples", "row") or (
                # A cache hit needed no worker.
                kind == "stage_finished"
                and event.stage_finished.cache != report_pb2.Report.Stage.HIT):
            self._moved = True
            self._waiting = ""
            self._other_build_since = None

    def check(self) -> None:
        now = time.monotonic()
        since = self._other_build_since
        if self._own_daemon and since is not None and (
                now - since >= _OTHER_BUILD_VERDICT):
            raise self._wrong_workers()
        clear = self._moved or bool(self._waiting) or now >= self._verdict
        if self._deadline.passed and clear:
            raise self._no_worker() if self._waiting else self._deadline.error()

    def _no_worker(self) -> EdgekilnError:
        return error_of(ErrorDetail(
            what="no worker was free before the time was up", where=self._waiting,
            limit=f"timeout {format_seconds(self._deadline.timeout or 0.0)}",
            fix="start edgekiln-worker, or wait for a free one", fault="INFRA",
            reason="NO_WORKER", code=errors.UNAVAILABLE))

    def _wrong_workers(self) -> EdgekilnError:
        return error_of(ErrorDetail(
            what="the workers of your own daemon have another build than it",
            where=self._waiting, reason="WORKER_BUILD", fault="INFRA",
            need="edgekilnd and edgekiln-worker of one build in one folder",
            fix="install both from one build and end the edgekilnd that runs",
            code=errors.UNAVAILABLE))


def job_error(job: jobs_pb2.Job) -> EdgekilnError | None:
    """None if the job succeeded."""
    request = job.request
    subject: str = request.model_name
    if len(request.targets) == 1:
        subject = f"{subject} on {request.targets[0].name}"
    if job.state == jobs_pb2.SUCCEEDED:
        return None
    if job.state == jobs_pb2.FAILED:
        return within(error_of(detail_of(job.error)), subject)
    if job.state != jobs_pb2.CANCELLED:
        detail = ErrorDetail(
            what="the daemon ended the events of a job that has not ended",
            where=subject, fix="see edgekiln jobs show", fault="INFRA",
            reason="JOB_NOT_FINISHED", code=errors.INTERNAL)
    elif job.superseded_by:
        detail = detail_of(job.error)
    else:
        detail = ErrorDetail(what="the job was cancelled", where=subject, fix=_AGAIN,
                             fault="USER", reason="INTERRUPTED", code=errors.CANCELLED)
    return within(error_of(detail), f"job {job.id}")
