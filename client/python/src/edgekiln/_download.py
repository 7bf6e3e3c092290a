"""Downloads blobs. The bytes must match size and digest; a longer answer is cut
off."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import BinaryIO

import grpc

from . import _rpc, errors
from ._blobs import Digest
from ._connection import Connection
from ._proto.edgekiln.v1 import data_pb2
from ._proto.google.bytestream import bytestream_pb2
from ._rpc import ResponseT
from ._status import failure_of
from ._text import format_bytes
from ._transfer import Backoff
from .errors import EdgekilnError, ErrorDetail, error_of

# Limit for messages that come as a blob because they are too large for an answer.
MAX_WHOLE_BYTES = 1 << 30


def digest_of(message: data_pb2.Digest) -> Digest:
    """Checks a digest from the daemon."""
    if not re.fullmatch("[0-9a-f]{64}", message.hash) or message.size_bytes < 0:
        raise _infra(errors.DATA_LOSS, "BAD_DIGEST", "the daemon named a bad digest",
                     message.hash[:80])
    return Digest(message.hash, message.size_bytes)


def check_size(digest: Digest, limit: int, what: str) -> None:
    if digest.size_bytes > limit:
        raise error_of(ErrorDetail(
            what=f"{what} is too large", where=str(digest), fault="USER",
            limit=format_bytes(limit), need=format_bytes(digest.size_bytes),
            fix="split the model or the data", reason="ANSWER_TOO_LARGE",
            code=errors.RESOURCE_EXHAUSTED))


def download(connection: Connection, digest: Digest, sink: Callable[[bytes], object],
             deadline: float | None) -> None:
    """Passes the bytes to `sink` in order. Raises if they do not match the digest."""
    backoff = Backoff(connection, deadline)
    hashed, size = hashlib.sha256(), 0
    while True:
        call = connection.server_stream(
            _rpc.READ, bytestream_pb2.ReadRequest(
                resource_name=f"blobs/{digest}", read_offset=size),
            backoff.remaining())
        try:
            for response in call:
                connection.reached = True
                size += len(response.data)
                if size > digest.size_bytes:
                    raise _infra(errors.DATA_LOSS, "BAD_BLOB",
                                 "the daemon sent more than the blob has", str(digest))
                hashed.update(response.data)
                backoff.progressed()
                sink(response.data)
            break
        except grpc.RpcError as error:
            backoff.wait(failure_of(error))
        finally:
            call.cancel()
    if hashed.hexdigest() != digest.hash or size != digest.size_bytes:
        raise _infra(errors.DATA_LOSS, "BAD_BLOB",
                     "what the daemon sent does not have its digest", str(digest))


def download_to(connection: Connection, digest: Digest, file: BinaryIO,
                deadline: float | None) -> None:
    download(connection, digest, file.write, deadline)
    file.flush()
    file.seek(0)


def whole(connection: Connection, answer: ResponseT,
          deadline: float | None) -> ResponseT:
    """Fetches the complete message if the answer only has its digest (jobs.proto)."""
    if not answer.HasField("whole"):
        return answer
    digest = digest_of(answer.whole)  # type: ignore[attr-defined]
    check_size(digest, MAX_WHOLE_BYTES, "the complete answer")
    pieces: list[bytes] = []
    download(connection, digest, pieces.append, deadline)
    try:
        complete: ResponseT = type(answer).FromString(b"".join(pieces))
        return complete
    except Exception:  # protobuf's DecodeError.
        raise _infra(errors.DATA_LOSS, "BAD_MESSAGE",
                     "the complete answer does not parse", str(digest)) from None


def _infra(code: int, reason: str, what: str, where: str) -> EdgekilnError:
    return error_of(ErrorDetail(
        what=what, where=where, reason=reason, fault="INFRA", code=code,
        fix="use an edgekiln and a daemon of the same version"))
