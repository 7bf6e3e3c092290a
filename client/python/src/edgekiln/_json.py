"""Reports as JSON: the text that `edgekiln ... --json` prints, and reading it.

Names are those of the .proto files, 64-bit integers are numbers, zero and empty
fields are printed, absent messages and unset oneofs are left out; doubles have
the shortest form that reads back equal (reports/text/json.h). The message types
of reports have neither bytes nor timestamps.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Collection, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor

from ._proto.edgekiln.v1 import report_diff_pb2, report_pb2
from .errors import EdgekilnError, usage

# What differs between two runs of the same job, and the caller's own limits.
RUN_FIELDS = frozenset({"job_id", "stages", "gates"})
_MAX_FILE_BYTES = 256 << 20


def to_json(message: Any, without: Collection[str] = ()) -> str:
    return _object(message, 0, without) + "\n"


def read_reports(path: str | os.PathLike[str]) -> list[report_pb2.Report]:
    """One report or a list of them. UsageError for anything else."""
    shown = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise usage(f"'{shown}' cannot be read", shown, error.strerror or "",
                    "check the path") from None
    if len(data) > _MAX_FILE_BYTES:
        raise _not_a_report(shown, "it is larger than 256 MiB")
    try:
        parsed = json.loads(data)
        wrapped = {"reports": parsed if isinstance(parsed, list) else [parsed]}
        reports = json_format.ParseDict(
            wrapped, report_diff_pb2.ReportList(), ignore_unknown_fields=True)
    except (ValueError, RecursionError, json_format.ParseError) as error:
        raise _not_a_report(shown, str(error).split("\n")[0][:200]) from None
    for report in reports.reports:
        _check(report, shown)
    if not reports.reports:
        raise _not_a_report(shown, "it is empty")
    return list(reports.reports)


def _check(report: report_pb2.Report, shown: str) -> None:
    empty = not report.layers and not any(
        report.HasField(name) for name in ("totals", "quantized", "error"))
    if empty:
        raise _not_a_report(shown, "it has neither layers nor totals")
    totals, memory, accuracy = report.totals, report.memory, report.accuracy
    counts = [totals.cycles, totals.cycles_other_io, totals.macs,
              totals.dma_bytes_read, totals.dma_bytes_written, memory.flash_bytes,
              memory.ram_bytes, memory.sram_peak_bytes, totals.instructions,
              totals.setup_instructions]
    counts += [use.used_bytes for use in memory.memories]
    for layer in report.layers:
        counts += [layer.cycles, layer.sram_bytes]
    lowest = -1 if accuracy.metric == "cosine" else 0
    highest = math.inf if accuracy.less_is_better else 1
    possible = lowest <= accuracy.value <= highest and math.isfinite(accuracy.value)
    if min(counts) < 0 or not possible:
        raise _not_a_report(shown, "it has a count below 0, or an accuracy out of range")


def _not_a_report(shown: str, why: str) -> EdgekilnError:
    return usage(f"'{shown}' holds no report: {why}", shown,
                 "what `edgekiln profile --json` prints",
                 "write it with Report.save(), or edgekiln profile ... --json > FILE")


def _object(message: Any, depth: int, without: Collection[str] = ()) -> str:
    parts = []
    for field in message.DESCRIPTOR.fields:
        if field.name in without or _is_absent(message, field):
            continue
        value = getattr(message, field.name)
        if field.label == FieldDescriptor.LABEL_REPEATED:
            text = _list(value, field, depth + 1)
        else:
            text = _value(value, field, depth + 1)
        parts.append(f'"{field.name}": {text}')
    return _lines("{", parts, "}", depth)


def _is_absent(message: Any, field: Any) -> bool:
    presence = field.label != FieldDescriptor.LABEL_REPEATED and (
        field.message_type is not None or field.containing_oneof is not None)
    return presence and not message.HasField(field.name)


def _list(values: Sequence[Any], field: Any, depth: int) -> str:
    """Lists of messages take a line per field, lists of scalars one line."""
    if field.message_type is None:
        return f"[{', '.join(_value(value, field, depth) for value in values)}]"
    return _lines("[", [_object(value, depth + 1) for value in values], "]", depth)


def _lines(begin: str, parts: list[str], end: str, depth: int) -> str:
    if not parts:
        return begin + end
    indent = "  " * depth
    body = ",\n".join(f"{indent}  {part}" for part in parts)
    return f"{begin}\n{body}\n{indent}{end}"


def _value(value: Any, field: Any, depth: int) -> str:
    if field.message_type is not None:
        return _object(value, depth)
    if field.enum_type is not None:
        # An enum value from a newer daemon has no name here.
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else f'"{known.name}"'
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return _number(value, _shortest_float32(value))
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return _number(value, repr(float(value)))
    if isinstance(value, str):
        return _string(value)
    return json.dumps(value)


def _string(text: str) -> str:
    out = text.replace("\\", "\\\\").replace('"', '\\"')
    out = out.replace("\n", "\\n").replace("\t", "\\t")
    return '"' + "".join(f"\\u{ord(char):04x}" if ord(char) < 0x20 or char == "\x7f"
                         else char for char in out) + '"'


def _shortest_float32(value: float) -> str:
    """The fewest digits that read back as the same 32-bit float."""
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            same = struct.pack("f", float(text)) == struct.pack("f", value)
        except OverflowError:  # Rounded up beyond the largest float.
            same = False
        if same:
            return text
    return f"{value:.9g}"


def _number(value: float, shortest: str) -> str:
    """`shortest` gives the digits; the notation is chosen as std::to_chars does."""
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    sign = "-" if math.copysign(1, value) < 0 else ""
    mantissa, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # value = 0.DIGITS * 10^point
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return sign + "0"
    if value == math.trunc(value) and abs(value) < 1e15:
        return sign + str(abs(int(value)))
    if point <= 0:
        fixed = "0." + "0" * -point + digits
    elif point >= len(digits):
        fixed = str(abs(int(value)))
    else:
        fixed = f"{digits[:point]}.{digits[point:]}"
    power = point - 1
    scientific = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    scientific += f"e{'-' if power < 0 else '+'}{abs(power):02d}"
    return sign + (fixed if len(fixed) <= len(scientific) else scientific)
