"""The `data` and `calibration` arguments: files, or arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Union

from . import _arrays
from ._blobs import Blob, open_blob, open_file_blob
from .errors import EdgekilnError, usage

if TYPE_CHECKING:
    from ._arrays import Array

# A .npz, .npy or IDX file; a pair (samples, labels) of files; a dict with one
# array per input and optionally labels "y"; or one array for a model with one input.
File = Union[str, "os.PathLike[str]"]
Data = Union[File, "tuple[File, File]", Mapping[str, "Array"], "Array"]


class DataSet:
    """Blobs of a data set. Arrays lie in a temporary file until close()."""

    def __init__(self, data: Data, argument: str, labels_needed: bool = False) -> None:
        self._file: BinaryIO | None = None
        self.blobs: list[Blob] = self._open(data, argument, labels_needed)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self, data: Data, argument: str, labels_needed: bool) -> list[Blob]:
        if not isinstance(data, (str, os.PathLike, tuple, Mapping)):
            data = {"x": data}
        if isinstance(data, Mapping):
            if not data:
                raise usage("there are no arrays", argument, "one array per input")
            self._file = _arrays.write_npz(data)
            return [open_file_blob(self._file, f"<{argument}>")]
        if isinstance(data, tuple):
            if len(data) != 2:
                raise usage(f"{len(data)} files are given", argument,
                            "samples and labels: two files")
            return [open_blob(one, argument) for one in data]
        return _open_files(os.fspath(data), argument, labels_needed)


def _open_files(path: str, argument: str, labels_needed: bool) -> list[Blob]:
    if "," in path and not os.path.exists(path):
        samples, _, labels = path.partition(",")
        return [open_blob(samples, argument), open_blob(labels, argument)]
    samples_blob = open_blob(path, argument)
    with samples_blob.open() as reader:
        # IDX files begin with two zero bytes, gzip with 1f 8b.
        is_idx = reader.read(0, 2) in (b"\0\0", b"\x1f\x8b")
    if not is_idx:
        return [samples_blob]
    candidates = _label_paths(Path(path))
    for labels_path in candidates:
        if labels_path.exists():
            return [samples_blob, open_blob(labels_path, argument)]
    if labels_needed:
        raise _no_labels(path, argument, candidates)
    return [samples_blob]


def _label_paths(samples: Path) -> list[Path]:
    """Candidate paths of the labels, most likely first."""
    name = samples.name.replace("images", "labels").replace("idx3", "idx1")
    if name == samples.name:
        return []
    bare = name.removesuffix(".gz")
    return [samples.with_name(name), samples.with_name(f"{bare}.gz" if name == bare
                                                       else bare)]


def _no_labels(path: str, argument: str, candidates: list[Path]) -> EdgekilnError:
    looked = " and ".join(map(str, candidates)) or "no name that holds \"labels\""
    return usage(f"no labels for the IDX images '{path}'", argument,
                 f"looked for {looked}", f"give both: {argument}=(SAMPLES, LABELS)")
