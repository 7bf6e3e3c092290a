"""Writes downloaded files to the user's folders."""

from __future__ import annotations

import os
import pathlib
import secrets
from collections.abc import Mapping

from ._blobs import Digest
from ._connection import Connection
from ._download import download
from .errors import EdgekilnError, usage


def make_folder(folder: pathlib.Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error.strerror or "") from None


def refuse_links(root: pathlib.Path, path: str) -> None:
    """Between the folder and the file nothing may lead elsewhere."""
    at = root
    for part in path.split("/"):
        at /= part
        if at.is_symlink():
            raise _cannot_write(at, "it is a symbolic link")


def check_output(output: str | os.PathLike[str], inputs: Mapping[str, object]) -> None:
    """Before a job: whether a file can be written, which is none of `inputs`."""
    path = pathlib.Path(output)
    if path.is_dir():
        raise _cannot_write(path, "it is a folder: name the file in it")
    if path.exists() and not path.is_file():
        raise _cannot_write(path, "it is not a regular file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _cannot_write(path, "its folder does not exist, or is not yours to write to")
    for name, source in inputs.items():
        if (isinstance(source, (str, os.PathLike)) and path.exists()
                and os.path.exists(source) and path.samefile(source)):
            raise _cannot_write(path, f"{name} is read from it")


def write_files(connection: Connection, files: Mapping[pathlib.Path, Digest],
                deadline: float | None) -> None:
    """All or nothing, as far as files allow."""
    parts: dict[pathlib.Path, pathlib.Path] = {}
    try:
        for path, digest in files.items():
            part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part")
            with open(part, "xb") as file:
                parts[path] = part
                download(connection, digest, file.write, deadline)
        for path, part in parts.items():
            os.replace(part, path)
    except EdgekilnError:  # Some are OSErrors, too.
        raise
    except OSError as error:
        raise _cannot_write(pathlib.Path(error.filename or "output"),
                            error.strerror or "") from None
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _cannot_write(path: pathlib.Path, why: str) -> EdgekilnError:
    return usage(f"'{path}' cannot be written: {why}", "output", "",
                 "choose another place")
