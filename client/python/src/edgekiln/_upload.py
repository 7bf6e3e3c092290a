"""Uploads the blobs that the daemon lacks: small ones in batches, large ones as
streams that are resumed after a break."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence

import grpc

from . import _rpc, errors
from ._blobs import Blob, Reader, file_changed
from ._connection import Connection
from ._proto.build.bazel.remote.execution.v2 import remote_execution_pb2 as reapi
from ._proto.google.bytestream import bytestream_pb2
from ._status import RpcFailure, failure_of, failure_of_status
from ._transfer import Backoff
from .errors import EdgekilnError, within

# Blobs up to this size share one message, bigger ones are streamed.
BATCH_BLOB_BYTES = 256 << 10
BATCH_TOTAL_BYTES = 3 << 20
_BATCH_OVERHEAD_BYTES = 256  # Around one blob: digest, tags, lengths.
# Data in one message of a stream. Below gRPC's default limit of 4 MiB.
CHUNK_BYTES = 2 << 20

# Called with the bytes sent and the total of all missing blobs, in another thread.
Progress = Callable[[int, int], None]


def upload(connection: Connection, blobs: Sequence[Blob], deadline: float | None,
           progress: Progress | None = None) -> None:
    """Returns once the daemon has every blob."""
    connection.when_told(
        lambda: _Uploader(connection, deadline, progress).run(blobs), deadline)


class _Uploader:
    def __init__(self, connection: Connection, deadline: float | None,
                 progress: Progress | None) -> None:
        self._connection = connection
        self._deadline = deadline
        self._progress = progress
        self._done = 0
        self._total = 0

    def run(self, blobs: Sequence[Blob]) -> None:
        missing = self._missing(blobs)
        if not missing:
            return
        self._total = sum(blob.digest.size_bytes for blob in missing)
        limit = self._batch_limit()
        batch: list[Blob] = []
        batch_bytes = 0
        for blob in missing:
            size = blob.digest.size_bytes + _BATCH_OVERHEAD_BYTES
            if blob.digest.size_bytes > BATCH_BLOB_BYTES or size > limit:
                try:
                    self._stream(blob)
                except EdgekilnError as error:
                    raise within(error, f"uploading {blob.shown}") from None
                continue
            if batch_bytes + size > limit:
                self._send_batch(batch)
                batch, batch_bytes = [], 0
            batch.append(blob)
            batch_bytes += size
        if batch:
            self._send_batch(batch)

    def _backoff(self) -> Backoff:
        return Backoff(self._connection, self._deadline)

    def _report(self, in_flight: int = 0) -> None:
        if self._progress is not None:
            self._progress(self._done + in_flight, self._total)

    def _missing(self, blobs: Sequence[Blob]) -> list[Blob]:
        # The same file may be named twice (calibration and data).
        by_name = {str(blob.digest): blob for blob in blobs}
        request = reapi.FindMissingBlobsRequest(
            digest_function=reapi.DigestFunction.SHA256)
        for blob in by_name.values():
            request.blob_digests.add(hash=blob.digest.hash,
                                     size_bytes=blob.digest.size_bytes)
        answer = self._backoff().call(_rpc.FIND_MISSING, request)
        names = {f"{one.hash}/{one.size_bytes}" for one in answer.missing_blob_digests}
        return [blob for name, blob in by_name.items() if name in names]

    def _batch_limit(self) -> int:
        """Limit of one BatchUpdateBlobs."""
        answer = self._backoff().call(
            _rpc.GET_CAPABILITIES, reapi.GetCapabilitiesRequest(),
            lambda failure: reapi.ServerCapabilities() if (
                failure.code == errors.UNIMPLEMENTED) else None)
        theirs = answer.cache_capabilities.max_batch_total_size_bytes
        return min(theirs, BATCH_TOTAL_BYTES) if theirs > 0 else BATCH_TOTAL_BYTES

    def _send_batch(self, batch: list[Blob]) -> None:
        request = reapi.BatchUpdateBlobsRequest(
            digest_function=reapi.DigestFunction.SHA256)
        for blob in batch:
            with blob.open() as reader:
                # Reads one byte more to detect a file that grew.
                data = reader.read(0, blob.digest.size_bytes + 1)
            if hashlib.sha256(data).hexdigest() != blob.digest.hash:
                raise file_changed(blob.shown)
            entry = request.requests.add(data=data)
            entry.digest.hash = blob.digest.hash
            entry.digest.size_bytes = blob.digest.size_bytes
        answer = self._backoff().call(_rpc.BATCH_UPDATE, request)
        by_hash = {blob.digest.hash: blob.shown for blob in batch}
        for one in answer.responses:
            if one.status.code != 0:
                error = self._connection.explain(failure_of_status(one.status),
                                                 self._deadline)
                shown = by_hash.get(one.digest.hash, "small files")
                raise within(error, f"uploading {shown}")
        self._done += sum(blob.digest.size_bytes for blob in batch)
        self._report()

    def _stream(self, blob: Blob) -> None:
        resource = f"uploads/{uuid.uuid4()}/blobs/{blob.digest}"
        backoff = self._backoff()
        committed = 0
        with blob.open() as reader:
            while True:
                try:
                    self._write_from(blob, reader, resource, committed, backoff)
                    break
                except RpcFailure as failure:
                    backoff.wait(failure)
                now, complete = self._written(blob, resource)
                if complete:
                    break
                if now > committed:
                    backoff.progressed()
                committed = now
        self._done += blob.digest.size_bytes
        self._report()

    def _written(self, blob: Blob, resource: str) -> tuple[int, bool]:
        """Bytes that the daemon has of this upload, and whether it is complete."""
        unknown = bytestream_pb2.QueryWriteStatusResponse()
        answer = self._backoff().call(
            _rpc.QUERY_WRITE,
            bytestream_pb2.QueryWriteStatusRequest(resource_name=resource),
            lambda failure: unknown if failure.code == errors.NOT_FOUND else None)
        size = min(max(answer.committed_size, 0), blob.digest.size_bytes)
        return size, bool(answer.complete)

    def _write_from(self, blob: Blob, reader: Reader, resource: str, offset: int,
                    backoff: Backoff) -> None:
        """One stream. Raises RpcFailure."""
        requests = _Requests(blob, reader, resource, offset, self._report)
        call = self._connection.client_stream(_rpc.WRITE, requests, backoff.remaining())
        requests.cancel = call.cancel
        size = blob.digest.size_bytes
        try:
            answer = call.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if requests.failed is not None:
                raise requests.failed from None
            if isinstance(error, grpc.RpcError):
                raise failure_of(error) from None
            raise RpcFailure(errors.CANCELLED, "the upload was cut off") from None
        except BaseException:  # Ctrl-C: stops gRPC's thread.
            call.cancel()
            raise
        finally:
            requests.close()
        self._connection.reached = True
        if answer.committed_size != size:
            raise RpcFailure(errors.ABORTED, f"the daemon took {answer.committed_size} "
                             f"of {size} bytes")


class _Requests(Iterator[bytes]):
    """Yields the serialized messages of one stream, in gRPC's thread."""

    def __init__(self, blob: Blob, reader: Reader, resource: str, offset: int,
                 report: Callable[[int], None]) -> None:
        self._reader = reader
        self._resource = resource
        self._shown = blob.shown
        self._size = blob.digest.size_bytes
        self._offset = offset
        self._report = report
        self._ended = False
        self._lock = threading.Lock()
        # Why this side ended the stream, if it did.
        self.failed: BaseException | None = None
        self.cancel: Callable[[], object] = lambda: None

    def close(self) -> None:
        """Ends reading; the file may be closed afterwards."""
        with self._lock:
            self._ended = True

    def __next__(self) -> bytes:
        with self._lock:
            try:
                return self._next()
            except StopIteration:
                raise
            except BaseException as error:  # Reading, or the caller's `progress`.
                self._ended = True
                self.failed = error
                self.cancel()
                raise StopIteration from None

    def _next(self) -> bytes:
        # At least one message, even without data: it carries finish_write.
        if self._ended:
            raise StopIteration
        want = min(CHUNK_BYTES, self._size - self._offset)
        data = self._reader.read(self._offset, want)
        if len(data) != want:
            raise file_changed(self._shown)
        offset = self._offset
        self._offset += want
        self._ended = self._offset == self._size
        self._report(offset)
        return write_request(self._resource, offset, self._ended, data)


def write_request(resource: str, offset: int, last: bool, data: bytes) -> bytes:
    """A serialized WriteRequest. The data is appended by hand, which saves the two
    copies that protobuf would make."""
    head = bytestream_pb2.WriteRequest(resource_name=resource, write_offset=offset,
                                       finish_write=last)
    if not data:
        return bytes(head.SerializeToString())
    return b"".join((head.SerializeToString(), b"\x52", _varint(len(data)), data))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

