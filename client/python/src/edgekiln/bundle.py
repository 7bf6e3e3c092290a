"""Bundle: what `Client.compile` made for a chip."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping

from ._blobs import Digest
from ._connection import Connection
from ._download import MAX_WHOLE_BYTES, check_size, digest_of, download
from ._jobs import Deadline
from ._output import make_folder, refuse_links, write_files
from ._proto.edgekiln.v1 import jobs_pb2
from ._text import clean
from .errors import DATA_LOSS, ErrorDetail, error_of
from .report import Report


class Bundle:
    """The files of a program and their report. The files stay with the daemon, as
    long as its cache has room, until they are read or saved; the client must not
    be closed before.
    """

    def __init__(self, connection: Connection, job: jobs_pb2.Job, report: Report,
                 timeout: float | None) -> None:
        self.report = report
        self._connection = connection
        self._timeout = timeout
        self._files: dict[str, Digest] = {}
        for artifact in job.artifacts:
            if not _is_safe(artifact.path) or artifact.path in self._files:
                raise _bad_path(artifact.path)
            self._files[artifact.path] = digest_of(artifact.digest)

    @property
    def files(self) -> Mapping[str, int]:
        """Sizes in bytes by relative path."""
        return {path: digest.size_bytes for path, digest in self._files.items()}

    def read(self, path: str) -> bytes:
        """The bytes of one file. KeyError if there is none of that path."""
        digest = self._files[path]
        check_size(digest, MAX_WHOLE_BYTES, path)
        pieces: list[bytes] = []
        download(self._connection, digest, pieces.append, Deadline(self._timeout).at)
        return b"".join(pieces)

    def save(self, folder: str | os.PathLike[str]) -> tuple[pathlib.Path, ...]:
        """Writes all files into the folder, as `edgekiln compile -o` does: none of
        them has its name before all are there. Returns their paths."""
        root = pathlib.Path(folder)
        make_folder(root)
        wanted = {}
        for path, digest in self._files.items():
            refuse_links(root, path)
            make_folder((root / path).parent)
            wanted[root / path] = digest
        write_files(self._connection, wanted, Deadline(self._timeout).at)
        return tuple(wanted)

    def __repr__(self) -> str:
        return (f"<Bundle {clean(self.report.model_name)} on "
                f"{clean(self.report.target_name)}: {len(self._files)} files>")


def _is_safe(path: str) -> bool:
    return (0 < len(path) <= 1024 and path.isprintable() and "\\" not in path
            and all(part not in ("", ".", "..") for part in path.split("/")))


def _bad_path(path: str) -> Exception:
    return error_of(ErrorDetail(
        what="the daemon names a file outside of the output", where=clean(path[:200]),
        need='different relative paths without ".."', fix="use a daemon that you trust",
        reason="ARTIFACT_PATH", fault="INFRA", code=DATA_LOSS))
