"""Writes numpy arrays as data sets and reads the outputs of jobs as arrays.

A .npz is a zip of .npy files. Those from the daemon are read with their sizes
checked before anything is allocated, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import tempfile
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from . import errors
from .errors import EdgekilnError, ErrorDetail, error_of, usage

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

# Limit for all arrays of a file, unpacked.
MAX_UNPACKED_BYTES = 4 << 30
_MAX_ARRAYS = 65536
# The highest compression ratio of deflate, and slack for headers.
_MAX_RATIO, _RATIO_SLACK = 1040, 4096
_PIECE = 1 << 20


def temporary_file() -> BinaryIO:
    """A file without a name, deleted when it is closed."""
    file: BinaryIO = tempfile.TemporaryFile(prefix="edgekiln-")  # type: ignore[assignment]
    return file


def write_npz(arrays: Mapping[str, Array]) -> BinaryIO:
    """Writes a temporary .npz file. The same arrays give the same bytes, so cached
    results are found."""
    import numpy as np
    from numpy.lib import format as npy

    file = temporary_file()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            value = np.asarray(array)
            if value.dtype.hasobject or value.dtype.kind not in "biuf":
                raise usage(f"array '{name}' holds {value.dtype}", "data",
                            "bool, int, uint or float elements",
                            "convert it, for example with .astype('float32')")
            # ZipInfo has a fixed date unless one is given.
            info = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, value, allow_pickle=False)  # type: ignore[no-untyped-call]
    file.flush()
    return file


def read_npz(file: BinaryIO) -> dict[str, Array]:
    """Reads all arrays of an untrusted .npz file, in file order."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(members)
            return {_array_name(info): _read_member(archive, info) for info in members}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError,
            RuntimeError) as error:
        if isinstance(error, EdgekilnError):
            raise
        raise _damaged(str(error)) from None


def _array_name(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > _MAX_ARRAYS:
        raise _damaged(f"{len(members)} arrays")
    if len({info.filename for info in members}) != len(members):
        raise _damaged("two arrays have the same name")
    total = 0
    for info in members:
        if info.file_size > info.compress_size * _MAX_RATIO + _RATIO_SLACK:
            raise _damaged(f"'{info.filename}' claims to unpack to "
                           f"{info.file_size} bytes")
        total += info.file_size
    if total > MAX_UNPACKED_BYTES:
        raise _damaged(f"the arrays unpack to {total} bytes")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    import numpy as np
    from numpy.lib import format as npy

    with archive.open(info) as member:
        version = npy.read_magic(member)  # type: ignore[no-untyped-call]
        if version == (1, 0):
            header = npy.read_array_header_1_0(member)  # type: ignore[no-untyped-call]
        elif version == (2, 0):
            header = npy.read_array_header_2_0(member)  # type: ignore[no-untyped-call]
        else:
            raise _damaged(f"'{info.filename}' has an unknown version of .npy")
        shape, fortran_order, dtype = header
        if dtype.kind not in "biuf" or any(extent < 0 for extent in shape):
            raise _damaged(f"'{info.filename}' holds {dtype} {shape}")
        left = info.file_size - member.tell()
        count = math.prod(shape)
        if count * dtype.itemsize != left:
            raise _damaged(f"'{info.filename}' has {left} bytes for "
                           f"{dtype} {shape}")
        flat = np.empty(count, dtype)
        _fill(member, flat.view(np.uint8).data)
    return flat.reshape(shape, order="F" if fortran_order else "C")


def _fill(member: Any, out: memoryview) -> None:
    at = 0
    while at < len(out):
        piece = member.read(min(_PIECE, len(out) - at))
        if not piece:
            raise _damaged("the file ends early")
        out[at:at + len(piece)] = piece
        at += len(piece)


def _damaged(why: str) -> EdgekilnError:
    return error_of(ErrorDetail(
        what="the outputs cannot be read", where=why[:500], reason="BAD_OUTPUTS",
        fault="INFRA", fix="use a daemon that you trust, of this version",
        code=errors.DATA_LOSS))
