"""Files and bytes, named by SHA-256 and ready for upload. Files are read twice,
once to hash and once to send, and never held in memory as a whole."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Union

from . import errors
from ._proto.edgekiln.v1 import data_pb2
from .errors import EdgekilnError, ErrorDetail, error_of, usage

Source = Union[str, "os.PathLike[str]", bytes]
_BUFFER = 1 << 20


@dataclass(frozen=True)
class Digest:
    """Names bytes: `hash` is SHA-256 in 64 lower-case hex digits."""

    hash: str
    size_bytes: int

    def message(self) -> data_pb2.Digest:
        return data_pb2.Digest(hash=self.hash, size_bytes=self.size_bytes)

    def __str__(self) -> str:
        return f"{self.hash}/{self.size_bytes}"


@dataclass(frozen=True)
class Blob:
    digest: Digest
    shown: str  # In messages: the path, or "<bytes>".
    # A path, bytes, or a file that is open (read by position only).
    source: str | bytes | BinaryIO

    @contextmanager
    def open(self) -> Iterator[Reader]:
        if isinstance(self.source, bytes):
            yield _BytesReader(self.source)
        elif isinstance(self.source, str):
            try:
                handle = os.open(self.source, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                raise file_changed(self.shown) from None
            try:
                yield Reader(handle)
            finally:
                os.close(handle)
        else:
            yield Reader(self.source.fileno())


class Reader:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    def read(self, offset: int, size: int) -> bytes:
        """May return less than `size` only at the end of the file."""
        data = os.pread(self._handle, size, offset)
        while len(data) < size:
            more = os.pread(self._handle, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data


class _BytesReader(Reader):
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset:offset + size]


def open_blob(source: Source, argument: str) -> Blob:
    """A UsageError, naming `argument`, if the file cannot be read."""
    if isinstance(source, bytes):
        digest = Digest(hashlib.sha256(source).hexdigest(), len(source))
        return Blob(digest, "<bytes>", source)
    path = os.fspath(source)
    try:
        with open(path, "rb", buffering=0) as file:
            return Blob(_digest_of(file, path, argument), path, path)
    except OSError as error:
        raise _unreadable(path, argument, error) from None


def open_file_blob(file: BinaryIO, shown: str) -> Blob:
    """A blob of an open file, which must stay open until the upload is done."""
    file.flush()
    with open(os.dup(file.fileno()), "rb", buffering=0) as copy:
        copy.seek(0)
        return Blob(_digest_of(copy, shown, shown), shown, file)


def file_name(source: Source) -> str:
    """The model's name in reports."""
    if isinstance(source, bytes):
        return "model"
    return Path(os.fspath(source)).name[:255]


def _digest_of(file: BinaryIO, path: str, argument: str) -> Digest:
    info = os.fstat(file.fileno())
    if stat.S_ISDIR(info.st_mode):
        raise usage(f"'{path}' is a folder", argument, "a file", "name the file in it")
    digest, size = hashlib.sha256(), 0
    buffer = bytearray(_BUFFER)
    view = memoryview(buffer)
    # A second thread that reads ahead makes this slower, not faster.
    while count := file.readinto(buffer):  # type: ignore[attr-defined]
        digest.update(view[:count])
        size += count
        # Stops at endless files such as /dev/zero.
        if size > info.st_size:
            raise usage(f"'{path}' is not a regular file, or is growing", argument,
                        "a file at rest", "copy it first")
    return Digest(digest.hexdigest(), size)


def _unreadable(path: str, argument: str, error: OSError) -> EdgekilnError:
    what = "cannot be read"
    if isinstance(error, FileNotFoundError):
        what = "does not exist"
    elif isinstance(error, PermissionError):
        what = "may not be read by you"
    elif isinstance(error, IsADirectoryError):
        return usage(f"'{path}' is a folder", argument, "a file", "name the file in it")
    return usage(f"'{path}' {what}", argument, "a file that can be read",
                 "check the path")


def file_changed(shown: str) -> EdgekilnError:
    return error_of(ErrorDetail(
        what="the file changed while it was being uploaded", where=shown,
        fix="call again once the file is at rest", reason="FILE_CHANGED",
        fault="USER", code=errors.INVALID_ARGUMENT))
