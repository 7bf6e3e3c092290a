"""Element by element: f(x), f(a, b), comparisons, conversions."""

import math

import numpy as np

import published
from model import Bool, Case, F32, I8, Output, Tensor
from values import QUANTIZED, REAL, act, exactly, like, out, stored

_erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# Builtin: function, lowest and highest input, options, fixed output scale of
# (int8, uint8, int16) or None, and a note to tell variants apart.
UNARY = [
    ("ABS", np.abs, -2, 2, None, None, ""),
    ("CEIL", np.ceil, -3, 3, None, None, ""),
    ("COS", np.cos, -7, 7, None, None, ""),
    ("ELU", lambda x: np.where(x > 0, x, np.expm1(x)), -3, 3, None, None, ""),
    ("EXP", np.exp, -2, 1, None, None, ""),
    ("FLOOR", np.floor, -3, 3, None, None, ""),
    ("GELU", lambda x: x / 2 * (1 + _erf(x / math.sqrt(2))), -3, 3, None, None,
     ""),
    ("GELU", gelu_tanh, -3, 3, (116, {0: Bool(True)}), None, "approximate"),
    ("HARD_SWISH", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), -4, 4, None, None,
     ""),
    ("LEAKY_RELU", lambda x: np.where(x < 0, np.float32(0.1) * x, x), -2, 2,
     (75, {0: F32(0.1)}), None, ""),
    ("LOG", np.log, 0.3, 4, None, None, ""),
    ("LOGISTIC", sigmoid, -4, 4, None,
     {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
     ""),
    ("NEG", np.negative, -2, 3, None, None, ""),
    ("ROUND", np.rint, -3, 3, None, None, ""),
    ("RSQRT", lambda x: 1 / np.sqrt(x), 0.3, 4, None, None, ""),
    ("SIGN", np.sign, -2, 2, None, None, ""),
    ("SIN", np.sin, -7, 7, None, None, ""),
    ("SQRT", np.sqrt, 0, 4, None, None, ""),
    ("SQUARE", np.square, -2, 2, None, None, ""),
    ("TANH", np.tanh, -3, 3, None,
     {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)},
     ""),
    ("RELU", lambda x: np.maximum(x, 0), -2, 2, None, None, ""),
    ("RELU6", lambda x: np.clip(x, 0, 6), -4, 8, None, None, ""),
    ("RELU_N1_TO_1", lambda x: np.clip(x, -1, 1), -2, 2, None, None, ""),
]
# Functions that jump: a rounding of the input decides.
JUMPS = ("CEIL", "FLOOR", "ROUND", "SIGN")
FLOAT_ONLY = JUMPS + ("COS", "SIN")
POSITIVE = ("LOG", "RSQRT")


def approximated(builtin, x, y):
    """y, exact where TensorFlow Lite does not round the real value."""
    if builtin == "SQRT" and x.etype in QUANTIZED:
        return exactly(y, published.root(x, y))
    if builtin == "RSQRT" and x.etype in ("int8", "uint8"):
        return exactly(y, published.rsqrt(x, y))
    if x.etype == "int16" and builtin in ("EXP", "LOG", "RSQRT"):
        return exactly(y, published.interpolated(builtin, x, y))
    if x.etype == "int16" and builtin in ("LOGISTIC", "TANH"):
        return exactly(y, published.squashed(builtin, x))
    return y


def unary():
    for builtin, f, low, high, options, fixed, note in UNARY:
        for etype in REAL:
            if builtin in FLOAT_ONLY and etype != "float32":
                continue
            x = act(etype, (1, 4, 5, 3), low, high)
            if builtin in POSITIVE and etype != "float32":
                # Not 0, which the scale has to represent.
                x.data = np.maximum(x.data, x.zero + 12)
            scale, zero = (fixed or {}).get(etype, (None, 0))
            y = out(etype, f(x.real), scale=scale, zero=zero)
            yield Case(builtin, etype, [x], [approximated(builtin, x, y)],
                       options, note)
    # Steps for which TensorFlow Lite has no table, but fixed point.
    q = np.arange(-32768, 32768, 37)
    for builtin in ("LOGISTIC", "TANH"):
        x = Tensor("int16", q, scale=2.0**-12)
        y = Output("int16", q, scale=2.0**-15)
        yield Case(builtin, "int16", [x], [approximated(builtin, x, y)],
                   note="power_of_two")
    for builtin, f in (("ABS", np.abs), ("NEG", np.negative)):
        for etype in ("int32", "int64"):
            x = Tensor(etype, np.arange(-7, 8))
            yield Case(builtin, etype, [x], [Output(etype, f(x.data), 0)])
    x = Tensor("bool", np.array([1, 0, 1, 1]))
    yield Case("LOGICAL_NOT", "bool", [x], [Output("bool", 1 - x.data, 0)])


def _safe_divide(a, b):
    return a / b


def divided(a):
    """a / b as an output that fits `want`, clamped to its range."""
    def make(want, b):
        y = out(a.etype, want)
        lowest, highest = np.rint(
            np.array([want.min(), want.max()]) / y.scale) + y.zero
        return exactly(y, np.clip(published.quotient(a, b, y), lowest, highest))
    return make


def squared(a):
    def make(want, b):
        y = out(a.etype, want)
        return exactly(y, published.squared_difference(a, b, y))
    return make


ARITHMETIC = [
    ("ADD", np.add, 11), ("SUB", np.subtract, 28), ("MUL", np.multiply, 21),
    ("DIV", _safe_divide, 29), ("MAXIMUM", np.maximum, 0),
    ("MINIMUM", np.minimum, 0),
    ("SQUARED_DIFFERENCE", lambda a, b: (a - b)**2, 0), ("POW", np.power, 0),
]


def arithmetic():
    for builtin, f, union in ARITHMETIC:
        for etype in REAL if builtin != "POW" else ("float32",):
            low = 0.4 if builtin in ("DIV", "POW") else -1
            same = builtin in ("MAXIMUM", "MINIMUM")
            a = act(etype, (2, 3, 4), low, 2, seed=1)
            b = act(etype, (2, 3, 4), low, 2 if same else 3, seed=2)
            if low > 0 and etype in QUANTIZED:
                for x in (a, b):
                    x.data = np.maximum(x.data, x.zero + 40)
            make = (lambda w, b: like(a, w, 0)) if same else (
                lambda w, b: out(etype, w))
            if builtin == "DIV" and etype in QUANTIZED:
                make = divided(a)
            if builtin == "SQUARED_DIFFERENCE" and etype == "int16":
                make = squared(a)
            yield Case(builtin, etype, [a, b], [make(f(a.real, b.real), b)],
                       (union, {}) if union else None)
            row = act(etype, (4,), low, 2 if same else 3, seed=3)
            if low > 0 and etype in QUANTIZED:
                row.data = np.maximum(row.data, row.zero + 40)
            want = make(f(a.real, row.real), row)
            yield Case(builtin, etype, [a, row], [want],
                       (union, {}) if union else None, "broadcast")
            if not union:
                continue
            # RELU6 fused; TANH too, where the tensors are float.
            want = np.clip(f(a.real, b.real), 0, 6)
            yield Case(builtin, etype, [a, b], [make(want, b)],
                       (union, {0: I8(3)}), "relu6")
    for etype in QUANTIZED:
        a = act(etype, (40,), -2, 2, seed=1)
        b = act(etype, (40,), -3, -1, seed=2)
        yield Case("DIV", etype, [a, b], [divided(a)(a.real / b.real, b)],
                   (29, {}), "negative")
    a, b = act("float32", (5,), seed=4), act("float32", (5,), seed=5)
    yield Case("ADD", "float32", [a, b],
               [out("float32", np.tanh(a.real + b.real))], (11, {0: I8(4)}),
               "tanh")
    for builtin, f, union in ARITHMETIC:
        for etype in ("int32", "int64"):
            a = Tensor(etype, np.array([[7, -5, 3], [2, 0, 9]]))
            b = Tensor(etype, np.array([2, 3, 1]))
            want = f(a.data.astype(np.float64), b.data.astype(np.float64))
            if builtin == "POW":
                a = Tensor(etype, np.abs(a.data))
                want = a.data**b.data
            yield Case(builtin, etype, [a, b],
                       [Output(etype, np.trunc(want), 0)],
                       (union, {}) if union else None)
    for etype in ("float32", "int32"):
        parts = [act(etype, (2, 3), -9, 9, seed=s) for s in range(3)]
        want = sum(p.real for p in parts)
        yield Case("ADD_N", etype, parts, [out(etype, want)])


COMPARE = [
    ("EQUAL", np.equal), ("NOT_EQUAL", np.not_equal),
    ("GREATER", np.greater), ("GREATER_EQUAL", np.greater_equal),
    ("LESS", np.less), ("LESS_EQUAL", np.less_equal),
]


def compare():
    for builtin, f in COMPARE:
        for etype in REAL + ("int32", "int64"):
            # Few values, so that some are equal.
            a = act(etype, (6, 5), -3, 3, seed=1)
            b = act(etype, (6, 5), -3, 3, seed=2)
            a.data, b.data = np.copy(a.data), np.copy(b.data)
            b.data[:2] = a.data[:2]
            yield Case(builtin, etype, [a, b],
                       [Output("bool", f(a.real, b.real), 0)])
    for builtin, f in (("LOGICAL_AND", np.logical_and),
                       ("LOGICAL_OR", np.logical_or)):
        a = Tensor("bool", np.array([0, 0, 1, 1]))
        b = Tensor("bool", np.array([0, 1, 0, 1]))
        yield Case(builtin, "bool", [a, b],
                   [Output("bool", f(a.data, b.data), 0)])


def prelu():
    for etype in REAL:
        x = act(etype, (1, 3, 4, 2), -2, 2)
        slope = act(etype, (1, 1, 2), 0.1, 0.5, seed=1, const=True)
        want = np.where(x.real < 0, x.real * slope.real, x.real)
        yield Case("PRELU", etype, [x, slope], [out(etype, want)])


def select():
    for etype in REAL + ("int32",):
        condition = Tensor("bool", np.array([[1], [0], [1]]))
        a, b = act(etype, (3, 4), seed=1), act(etype, (3, 4), seed=2)
        want = np.where(condition.data, a.real, b.real)
        yield Case("SELECT_V2", etype, [condition, a, b], [like(a, want)])
        rows = Tensor("bool", np.array([1, 0, 1]))
        yield Case("SELECT", etype, [rows, a, b], [like(a, want)])


def cast():
    values = np.array([-3.7, -1.5, 0.0, 0.5, 2.5, 100.9])
    for source in ("float32", "int32", "int64", "int16", "int8", "uint8",
                   "bool"):
        x = np.abs(values) if source == "uint8" else values
        x = stored("float32", x) if source == "float32" else Tensor(
            source, (x != 0) if source == "bool" else np.trunc(x))
        for to in ("float32", "int32", "bool", "int8", "uint8", "int16"):
            if to == source or (to == "uint8" and source != "bool"):
                continue
            want = x.data.astype(np.float64)
            want = (want != 0) if to == "bool" else (
                want if to == "float32" else np.trunc(want))
            yield Case("CAST", source, [x], [Output(to, want, 0)],
                       note="to_" + to)


def quantize():
    x = act("float32", (3, 40), -3, 5)
    for etype in QUANTIZED:
        yield Case("QUANTIZE", "float32", [x], [out(etype, x.real, steps=0.51)],
                   note="to_" + etype)
        q = act(etype, (3, 40), -3, 5)
        yield Case("DEQUANTIZE", etype, [q], [out("float32", q.real)])
        for to in QUANTIZED:
            yield Case("QUANTIZE", etype, [q], [out(to, q.real * 1)],
                       note="to_" + to)
        wider = out(etype, np.linspace(-6, 9, 3))
        yield Case("QUANTIZE", etype, [q],
                   [Output(etype, q.real, 1.0, scale=wider.scale,
                           zero=wider.zero)], note="rescale")
    half = Tensor("float16", np.array([0.5, -1.25, 3.0]))
    yield Case("DEQUANTIZE", "float16", [half], [out("float32", half.real)])


def bits():
    for etype in ("int8", "uint8", "int16", "int32"):
        low, high = np.iinfo(etype).min, np.iinfo(etype).max
        a = np.array([low, -7 if low else 7, 0, 9, high], etype)
        b = np.array([3, 1, 5, 0, high], etype)
        x, y = Tensor(etype, a), Tensor(etype, b)
        yield Case("BITWISE_XOR", etype, [x, y], [Output(etype, a ^ b, 0)])
        by = Tensor(etype, np.minimum(b, 100))
        wide = a.astype(np.int64) >> np.minimum(b.astype(np.int64), 63)
        yield Case("RIGHT_SHIFT", etype, [x, by], [Output(etype, wide, 0)])


def cases():
    for family in (unary, bits, arithmetic, compare, prelu, select, cast, quantize):
        yield from family()
