"""Operators that move values: exact in every element type."""

import numpy as np

from model import Bool, Case, I8, I32, Output, Tensor, Vec
from values import QUANTIZED, REAL, act, ints, like

ALL = REAL + ("int32", "int64", "bool")


def any_act(etype, shape, seed=0):
    if etype == "bool":
        return Tensor("bool", act("int32", shape, 0, 2, seed).data != 0)
    return act(etype, shape, -9, 9, seed)


def simple():
    """Builtin, further inputs, function of the values, options, note."""
    table = [
        ("RESHAPE", [ints([3, -1])], lambda x: x.reshape(3, 8), None, ""),
        ("RESHAPE", [], lambda x: x.reshape(4, 6), (17, {0: Vec("i", [4, 6])}),
         "option"),
        ("EXPAND_DIMS", [ints(-2)], lambda x: np.expand_dims(x, -2), None, ""),
        ("TRANSPOSE", [ints([2, 0, 1])], lambda x: x.transpose(2, 0, 1), None,
         ""),
        ("TILE", [ints([2, 1, 3])], lambda x: np.tile(x, (2, 1, 3)), None, ""),
        ("PAD", [ints([[1, 0], [0, 2], [1, 1]])],
         lambda x: np.pad(x, [(1, 0), (0, 2), (1, 1)]), None, ""),
        ("MIRROR_PAD", [ints([[1, 0], [0, 2], [1, 1]])],
         lambda x: np.pad(x, [(1, 0), (0, 2), (1, 1)], "reflect"),
         (77, {0: I8(0)}), "reflect"),
        ("MIRROR_PAD", [ints([[1, 0], [0, 2], [1, 1]])],
         lambda x: np.pad(x, [(1, 0), (0, 2), (1, 1)], "symmetric"),
         (77, {0: I8(1)}), "symmetric"),
        ("SLICE", [ints([0, 1, 1]), ints([2, 2, -1])],
         lambda x: x[0:2, 1:3, 1:], None, ""),
        ("REVERSE_V2", [ints([-1])], lambda x: x[:, :, ::-1], None, ""),
        ("GATHER", [Tensor("int32", [[2, 0], [1, 1]])],
         lambda x: np.take(x, [[2, 0], [1, 1]], 1), (23, {0: I32(-2)}), ""),
        ("GATHER", [Tensor("int32", [[2, 0], [1, 1]])],
         lambda x: np.stack([x[0][[2, 0]], x[1][[1, 1]]]),
         (23, {0: I32(1), 1: I32(1)}), "batch_dims"),
    ]
    for builtin, more, f, options, note in table:
        for etype in ALL:
            x = any_act(etype, (2, 3, 4))
            yield Case(builtin, etype, [x] + more, [like(x, f(x.real))],
                       options, note)
    for etype in ALL:
        x = any_act(etype, (1, 3, 1, 2))
        yield Case("SQUEEZE", etype, [x], [like(x, x.real.reshape(3, 1, 2))],
                   (30, {0: Vec("i", [-4])}))
        yield Case("SQUEEZE", etype, [x], [like(x, x.real.reshape(3, 2))],
                   None, "all")
        x = any_act(etype, (1, 3))
        yield Case("BROADCAST_TO", etype, [x, ints([2, 4, 3])], [
            like(x, np.broadcast_to(x.real, (2, 4, 3)))])


STRIDED = [  # note, begin, end, strides, masks and flag by field, as numpy
    ("", [0, 1, 0], [2, 3, 4], [1, 1, 2], {}, np.s_[0:2, 1:3, 0:4:2]),
    ("negative", [-1, -1, -2], [-3, -4, -9], [-1, -2, -1], {},
     np.s_[-1:-3:-1, -1:-4:-2, -2:-9:-1]),
    ("masks", [9, 1, 2], [0, 9, 9], [1, 1, 1], {0: I32(1), 1: I32(1)},
     np.s_[:, 1:9, 2:9]),
    ("ellipsis", [0, 1], [0, 3], [1, 1], {2: I32(1)}, np.s_[..., 1:3]),
    ("new_axis", [0, 0, 1], [2, 0, 3], [1, 1, 1], {3: I32(2)},
     np.s_[0:2, np.newaxis, 1:3]),
    ("shrink", [1, 0, -1], [2, 3, 0], [1, 1, 1], {4: I32(5)},
     np.s_[1, 0:3, -1]),
    ("offset", [0, 1, 1], [2, 2, 3], [1, 1, 1], {5: Bool(True)},
     np.s_[0:2, 1:3, 1:4]),
]


def strided_slice():
    for note, begin, end, strides, masks, index in STRIDED:
        for etype in ALL:
            x = any_act(etype, (2, 3, 4))
            yield Case("STRIDED_SLICE", etype,
                       [x, ints(begin), ints(end), ints(strides)],
                       [like(x, x.real[index])], (32, masks), note)


def several():
    for etype in ALL:
        parts = [any_act(etype, (2, 3), seed=s) for s in range(3)]
        for x in parts[1:]:
            x.scale, x.zero = parts[0].scale, parts[0].zero
        reals = [x.real for x in parts]
        yield Case("PACK", etype, parts, [like(parts[0], np.stack(reals, 1))],
                   (59, {0: I32(3), 1: I32(1)}))
        yield Case("CONCATENATION", etype, parts,
                   [like(parts[0], np.concatenate(reals, 1))],
                   (10, {0: I32(-1)}))
        x = any_act(etype, (2, 6))
        pieces = [like(x, p) for p in np.split(x.real, 3, 1)]
        yield Case("SPLIT", etype, [ints(-1), x], pieces, (35, {0: I32(3)}))
        pieces = [like(x, p) for p in np.split(x.real, [1, 4], 1)]
        yield Case("SPLIT_V", etype, [x, ints([1, 3, -1]), ints(1)], pieces,
                   (79, {0: I32(3)}))
        yield Case("UNPACK", etype, [x],
                   [like(x, row) for row in x.real],
                   (64, {0: I32(2), 1: I32(-2)}))
    for etype in QUANTIZED[:2]:
        # Inputs of another scale than the output.
        a = act(etype, (2, 3), -1, 1)
        b = act(etype, (2, 3), -2, 3)
        yield Case("CONCATENATION", etype, [a, b], [
            like(b, np.concatenate([a.real, b.real]), steps=1.0)],
            (10, {0: I32(0)}), "rescale")


def padv2():
    for etype in ALL[:-1]:
        x = any_act(etype, (2, 3))
        value = Tensor(etype, np.array([3]), x.scale, x.zero, const=True)
        want = np.pad(x.real, [(1, 1), (0, 2)],
                      constant_values=float(value.real[0]))
        yield Case("PADV2", etype, [x, ints([[1, 1], [0, 2]]), value],
                   [like(x, want)])


def space():
    for etype in ALL:
        x = any_act(etype, (1, 4, 6, 2))
        r = x.real.reshape(1, 2, 2, 3, 2, 2)
        yield Case("SPACE_TO_DEPTH", etype, [x], [
            like(x, r.transpose(0, 1, 3, 2, 4, 5).reshape(1, 2, 3, 8))],
            (19, {0: I32(2)}))
        x = any_act(etype, (1, 2, 3, 8))
        r = x.real.reshape(1, 2, 3, 2, 2, 2)
        yield Case("DEPTH_TO_SPACE", etype, [x], [
            like(x, r.transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 6, 2))],
            (94, {0: I32(2)}))
        x = any_act(etype, (1, 3, 5, 2))
        padded = np.pad(x.real, [(0, 0), (1, 0), (0, 1), (0, 0)])
        want = np.concatenate([padded[:, i::2, j::3] for i in range(2)
                               for j in range(3)])
        batch = Tensor(etype, np.zeros(want.shape), x.scale, x.zero)
        yield Case("SPACE_TO_BATCH_ND", etype,
                   [x, ints([2, 3]), ints([[1, 0], [0, 1]])], [like(x, want)])
        batch = any_act(etype, (6, 2, 2, 2))
        whole = np.zeros((1, 4, 6, 2))
        for k in range(6):
            whole[0, k // 3::2, k % 3::3] = batch.real[k]
        yield Case("BATCH_TO_SPACE_ND", etype,
                   [batch, ints([2, 3]), ints([[1, 0], [0, 2]])],
                   [like(batch, whole[:, 1:, :4])])


def shapes():
    for etype in ALL:
        x = any_act(etype, (2, 3, 4))
        for to in ("int32", "int64"):
            yield Case("SHAPE", etype, [x], [Output(to, [2, 3, 4], 0)],
                       note="" if to == "int32" else to)
        value = any_act(etype, (1,))
        value.data = value.data.reshape(())
        yield Case("FILL", etype, [ints([2, 3]), value],
                   [like(value, np.full((2, 3), value.real))])


def indexed():
    for etype in ALL:
        x = any_act(etype, (3, 4, 2))
        at = Tensor("int32", [[2, 0], [0, 3], [1, 1]])
        yield Case("GATHER_ND", etype, [x, at],
                   [like(x, x.real[[2, 0, 1], [0, 3, 1]])])
        lengths = Tensor("int32", [4, 0, 3])
        want = x.real.copy()
        want[0] = want[0, ::-1]
        want[2, :3] = want[2, 2::-1]
        yield Case("REVERSE_SEQUENCE", etype, [x, lengths], [like(x, want)],
                   (87, {0: I32(1), 1: I32(0)}))
        if etype in QUANTIZED or etype == "bool":
            continue
        rows = any_act(etype, (3, 2))
        want = np.zeros((4, 2))
        for place, row in zip((1, 3, 1), rows.real):
            want[place] += row
        place = Tensor("int32", [[1], [3], [1]])
        yield Case("SCATTER_ND", etype, [place, rows, ints([4, 2])],
                   [like(rows, want)])
    for etype in ALL:
        on, off = any_act(etype, (1,), 1), any_act(etype, (1,), 2)
        off.scale, off.zero = on.scale, on.zero
        at = Tensor("int64", [[1, -1], [3, 0]])
        hit = np.expand_dims(at.data, 1) == np.arange(3).reshape(1, 3, 1)
        yield Case("ONE_HOT", etype, [at, ints(3), on, off],
                   [like(on, np.where(hit, on.real, off.real))],
                   (61, {0: I32(1)}))


def cases():
    for family in (simple, indexed, strided_slice, several, padv2, space, shapes):
        yield from family()
