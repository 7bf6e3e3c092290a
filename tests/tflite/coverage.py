#!/usr/bin/python3
"""Runs every TensorFlow Lite operator in every element type it has.

A model of one operator for each case, written by model.py, run by `run_cases`,
compared with a formula in numpy. What passes is the table of
docs/tflite_coverage.md: --check compares it, --write replaces it.

Exit codes: 0 all is well, 1 it is not, 77 numpy is not installed.
"""

import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is not installed: nothing was checked")
    sys.exit(1 if os.environ.get("CI") == "true" else 77)

import matrix
from cases_elementwise import cases as elementwise
from cases_move import cases as move
from cases_recurrent import cases as recurrent
from cases_reduce import cases as reduce
from cases_window import cases as window
from model import LIMITS, fed_tensors, model_bytes


def all_cases():
    for family in (elementwise, window, move, reduce, recurrent):
        yield from family()


def write_case(folder, case):
    stem = os.path.join(folder, case.name)
    if os.path.exists(stem + ".tflite"):
        raise ValueError("two cases are called " + case.name)
    with open(stem + ".tflite", "wb") as f:
        f.write(model_bytes(case))
    for i, tensor in enumerate(fed_tensors(case)):
        with open("%s.input%d" % (stem, i), "wb") as f:
            f.write(tensor.bytes())


def difference(expected, got):
    """None if `got`, the stored values, is what was expected; else why not."""
    dtype = {"bool": np.uint8}.get(expected.etype, expected.etype)
    values = np.frombuffer(got, dtype).astype(np.float64)
    want = expected.want.astype(np.float64).reshape(-1)
    if values.size != want.size:
        return "%d values instead of %d" % (values.size, want.size)
    if expected.scale is not None:
        low, high = LIMITS[expected.etype]
        want = np.clip(want / np.float32(expected.scale) + expected.zero, low,
                       high)
        limit = expected.steps
    elif expected.etype == "float32":
        limit = expected.tolerance * max(1.0, np.abs(want).max(initial=0))
    else:
        limit = 0
    off = np.abs(values - want)
    # Exact ones are stored values whose real value is a sum in float64.
    if off.size == 0 or off.max() <= limit + 1e-6 * max(1.0, np.abs(want).max()):
        return None
    at = int(off.argmax())
    return "value %d of %d is %g, not %g (off by %g, limit %g)" % (
        at, off.size, values[at], want[at], off[at], limit)


def failure(folder, case):
    stem = os.path.join(folder, case.name)
    if os.path.exists(stem + ".error"):
        with open(stem + ".error") as f:
            return f.read().strip()
    for i, expected in enumerate(case.outputs):
        path = "%s.output%d" % (stem, i)
        if not os.path.exists(path):
            return "no output %d" % i
        with open(path, "rb") as f:
            why = difference(expected, f.read())
        if why:
            return "output %d: %s" % (i, why)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_cases", help="the program of that name")
    parser.add_argument("page", help="docs/tflite_coverage.md")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", help="folder for models, inputs and outputs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        os.makedirs(folder, exist_ok=True)
        cases = list(all_cases())
        for case in cases:
            write_case(folder, case)
        subprocess.run([arguments.run_cases, folder], check=True)
        failures = {}
        for case in cases:
            why = failure(folder, case)
            if why:
                failures[case.name] = why
    for name, why in failures.items():
        print("%s: %s" % (name, why))
    print("%d of %d cases pass" % (len(cases) - len(failures), len(cases)))
    return matrix.update(arguments.page, cases, failures, arguments.write)


if __name__ == "__main__":
    sys.exit(main())
