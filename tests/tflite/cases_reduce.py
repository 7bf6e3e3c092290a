"""Reductions and normalizations."""

import numpy as np

import published
from model import Bool, Case, F32, I32, Output, Tensor
from values import REAL, act, exactly, ints, like, out


def reductions():
    table = [("SUM", np.sum, -1, 1), ("REDUCE_MAX", np.max, -2, 2),
             ("REDUCE_MIN", np.min, -2, 2), ("MEAN", np.mean, -2, 2),
             ("REDUCE_PROD", np.prod, 0.5, 1.5)]
    for builtin, f, low, high in table:
        for etype in REAL if builtin != "REDUCE_PROD" else ("float32",):
            x = act(etype, (2, 3, 4, 2), low, high)
            same = builtin in ("REDUCE_MAX", "REDUCE_MIN")
            for axes, keep in (([1, -2], False), ([2], True)):
                want = f(x.real, axis=tuple(axes), keepdims=keep)
                y = like(x, want) if same else out(etype, want)
                if builtin == "MEAN" and etype != "float32":
                    y = exactly(y, published.mean(x, axes, keep, y))
                yield Case(builtin, etype, [x, ints(axes)], [y],
                           (27, {0: Bool(keep)}), "keep" if keep else "")
        for etype in ("int32", "int64"):
            x = Tensor(etype, np.arange(-5, 7).reshape(3, 4))
            want = np.trunc(f(x.data, axis=1))
            yield Case(builtin, etype, [x, ints([1])],
                       [Output(etype, want, 0)], (27, {}))
    x = Tensor("bool", np.array([[0, 1, 0], [0, 0, 0], [1, 1, 1]]))
    yield Case("REDUCE_ANY", "bool", [x, ints([1])],
               [Output("bool", [1, 0, 1], 0)], (27, {}))
    yield Case("REDUCE_ALL", "bool", [x, ints([1])],
               [Output("bool", [0, 0, 1], 0)], (27, {}))


def arg():
    for etype in REAL + ("int32",):
        x = act(etype, (3, 5, 4), -9, 9)
        x.data = np.copy(x.data)
        x.data[:, 3] = x.data[:, 1]  # The first of equals wins.
        for builtin, f in (("ARG_MAX", np.argmax), ("ARG_MIN", np.argmin)):
            yield Case(builtin, etype, [x, ints(-2)],
                       [Output("int32", f(x.data, 1), 0)])
            yield Case(builtin, etype, [x, ints(2)],
                       [Output("int64", f(x.data, 2), 0)], note="int64")


def softmax():
    scales = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0),
              "int16": (1 / 32768, 0)}
    for etype in REAL:
        for beta in (1.0, 0.5):
            x = act(etype, (2, 3, 7), -6, 6)
            e = np.exp(beta * (x.real - x.real.max(-1, keepdims=True)))
            scale, zero = scales.get(etype, (None, 0))
            y = out(etype, e / e.sum(-1, keepdims=True), scale=scale,
                    zero=zero)
            if etype == "int16":
                y = exactly(y, published.softmax_int16(x, beta))
            yield Case("SOFTMAX", etype, [x], [y], (9, {0: F32(beta)}),
                       "" if beta == 1 else "beta")
        x = act(etype, (3, 5), -4, 4)
        want = x.real - x.real.max(-1, keepdims=True)
        want = want - np.log(np.exp(want).sum(-1, keepdims=True))
        scale, zero = {"int8": (16 / 256, 127), "uint8": (16 / 256, 255)}.get(
            etype, (None, 0))
        y = out(etype, want, scale=scale, zero=zero)
        if etype in ("int8", "uint8"):
            y = exactly(y, published.log_softmax(x, y))
        yield Case("LOG_SOFTMAX", etype, [x], [y])


def normalization():
    scales = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128),
              "int16": (1 / 32768, 0)}
    for etype in REAL:
        x = act(etype, (2, 3, 8), -3, 3)
        norm = np.sqrt(np.square(x.real).sum(-1, keepdims=True))
        scale, zero = scales.get(etype, (None, 0))
        y = out(etype, x.real / np.maximum(norm, 1e-6), scale=scale, zero=zero)
        if etype in ("int8", "uint8"):
            y = exactly(y, published.l2(x, zero))
        yield Case("L2_NORMALIZATION", etype, [x], [y])
    x = act("float32", (1, 2, 3, 7), -3, 3)
    square = np.square(x.real)
    total = sum(np.roll(np.pad(square, [(0, 0)] * 3 + [(2, 2)]), k, -1)
                for k in range(-2, 3))[..., 2:-2]
    yield Case("LOCAL_RESPONSE_NORMALIZATION", "float32", [x],
               [out("float32", x.real / (1.5 + 0.3 * total)**0.7)],
               (13, {0: I32(2), 1: F32(1.5), 2: F32(0.3), 3: F32(0.7)}))


def other():
    for etype in ("float32", "int32"):
        x = act(etype, (3, 5), -9, 9)
        flipped = np.flip(np.cumsum(np.flip(x.real, 1), 1), 1) - x.real
        yield Case("CUMSUM", etype, [x, ints(0)],
                   [out(etype, np.cumsum(x.real, 0))], (102, {}))
        yield Case("CUMSUM", etype, [x, ints(1)], [out(etype, flipped)],
                   (102, {0: Bool(True), 1: Bool(True)}), "reverse_exclusive")
    for etype in REAL + ("int32",):
        x = act(etype, (3, 6), -9, 9)
        x.data = np.copy(x.data)
        x.data[:, 4] = x.data[:, 2]
        order = np.argsort(-x.data, axis=1, kind="stable")[:, :4]
        yield Case("TOPK_V2", etype, [x, ints(4)], [
            like(x, np.take_along_axis(x.real, order, 1)),
            Output("int32", order, 0)])


def cases():
    for family in (reductions, arg, softmax, normalization, other):
        yield from family()
