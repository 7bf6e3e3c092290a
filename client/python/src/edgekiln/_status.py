"""Failed calls: what gRPC raises, with the daemon's ErrorDetail."""

from __future__ import annotations

import math
from typing import Any

from . import errors
from ._proto.edgekiln.v1 import error_pb2
from ._proto.google.rpc import error_details_pb2, status_pb2
from .errors import EdgekilnError, ErrorDetail, error_of

_DETAILS = "grpc-status-details-bin"
# Includes the codes of a stream whose daemon died.
_TRANSIENT = {errors.UNAVAILABLE, errors.ABORTED, errors.INTERNAL, errors.UNKNOWN,
              errors.CANCELLED}


class RpcFailure(Exception):
    """A failed call. `detail` is None if gRPC itself failed."""

    def __init__(self, code: int, message: str, detail: ErrorDetail | None = None,
                 retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.retry_after = retry_after  # Seconds, if the daemon said so.

    def is_transient(self) -> bool:
        """Whether the same call may succeed once there is a connection."""
        if self.detail is not None:
            return self.detail.reason == "SHUTTING_DOWN"
        return self.code in _TRANSIENT

    def error(self) -> EdgekilnError:
        made = error_of(self.detail or ErrorDetail(
            what=self.message, code=self.code, message=self.message))
        made.retry_after = self.retry_after
        return made


def detail_of(message: error_pb2.ErrorDetail) -> ErrorDetail:
    """Converts the message, for example Job.error or SweepRow.error."""
    fault = error_pb2.ErrorDetail.Fault.Name(message.fault) if (
        message.fault in error_pb2.ErrorDetail.Fault.values()) else ""
    return ErrorDetail(
        what=message.what, where=message.where, limit=message.limit,
        need=message.need, fix=message.fix, reason=message.reason,
        fault="" if fault == "FAULT_UNSPECIFIED" else fault,
        code=message.code or errors.UNKNOWN, message=message.message)


def failure_of_status(status: status_pb2.Status) -> RpcFailure:
    """Converts a google.rpc.Status that is not OK."""
    detail: ErrorDetail | None = None
    retry_after: float | None = None
    for packed in status.details:
        retry = error_details_pb2.RetryInfo()
        found = error_pb2.ErrorDetail()
        if packed.Is(retry.DESCRIPTOR) and packed.Unpack(retry):
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        elif packed.Is(found.DESCRIPTOR) and packed.Unpack(found):
            found.code = status.code
            found.message = found.message or status.message
            detail = detail_of(found)
    if retry_after is not None and not math.isfinite(retry_after):
        retry_after = None
    return RpcFailure(status.code, status.message, detail, retry_after)


def failure_of(error: Any) -> RpcFailure:
    """Converts a grpc.RpcError."""
    code: int = error.code().value[0]
    message = error.details() or error.code().name
    for key, value in error.trailing_metadata() or ():
        if key != _DETAILS:
            continue
        try:
            status = status_pb2.Status.FromString(value)
        except Exception:  # protobuf's DecodeError: not the daemon's.
            break
        if status.code == code:
            return failure_of_status(status)
    return RpcFailure(code, message)
