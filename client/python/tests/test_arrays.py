"""Reading and writing .npz files, hostile ones included."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

import numpy as np
import pytest

from edgekiln import ServiceError, UsageError, _arrays


def npz(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file


def header(text: str) -> bytes:
    padded = text.encode() + b" " * (53 - len(text) % 64 % 53) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


@pytest.mark.parametrize("array", [
    np.arange(6, dtype="float32").reshape(2, 3), np.zeros((0, 4), "int8"),
    np.array(3.5), np.asfortranarray(np.arange(12).reshape(3, 4)),
    np.array([True, False]), np.arange(3, dtype=">i4"), np.ones(5, "float16"),
])
def test_round_trip(array: Any) -> None:
    with _arrays.write_npz({"file": array, "a/b:0": array}) as file:
        back = _arrays.read_npz(file)
    assert list(back) == ["file", "a/b:0"]
    for one in back.values():
        assert one.dtype == array.dtype and one.shape == array.shape
        assert np.array_equal(one, array)


def test_reads_what_numpy_writes_and_the_other_way_round() -> None:
    array = np.arange(1000, dtype="int16").reshape(10, 100)
    file = io.BytesIO()
    np.savez_compressed(file, x=array)
    assert np.array_equal(_arrays.read_npz(file)["x"], array)
    with _arrays.write_npz({"x": array}) as written:
        written.seek(0)
        assert np.array_equal(np.load(written, allow_pickle=False)["x"], array)


def test_equal_arrays_give_equal_bytes() -> None:
    with _arrays.write_npz({"x": np.ones(3)}) as a, _arrays.write_npz(
            {"x": np.ones(3)}) as b:
        a.seek(0)
        b.seek(0)
        assert a.read() == b.read()


class Evil:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("something was unpickled",))


HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"


@pytest.mark.parametrize("file", [
    io.BytesIO(b""), io.BytesIO(b"PK"), npz({"x.npy": b"junk"}),
    npz({"x.npy": header(HUGE) + b"1234"}),
    npz({"x.npy": header(HUGE.replace("(1099511627776,)", "(-1, -4)")) + b"1234"}),
    npz({"x.npy": header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")
         + pickle.dumps(Evil())}),
    npz({"x.npy": header("{'descr': '|V8', 'fortran_order': False, 'shape': (1,), }")
         + b"12345678"}),
    npz({"x.npy": header("__import__('os').abort()")}),
    npz({"x.npy": pickle.dumps(Evil())}),
    npz({"x.npy": b"\x93NUMPY\x09\x00\x00\x00"}),
])
def test_hostile_files(file: io.BytesIO) -> None:
    with pytest.raises(ServiceError, match="the outputs cannot be read"):
        _arrays.read_npz(file)


def test_a_size_that_no_compression_reaches_is_refused() -> None:
    file = npz({"x.npy": header("{'descr': '|u1', 'fortran_order': False, "
                                "'shape': (4294967295,), }") + bytes(100)},
               zipfile.ZIP_DEFLATED)
    data = bytearray(file.getvalue())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24:at + 28] = b"\xff\xff\xff\xff"[:3] + b"\x7f"
    with pytest.raises(ServiceError, match="claims to unpack"):
        _arrays.read_npz(io.BytesIO(bytes(data)))


@pytest.mark.parametrize("array", [np.array([Evil()]), np.array(["text"]),
                                   np.array([1j])])
def test_arrays_that_are_not_numbers(array: Any) -> None:
    with pytest.raises(UsageError, match="bool, int, uint or float"):
        _arrays.write_npz({"x": array})
