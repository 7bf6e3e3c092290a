#!/usr/bin/python3
"""Compares the interpreter with ArmNN on every one-operator model that ArmNN
loads.

ArmNN 20.08 computes quantized operators in float (CpuRef), so that a step more
than our own limit is no news. Where it differs for a reason, DIFFERS says so.

Exit codes: 0 all is well, 1 it is not, 77 ArmNN is not installed.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile

try:
    import numpy as np
    with contextlib.redirect_stdout(None):
        import pyarmnn as armnn
except ImportError:
    print("python3-pyarmnn is not installed: nothing was checked")
    sys.exit(77)

from coverage import all_cases, write_case
from model import fed_tensors

# By a part of the case's name: why ArmNN 20.08 gives other values.
DIFFERS = {
    "conv_2d_float32_groups": "ignores groups, which came later",
    "conv_2d_int8_groups": "ignores groups, which came later",
    "resize_nearest_neighbor": "ignores align_corners and half pixels",
    "_half_": "ignores half_pixel_centers, which came later",
    "pad_uint8": "pads with the stored value 0, not with the zero point",
    "exp_int16": "has no tables of few values",
    "tanh_int16": "has no tables of few values",
    "logistic_int16": "has no tables of few values",
    "softmax_int16": "has no tables of few values",
}


def run_in_armnn(path, case):
    """Outputs as stored values; raises what ArmNN raises."""
    parser = armnn.ITfLiteParser()
    network = parser.CreateNetworkFromBinaryFile(path)
    runtime = armnn.IRuntime(armnn.CreationOptions())
    optimized, _ = armnn.Optimize(
        network, [armnn.BackendId("CpuRef")], runtime.GetDeviceSpec(),
        armnn.OptimizerOptions())
    identifier, _ = runtime.LoadNetwork(optimized)
    inputs = []
    for i, tensor in enumerate(fed_tensors(case)):
        names = parser.GetSubgraphInputTensorNames(0)
        binding = parser.GetNetworkInputBindingInfo(0, names[i])
        dtype = {"bool": np.uint8}.get(tensor.etype, tensor.etype)
        inputs.append((binding, np.frombuffer(tensor.bytes(), dtype)))
    names = parser.GetSubgraphOutputTensorNames(0)
    bindings = [parser.GetNetworkOutputBindingInfo(0, n) for n in names]
    feed = armnn.make_input_tensors([b for b, _ in inputs],
                                    [v for _, v in inputs])
    fetch = armnn.make_output_tensors(bindings)
    runtime.EnqueueWorkload(identifier, feed, fetch)
    return [np.array(v).reshape(-1)
            for v in armnn.workload_tensors_to_ndarray(fetch)]


def in_child(path, case):
    """(outputs, None) or (None, why not): ArmNN ends the process at times."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            result = (run_in_armnn(path, case), None)
        except Exception as error:  # Whatever it is, ArmNN does not load it.
            result = (None, str(error))
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else (None, "ArmNN crashed")


def distance(case, index, ours, theirs):
    """None if alike; else how far apart."""
    expected = case.outputs[index]
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    if ours.size != theirs.size:
        return "%d values instead of %d" % (theirs.size, ours.size)
    limit = 1e-4 * max(1.0, np.abs(ours).max(initial=0))
    if expected.scale is not None:
        limit = expected.steps + 1
    off = np.abs(ours - theirs).max(initial=0)
    return None if off <= limit else "off by %g, limit %g" % (off, limit)


def main():
    loaded, bad, explained = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        cases = [c for c in all_cases() if c.samples == 1]
        for case in cases:
            write_case(folder, case)
        subprocess.run([sys.argv[1], folder], check=True)
        for case in cases:
            stem = os.path.join(folder, case.name)
            theirs, _ = in_child(stem + ".tflite", case)
            if theirs is None or not os.path.exists(stem + ".output0"):
                continue
            loaded += 1
            for i, expected in enumerate(case.outputs):
                dtype = {"bool": np.uint8}.get(expected.etype, expected.etype)
                with open("%s.output%d" % (stem, i), "rb") as f:
                    ours = np.frombuffer(f.read(), dtype)
                why = distance(case, i, ours, theirs[i])
                known = [r for part, r in DIFFERS.items() if part in case.name]
                if why and known:
                    explained.append(case.name)
                elif why:
                    bad.append("%s: output %d: %s" % (case.name, i, why))
    print("\n".join(bad))
    print("%d of %d models load in ArmNN; %d agree, %d differ for a known "
          "reason, %d differ" % (loaded, len(cases),
                                 loaded - len(explained) - len(bad),
                                 len(explained), len(bad)))
    return 1 if bad or loaded == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
