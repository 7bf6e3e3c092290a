"""Tensors for the cases: seeded values, and outputs with a fitting scale."""

import zlib

import numpy as np

from model import LIMITS, Output, Tensor

QUANTIZED = ("int8", "uint8", "int16")
REAL = ("float32",) + QUANTIZED


def generator(*key):
    """The same numbers for the same key, whatever other cases there are."""
    return np.random.RandomState(zlib.crc32(repr(key).encode()))


def parameters(etype, low, high):
    """Scale and zero point of an activation; 0 is a value of its own."""
    low, high = min(low, 0.0), max(high, 0.0)
    if high - low < 1e-6:
        high = low + 1.0
    first, last = LIMITS[etype]
    if etype == "int16":
        return float(np.float32(max(-low, high) / last)), 0
    scale = np.float32((high - low) / (last - first))
    return float(scale), int(np.clip(round(first - low / scale), first, last))


def quantized(etype, real, scale, zero, **more):
    first, last = LIMITS[etype]
    q = np.clip(np.rint(np.asarray(real) / np.float32(scale)) + zero, first,
                last).astype(np.int64)
    return Tensor(etype, q, scale=scale, zero=zero, **more)


def stored(etype, real, low=None, high=None, **more):
    """`real` as a tensor of this type."""
    real = np.asarray(real, np.float64)
    if etype not in QUANTIZED:
        dtype = {"bool": np.uint8}.get(etype, etype)
        return Tensor(etype, real.astype(dtype), **more)
    low = real.min() if low is None else low
    high = real.max() if high is None else high
    return quantized(etype, real, *parameters(etype, low, high), **more)


def act(etype, shape, low=-2.0, high=2.0, seed=0, **more):
    """An activation of uniform values from `low` to `high`."""
    random = generator(etype, shape, low, high, seed)
    real = random.uniform(low, high, shape)
    return stored(etype, real, low, high, **more)


def like(tensor, want, steps=0.0, **more):
    """An output with the scale of an input; exact if nothing else is said."""
    return Output(tensor.etype, want, steps=steps, scale=tensor.scale,
                  zero=tensor.zero, **more)


def out(etype, want, steps=1.0, scale=None, zero=0, **more):
    """An output with a scale that fits the values expected."""
    want = np.asarray(want, np.float64)
    if etype not in QUANTIZED:
        return Output(etype, want, **more)
    if scale is None:
        scale, zero = parameters(etype, want.min(), want.max())
    return Output(etype, want, steps=steps, scale=scale, zero=zero, **more)


def exactly(y, q):
    """The output y, of which the stored values are known to the bit."""
    q = np.clip(q, *LIMITS[y.etype])
    y.want = np.float64(np.float32(y.scale)) * (q - y.zero)
    y.steps = 0
    return y


def ints(values, etype="int32", **more):
    """A constant of integers: an axis, a shape."""
    return Tensor(etype, np.asarray(values), const=True, **more)
