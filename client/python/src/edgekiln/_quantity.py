"""Parses limits such as 500k, 64KiB, 2ms and 95%. Numbers are used as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Union

from .errors import usage

Amount = Union[int, float, str]

_COUNTS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES: dict[str, float] = {"": 1, "B": 1}
for _power, _letter in enumerate("kMGT", 1):
    for _prefix, _base in ((_letter, 1000), (f"{_letter.upper()}i", 1024)):
        _BYTES[_prefix] = _BYTES[f"{_prefix}B"] = _base**_power
_BYTES["K"] = _BYTES["KB"] = 1000
_TIMES = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_SHARES = {"": 1.0, "%": 0.01}


def cycles(value: Amount, argument: str) -> float:
    return _parse(value, argument, _COUNTS, "cycles: 500000, '500k', '1.5M'")


def size(value: Amount, argument: str) -> float:
    return _parse(value, argument, _BYTES, "bytes: 65536, '64KiB', '96kB'")


def milliseconds(value: Amount, argument: str) -> float:
    return _parse(value, argument, _TIMES, "milliseconds, or a time: 2, '2ms', '1.5s'")


def share(value: Amount, argument: str) -> float:
    made = _parse(value, argument, _SHARES, "a share: 0.95 or '95%'")
    if made > 1:
        raise usage(f"{argument} must be between 0 and 1, got {value}", argument,
                    "a share: 0.95 or '95%'")
    return made


def number(value: Amount, argument: str) -> float:
    return _parse(value, argument, {"": 1.0}, "a number, 0 or more")


def _parse(value: Amount, argument: str, units: Mapping[str, float],
           need: str) -> float:
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)", value.strip())
        if match is None or match.group(2) not in units:
            raise usage(f"'{value}' is not a limit", argument, need)
        made = float(match.group(1)) * units[match.group(2)]
    else:
        made = float(value)
    if not 0 <= made <= 2**63 or not math.isfinite(made):
        raise usage(f"{value} is not a limit", argument, need)
    return made
