"""Convolutions, pools, fully connected, transposed convolution, resize."""

import numpy as np

from model import Bool, Case, I8, I32, LIMITS, Tensor, U8, Vec
from values import REAL, act, generator, ints, like, out, stored

SAME, VALID = 0, 1
RELU, RELU6 = 1, 3


def same_padding(extent, kernel, stride, dilation):
    reach = (kernel - 1) * dilation + 1
    total = max(0, (-(-extent // stride) - 1) * stride + reach - extent)
    return total // 2, total - total // 2


def windows(x, kernel, stride, dilation, padding, fill):
    """[N, OH, OW, KH, KW, C] of the padded input."""
    pads = [same_padding(x.shape[1 + i], kernel[i], stride[i], dilation[i])
            if padding == SAME else (0, 0) for i in (0, 1)]
    x = np.pad(x, [(0, 0), pads[0], pads[1], (0, 0)], constant_values=fill)
    reach = [(kernel[i] - 1) * dilation[i] + 1 for i in (0, 1)]
    oh = (x.shape[1] - reach[0]) // stride[0] + 1
    ow = (x.shape[2] - reach[1]) // stride[1] + 1
    result = np.empty((x.shape[0], oh, ow, *kernel, x.shape[3]))
    for i in range(oh):
        for j in range(ow):
            top, left = i * stride[0], j * stride[1]
            result[:, i, j] = x[:, top:top + reach[0]:dilation[0],
                                left:left + reach[1]:dilation[1]]
    return result


def clamp(values, activation):
    if activation == RELU6:
        return np.clip(values, 0, 6)
    return np.maximum(values, 0) if activation == RELU else values


def weights(etype, shape, axis, seed, per_channel=True, bits="int8"):
    """Constant weights for activations of this type."""
    real = generator("w", shape, seed).uniform(-0.6, 0.6, shape)
    if etype == "float32":
        return Tensor("float32", real.astype(np.float32), const=True)
    if etype == "uint8":
        return stored("uint8", real, -0.7, 0.6, const=True)
    limit = LIMITS[bits][1]
    if not per_channel:
        scale = np.float32(np.abs(real).max() / limit)
        return Tensor(bits, np.rint(real / scale), scale=float(scale),
                      const=True)
    other = tuple(d for d in range(real.ndim) if d != axis)
    scale = np.float32(np.abs(real).max(axis=other) / limit)
    view = [1] * real.ndim
    view[axis] = -1
    zeros = [0] * len(scale)
    return Tensor(bits, np.rint(real / scale.reshape(view)),
                  scale=scale.tolist(), zero=zeros, axis=axis, const=True)


def bias(etype, x, w, channels):
    real = generator("b", channels).uniform(-1, 1, channels)
    if etype == "float32":
        return Tensor("float32", real.astype(np.float32), const=True)
    scale = np.broadcast_to(
        np.float32(np.asarray(w.scale) * np.float32(x.scale)), (channels,))
    kind = "int64" if etype == "int16" else "int32"
    return Tensor(kind, np.rint(real / scale), scale=scale.tolist(),
                  zero=[0] * channels, const=True)


def convolution(x, w, b, stride, dilation, padding):
    groups = x.shape[3] // w.shape[3]
    patch = windows(x.real, w.shape[1:3], stride, dilation, padding, 0)
    parts = []
    for g in range(groups):
        xs = patch[..., g * w.shape[3]:(g + 1) * w.shape[3]]
        per = w.shape[0] // groups
        parts.append(np.einsum("nijklc,oklc->nijo", xs,
                               w.real[g * per:(g + 1) * per]))
    return np.concatenate(parts, axis=-1) + (0 if b is None else b.real)


def conv_options(padding, stride, activation=0, dilation=(1, 1)):
    return (1, {0: I8(padding), 1: I32(stride[1]), 2: I32(stride[0]),
                3: I8(activation), 4: I32(dilation[1]), 5: I32(dilation[0])})


def conv2d():
    variants = [  # note, padding, stride, dilation, activation, groups
        ("", SAME, (2, 1), (1, 1), RELU6, 1),
        ("dilated", VALID, (1, 1), (2, 1), 0, 1),
        ("groups", SAME, (1, 1), (1, 1), RELU, 2),
    ]
    for note, padding, stride, dilation, activation, groups in variants:
        for etype in REAL:
            x = act(etype, (1, 7, 6, 4), -2, 2)
            w = weights(etype, (6, 3, 2, 4 // groups), 0, note)
            b = bias(etype, x, w, 6)
            want = clamp(convolution(x, w, b, stride, dilation, padding),
                         activation)
            yield Case("CONV_2D", etype, [x, w, b], [out(etype, want)],
                       conv_options(padding, stride, activation, dilation),
                       note)
    for etype in ("int8", "int16"):
        x = act(etype, (1, 5, 5, 3))
        w = weights(etype, (4, 3, 3, 3), 0, "per_tensor", per_channel=False)
        want = convolution(x, w, None, (1, 1), (1, 1), VALID)
        yield Case("CONV_2D", etype, [x, w], [out(etype, want)],
                   conv_options(VALID, (1, 1)), "per_tensor")
    # 4-bit weights: two to a byte, the first in the lower half.
    x = act("int8", (1, 4, 4, 3))
    w = weights("int8", (3, 1, 1, 3), 0, "int4", bits="int4")
    low = w.data.astype(np.int64).reshape(-1) & 15
    low = np.append(low, [0] * (low.size % 2))
    w.packed = bytes((low[0::2] | low[1::2] << 4).astype(np.uint8))
    want = convolution(x, w, None, (1, 1), (1, 1), VALID)
    yield Case("CONV_2D", "int8", [x, w], [out("int8", want)],
               conv_options(VALID, (1, 1)), "int4_weights")
    # Float activations: the weights are float, whatever they are stored as.
    x = act("float32", (1, 5, 5, 3))
    for kind in ("int8", "float16"):
        w = weights("int8", (4, 3, 3, 3), 0, "dynamic")
        if kind == "float16":
            w = Tensor("float16", w.real.astype(np.float16), const=True)
        want = convolution(x, w, None, (1, 1), (1, 1), VALID)
        yield Case("CONV_2D", "float32", [x, w], [out("float32", want)],
                   conv_options(VALID, (1, 1)), kind + "_weights")


def depthwise():
    for note, multiplier, padding, stride, dilation in (
            ("", 1, SAME, (2, 2), (1, 1)), ("multiplier", 2, VALID, (1, 1),
                                            (1, 2))):
        for etype in REAL:
            x = act(etype, (1, 6, 7, 3), -2, 2)
            w = weights(etype, (1, 3, 3, 3 * multiplier), 3, note)
            b = bias(etype, x, w, 3 * multiplier)
            patch = windows(x.real, (3, 3), stride, dilation, padding, 0)
            patch = np.repeat(patch, multiplier, axis=-1)
            want = clamp(np.einsum("nijklc,klc->nijc", patch, w.real[0]) +
                         b.real, RELU)
            yield Case("DEPTHWISE_CONV_2D", etype, [x, w, b],
                       [out(etype, want)],
                       (2, {0: I8(padding), 1: I32(stride[1]),
                            2: I32(stride[0]), 3: I32(multiplier), 4: I8(RELU),
                            5: I32(dilation[1]), 6: I32(dilation[0])}), note)


def pools():
    for note, padding, stride in (("", VALID, (2, 2)), ("same", SAME, (2, 1))):
        for etype in REAL:
            x = act(etype, (1, 6, 7, 3), -2, 4)
            options = (5, {0: I8(padding), 1: I32(stride[1]),
                           2: I32(stride[0]), 3: I32(2), 4: I32(3),
                           5: I8(RELU)})
            patch = windows(x.real, (3, 2), stride, (1, 1), padding, np.nan)
            yield Case("AVERAGE_POOL_2D", etype, [x],
                       [like(x, clamp(np.nanmean(patch, axis=(3, 4)), RELU),
                             steps=1.0)], options, note)
            yield Case("MAX_POOL_2D", etype, [x],
                       [like(x, clamp(np.nanmax(patch, axis=(3, 4)), RELU))],
                       options, note)


def fully_connected():
    for etype in REAL:
        x = act(etype, (2, 3, 4), -2, 2)
        w = weights(etype, (5, 4), 0, "fc", per_channel=False)
        b = bias(etype, x, w, 5)
        want = clamp(x.real @ w.real.T + b.real, RELU)
        yield Case("FULLY_CONNECTED", etype, [x, w, b],
                   [out(etype, want.reshape(6, 5))], (8, {0: I8(RELU)}))
        yield Case("FULLY_CONNECTED", etype, [x, w, None], [
            out(etype, x.real @ w.real.T)], (8, {2: Bool(True)}), "keep_dims")
    x = act("int8", (2, 4))
    w = weights("int8", (5, 4), 0, "fc_channel")
    yield Case("FULLY_CONNECTED", "int8", [x, w], [
        out("int8", x.real @ w.real.T)], (8, {}), "per_channel")
    x = act("float32", (2, 4))
    yield Case("FULLY_CONNECTED", "float32", [x, w], [
        out("float32", x.real @ w.real.T)], (8, {}), "int8_weights")
    yield sparse_fully_connected()


def sparse_fully_connected():
    """A row for each output dense, its columns in compressed rows."""
    dense = np.array([[0, 1.5, 0, 0], [0, 0, 0, 0], [2, 0, 0, -3]], np.float32)
    rows, columns = np.nonzero(dense)
    segments = np.searchsorted(rows, np.arange(4))
    level = {0: I8(1), 2: U8(1), 3: {0: Vec("i", segments.tolist())},
             4: U8(3), 5: {0: Vec("B", columns.tolist())}}
    sparsity = {0: Vec("i", [0, 1]), 2: [{0: I8(0), 1: I32(3)}, level]}
    w = Tensor("float32", dense, const=True, sparsity=sparsity,
               packed=dense[rows, columns].tobytes())
    x = act("float32", (2, 4))
    return Case("FULLY_CONNECTED", "float32", [x, w], [
        out("float32", x.real @ dense.T)], (8, {}), "sparse_weights")


def transpose_conv():
    for note, padding, stride, extent in (
            ("", SAME, (2, 2), (8, 6)), ("valid", VALID, (2, 1), (9, 4)),
            ("odd", SAME, (2, 2), (7, 5))):
        for etype in REAL:
            x = act(etype, (1, 4, 3, 3), -2, 2)
            if note == "valid":
                x = act(etype, (1, 4, 3, 3), -2, 2, seed=1)
            w = weights(etype, (2, 3, 2, 3), 0, note)
            b = bias(etype, x, w, 2)
            full = np.zeros((1, 3 * stride[0] + 3, 2 * stride[1] + 2, 2))
            for i in range(4):
                for j in range(3):
                    at = (slice(None), slice(i * stride[0], i * stride[0] + 3),
                          slice(j * stride[1], j * stride[1] + 2))
                    full[at] += np.einsum("nc,oklc->nklo", x.real[:, i, j],
                                          w.real)
            if padding == SAME:
                top = max(0, full.shape[1] - extent[0]) // 2
                left = max(0, full.shape[2] - extent[1]) // 2
                full = full[:, top:top + extent[0], left:left + extent[1]]
            want = full + b.real
            shape = [1, *want.shape[1:3], 2]
            yield Case("TRANSPOSE_CONV", etype, [ints(shape), w, x, b],
                       [out(etype, want)],
                       (49, {0: I8(padding), 1: I32(stride[1]),
                             2: I32(stride[0])}), note)


def batch_matmul():
    for etype in REAL:
        a, b = act(etype, (2, 3, 4), seed=1), act(etype, (2, 5, 4), seed=2)
        yield Case("BATCH_MATMUL", etype, [a, b],
                   [out(etype, a.real @ b.real.transpose(0, 2, 1))],
                   (101, {1: Bool(True)}))


def coordinates(extent, to, mode):
    at = np.arange(to, dtype=np.float64)
    if mode == "align" and to > 1:
        return at * (extent - 1) / (to - 1)
    if mode == "half":
        return (at + 0.5) * extent / to - 0.5
    return at * extent / to


def bilinear(x, to, mode):
    for d in (1, 2):
        at = coordinates(x.shape[d], to[d - 1], mode)
        low = np.floor(at).astype(int)
        part = at - low
        last = x.shape[d] - 1
        a = np.take(x, np.clip(low, 0, last), d)
        b = np.take(x, np.clip(low + 1, 0, last), d)
        shape = [1] * 4
        shape[d] = -1
        x = a + (b - a) * part.reshape(shape)
    return x


def nearest(x, to, mode):
    for d in (1, 2):
        at = np.arange(to[d - 1]) + (0.5 if mode == "half" else 0)
        if mode == "align" and to[d - 1] > 1:
            at = np.floor(at * (x.shape[d] - 1) / (to[d - 1] - 1) + 0.5)
        else:
            at = np.floor(at * x.shape[d] / to[d - 1])
        x = np.take(x, np.clip(at.astype(int), 0, x.shape[d] - 1), d)
    return x


# TensorFlow Lite interpolates integers with weights of 10 bits.
LINEAR_STEPS = {"int16": 2**16 / 2**10}


def resize():
    for mode, flags in (("", {}), ("align", {0: Bool(True)}),
                        ("half", {1: Bool(True)})):
        for etype in REAL:
            x = act(etype, (1, 4, 5, 2), -2, 3)
            for to in ((7, 9), (3, 4)):
                note = "_".join(filter(None, [mode, "%dx%d" % to]))
                linear = {key + 2: value for key, value in flags.items()}
                yield Case("RESIZE_BILINEAR", etype, [x, ints(to)],
                           [like(x, bilinear(x.real, to, mode),
                                 steps=LINEAR_STEPS.get(etype, 1.0))],
                           (15, linear), note)
                yield Case("RESIZE_NEAREST_NEIGHBOR", etype, [x, ints(to)],
                           [like(x, nearest(x.real, to, mode))], (74, flags),
                           note)


def cases():
    for family in (conv2d, depthwise, pools, fully_connected, transpose_conv,
                   batch_matmul, resize):
        yield from family()
