"""Writes FlatBuffers, and with them TensorFlow Lite models.

Knows the wire format and the numbers of the fields; shares nothing with the
importer, not even its schema. A table is a dict from field number to value:

    I32(5), F32(0.5), ...   a number in the table
    "text", b"bytes"        a string, a vector of bytes (aligned to 16)
    Vec("i", [1, 2])        a vector of numbers, by the letter of `struct`
    {...}, [{...}, ...]     a table, a vector of tables
"""

import struct


class Number:
    def __init__(self, code, value):
        self.code = code
        self.value = value
        self.size = struct.calcsize("<" + code)


class Vec:
    def __init__(self, code, values):
        self.code = code
        self.values = list(values)


def I8(value):
    return Number("b", value)


def U8(value):
    return Number("B", value)


def Bool(value):
    return Number("B", 1 if value else 0)


def I32(value):
    return Number("i", value)


def U32(value):
    return Number("I", value)


def F32(value):
    return Number("f", value)


class _Writer:
    """Front to back: what an offset points to lies behind it."""

    def __init__(self):
        self.data = bytearray()

    def align(self, size):
        self.data.extend(bytes(-len(self.data) % size))

    def refer(self, at, value):
        """Writes `value` at the end and an offset to it at `at`."""
        where = self.write(value)
        struct.pack_into("<I", self.data, at, where - at)

    def write(self, value):
        if isinstance(value, dict):
            return self.table(value)
        if isinstance(value, str):
            return self.raw(value.encode() , 1, len(value.encode()), b"\0")
        if isinstance(value, bytes):
            return self.raw(value, 16, len(value))
        if isinstance(value, Vec):
            body = struct.pack("<%d%s" % (len(value.values), value.code),
                               *value.values)
            return self.raw(body, struct.calcsize("<" + value.code),
                            len(value.values))
        return self.tables(value)

    def raw(self, body, alignment, count, tail=b""):
        """The elements are aligned; their count lies right before them."""
        self.align(4)
        while (len(self.data) + 4) % alignment:
            self.data.extend(bytes(4))
        where = len(self.data)
        self.data += struct.pack("<I", count) + body + tail
        return where

    def tables(self, items):
        self.align(4)
        where = len(self.data)
        self.data += struct.pack("<I", len(items)) + bytes(4 * len(items))
        for i, item in enumerate(items):
            self.refer(where + 4 + 4 * i, item)
        return where

    def table(self, fields):
        fields = {k: v for k, v in fields.items() if v is not None}
        size = 4
        offsets = {}
        # The largest first, each at its alignment.
        for key, value in sorted(
                fields.items(),
                key=lambda kv: -(kv[1].size if isinstance(kv[1], Number) else 4)):
            width = value.size if isinstance(value, Number) else 4
            size += -size % width
            offsets[key] = size
            size += width
        slots = max(offsets, default=-1) + 1
        self.align(2)
        vtable = len(self.data)
        self.data += struct.pack("<HH", 4 + 2 * slots, size)
        for key in range(slots):
            self.data += struct.pack("<H", offsets.get(key, 0))
        self.align(8)
        where = len(self.data)
        self.data += struct.pack("<i", where - vtable) + bytes(size - 4)
        for key, value in fields.items():
            if isinstance(value, Number):
                struct.pack_into("<" + value.code, self.data,
                                 where + offsets[key], value.value)
        for key, value in fields.items():
            if not isinstance(value, Number):
                self.refer(where + offsets[key], value)
        return where


def finish(root, identifier):
    writer = _Writer()
    writer.data += bytes(4) + identifier
    writer.refer(0, root)
    return bytes(writer.data)
