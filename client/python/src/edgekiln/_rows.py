"""Dataclasses out of messages."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

RowT = TypeVar("RowT")


def row_of(kind: type[RowT], message: Any, **others: Any) -> RowT:
    """A dataclass out of the fields of the same names; enums become names."""
    values = dict(others)
    for field in fields(kind):
        if field.name in values:
            continue
        value = getattr(message, field.name)
        enum = message.DESCRIPTOR.fields_by_name[field.name].enum_type
        if enum is not None:
            known = enum.values_by_number.get(value)
            value = known.name if known is not None else str(value)
        values[field.name] = value
    return kind(**values)
