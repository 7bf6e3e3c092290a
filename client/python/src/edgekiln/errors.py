"""The exceptions: one class for each exit code of `edgekiln`.

Every error has `detail`, the fields that the daemon sent: programs look at
`detail.reason`, people read `str(error)`, which is what the command line prints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ._text import clean

if TYPE_CHECKING:
    from .report import Report

# Numbers of google.rpc.Code.
CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = 1, 2, 3, 4, 5
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED = 6, 7, 8
FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED = 9, 10, 11, 12
INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = 13, 14, 15, 16


@dataclass(frozen=True)
class ErrorDetail:
    """The fields of edgekiln.v1.ErrorDetail; unused ones are empty."""

    what: str = ""     # What went wrong.
    where: str = ""    # Op, tensor, file, line, address.
    limit: str = ""    # What the limit is.
    need: str = ""     # What was needed instead.
    fix: str = ""      # What to do.
    reason: str = ""   # Stable, UPPER_SNAKE, for programs.
    fault: str = ""    # "USER", "QUOTA", "INFRA", or "" where unknown.
    code: int = 0      # google.rpc.Code.
    message: str = ""  # All of it in one line, with what was being done.


class EdgekilnError(Exception):
    """The base of all errors of this package."""

    exit_code: ClassVar[int] = 4  # Of the command line for the same error.
    # Seconds after which the daemon asked to try again, if it did.
    retry_after: float | None = None

    def __init__(self, detail: ErrorDetail, lines: tuple[str, ...] = ()) -> None:
        self.detail = detail
        # One line for each part of an error that combines several.
        self.lines = lines
        super().__init__(_text_of(detail, lines))


class ModelError(EdgekilnError):
    """The model, the data, the target or the request is wrong."""

    exit_code = 1


class UsageError(EdgekilnError, ValueError):
    """An argument is wrong, or a local file cannot be read."""

    exit_code = 2


class GateError(EdgekilnError):
    """The run finished and its result is not good enough; `report` has it."""

    exit_code = 3
    report: Report | None = None


class ServiceError(EdgekilnError):
    """The daemon cannot be reached, has no worker, is full, or has a bug. The
    same call can succeed later."""

    exit_code = 4


class DeadlineError(EdgekilnError, TimeoutError):
    """The time is up."""

    exit_code = 5


class AccessError(EdgekilnError, PermissionError):
    """The caller may not use the daemon or the folder of its socket."""

    exit_code = 6


class CancelledError(EdgekilnError):
    """The job was cancelled, or superseded by a newer one of its slot."""

    exit_code = 130


_BY_REASON: dict[str, type[EdgekilnError]] = {
    "USAGE": UsageError,
    "GATE_FAILED": GateError,
    "NO_WORKER": ServiceError,
    "QUEUE_DEADLINE": ServiceError,
    "DAEMON_UNREACHABLE": ServiceError,
}
_BY_CODE: dict[int, type[EdgekilnError]] = {
    UNAUTHENTICATED: AccessError,
    PERMISSION_DENIED: AccessError,
    DEADLINE_EXCEEDED: DeadlineError,
    CANCELLED: CancelledError,
}
# Codes without detail that mean the caller's fault.
_USERS_CODES = {INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION,
                OUT_OF_RANGE}


def error_of(detail: ErrorDetail, lines: tuple[str, ...] = ()) -> EdgekilnError:
    """Chooses the class by reason, then by code, then by fault."""
    kind = _BY_REASON.get(detail.reason) or _BY_CODE.get(detail.code)
    if kind is None:
        users = detail.fault == "USER" or (
            not detail.fault and detail.code in _USERS_CODES)
        kind = ModelError if users else ServiceError
    return kind(detail, lines)


def usage(what: str, where: str = "", need: str = "", fix: str = "") -> EdgekilnError:
    """The error for a wrong argument."""
    return error_of(ErrorDetail(what=what, where=where, need=need, fix=fix,
                                reason="USAGE", fault="USER", code=INVALID_ARGUMENT))


def within(error: EdgekilnError, doing: str) -> EdgekilnError:
    """The same error with the current activity in front of its message."""
    detail = error.detail
    message = detail.message or detail.what
    made = error_of(replace(detail, message=f"{doing}: {message}"), error.lines)
    made.retry_after = error.retry_after
    return made


def _path_of(detail: ErrorDetail) -> str:
    """The context in front of `what` in "job 7: pass tile: WHAT; where: ..."."""
    at = detail.message.find(detail.what) if detail.what else -1
    path = detail.message[:max(at, 0)].removesuffix(": ")
    return "" if path in detail.where else path


def _text_of(detail: ErrorDetail, lines: tuple[str, ...]) -> str:
    text = clean(detail.what or detail.message) or "no reason was given"
    text += "".join(f"\n  - {clean(line)}" for line in lines)
    for name, value in (("where: ", detail.where), ("limit: ", detail.limit),
                        ("need:  ", detail.need), ("fix:   ", detail.fix),
                        ("while: ", _path_of(detail))):
        if value:
            text += f"\n  {name}{clean(value)}"
    tail = [f"reason {clean(detail.reason)}"] if detail.reason else []
    tail += [f"fault {detail.fault}"] if detail.fault else []
    return text + (f"\n  ({', '.join(tail)})" if tail else "")
