"""Cells that carry a state from inference to inference."""

import numpy as np

import published_cells
from model import Bool, Case, F32, I8, I32, Tensor
from values import act, exactly, generator, out, parameters, quantized

TANH = 4
STEPS, BATCH, INPUTS, UNITS, PROJECTED = 3, 2, 4, 5, 3
SAMPLES = 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def constant(etype, shape, seed, spread=0.6):
    real = generator("lstm", shape, seed).uniform(-spread, spread, shape)
    if etype == "float32":
        return Tensor("float32", real.astype(np.float32), const=True)
    most = 127 if etype == "int8" else 32767
    return quantized(etype, real, np.float32(spread / most), 0, const=True)


def wide(bias, *scales, etype="int32"):
    scale = np.prod(np.float32(scales), dtype=np.float32)
    return Tensor(etype, np.rint(bias.data / scale), scale=float(scale),
                  const=True)


class Cell:
    """The tensors of one LSTM, and what it computes, from the formulas of the
    operator's documentation. Gates in the file's order: input, forget, cell,
    output."""

    def __init__(self, etype, coupled=False, peephole=False, projection=False,
                 norm=False, dynamic=False):
        self.etype = etype
        self.width = PROJECTED if projection else UNITS
        kind = "float32" if etype == "float32" and not dynamic else "int8"
        gates = range(4)
        self.w = [constant(kind, (UNITS, INPUTS), g) for g in gates]
        self.r = [constant(kind, (UNITS, self.width), 10 + g) for g in gates]
        self.bias = [constant("float32", (UNITS,), 20 + g) for g in gates]
        # Scales of what the integer form keeps from step to step.
        self.hidden = parameters("int8", -0.9, 0.8)
        self.cell_scale = 2.0**-12
        fine = "int16" if etype == "int8" else "float32"
        self.peep = [constant(fine, (UNITS,), 30 + g) if peephole else None
                     for g in range(3)]
        self.norm = [constant(fine, (UNITS,), 40 + g, 1.0) if norm else None
                     for g in gates]
        self.projection = constant(kind, (self.width, UNITS), 50) if (
            projection) else None
        self.projection_bias = constant("float32", (self.width,), 51) if (
            projection) else None
        if coupled:
            for part in (self.w, self.r, self.bias, self.peep, self.norm):
                part[0] = None

    def quantize_biases(self, x):
        """To int32, in the scale of the products with the inputs; 2^10 finer
        than a normalization's weights."""
        for g in range(4):
            if self.bias[g] is None:
                continue
            scales = (x.scale, self.w[g].scale) if self.norm[g] is None else (
                2.0**-10, self.norm[g].scale)
            self.bias[g] = wide(
                self.bias[g], *scales,
                etype="int64" if self.etype == "int16" else "int32")
        if self.projection is not None:
            self.projection_bias = wide(self.projection_bias, self.hidden[0],
                                        self.projection.scale)

    def inputs(self, x, hidden, cell):
        return [x, *self.w, *self.r, *self.peep, *self.bias, self.projection,
                self.projection_bias, hidden, cell, *self.norm]

    def gate(self, g, x, h, c):
        """The sum that goes into the activation of a gate."""
        total = x @ self.w[g].real.T + h @ self.r[g].real.T
        peep = {0: 0, 1: 1, 3: 2}.get(g)
        if peep is not None and self.peep[peep] is not None:
            total = total + c * self.peep[peep].real
        if self.norm[g] is not None:
            mean = total.mean(-1, keepdims=True)
            deviation = np.sqrt(np.square(total - mean).mean(-1, keepdims=True)
                                + 1e-8)
            total = (total - mean) / deviation * self.norm[g].real
        return total + self.bias[g].real

    def run(self, x, clip=0.0, projection_clip=0.0):
        """All hidden states of x [samples, steps, batch, inputs]."""
        h, c = np.zeros((BATCH, self.width)), np.zeros((BATCH, UNITS))
        hidden = []
        for step in x.reshape(-1, BATCH, INPUTS):
            f = sigmoid(self.gate(1, step, h, c))
            i = 1 - f if self.w[0] is None else sigmoid(
                self.gate(0, step, h, c))
            c = f * c + i * np.tanh(self.gate(2, step, h, c))
            if clip:
                c = np.clip(c, -clip, clip)
            h = sigmoid(self.gate(3, step, h, c)) * np.tanh(c)
            if self.projection is not None:
                h = h @ self.projection.real.T + self.projection_bias.real
                if projection_clip:
                    h = np.clip(h, -projection_clip, projection_clip)
            hidden.append(h)
        return np.stack(hidden).reshape(*x.shape[:3], self.width)


def options(time_major, clip=0.0, projection_clip=0.0):
    return (71, {0: I8(TANH), 1: F32(clip), 2: F32(projection_clip),
                 3: Bool(time_major)})


def float_lstm():
    variants = [
        ("", {}, True, 0, 0), ("batch_major", {}, False, 0, 0),
        ("coupled", {"coupled": True}, True, 0, 0),
        ("peephole", {"peephole": True}, True, 0, 0),
        ("projection", {"projection": True}, True, 0.2, 0.3),
        ("layer_norm", {"norm": True}, True, 0, 0),
        ("everything", {"coupled": True, "peephole": True, "projection": True,
                        "norm": True}, False, 0.5, 0),
        ("int8_weights", {"dynamic": True}, True, 0, 0),
    ]
    for note, parts, time_major, clip, projection_clip in variants:
        cell = Cell("float32", **parts)
        real = act("float32", (SAMPLES, STEPS, BATCH, INPUTS)).data
        want = cell.run(real.astype(np.float64), clip, projection_clip)
        if not time_major:
            real, want = real.swapaxes(1, 2), want.swapaxes(1, 2)
        x = Tensor("float32", real.reshape(-1, *real.shape[2:]))
        hidden = Tensor("float32", np.zeros((BATCH, cell.width)),
                        variable=True)
        state = Tensor("float32", np.zeros((BATCH, UNITS)), variable=True)
        yield Case("UNIDIRECTIONAL_SEQUENCE_LSTM", "float32",
                   cell.inputs(x, hidden, state),
                   [out("float32", want.reshape(-1, *want.shape[2:]))],
                   options(time_major, clip, projection_clip), note,
                   samples=SAMPLES)


def integer_lstm():
    variants = [
        ("", {}, 0, 0), ("coupled", {"coupled": True}, 0, 0),
        ("clip", {}, 0.3, 0), ("peephole", {"peephole": True}, 0, 0),
        ("projection", {"projection": True}, 0, 0.2),
        ("layer_norm", {"norm": True}, 0, 0),
        ("everything", {"coupled": True, "peephole": True, "projection": True,
                        "norm": True}, 0.5, 0.4),
    ]
    for note, parts, clip, projection_clip in variants:
        cell = Cell("int8", **parts)
        x = act("int8", (SAMPLES * STEPS, BATCH, INPUTS), -1, 1)
        cell.quantize_biases(x)
        real = cell.run(x.real.reshape(SAMPLES, STEPS, BATCH, INPUTS), clip,
                        projection_clip).reshape(-1, BATCH, cell.width)
        y = out("int8", real)
        hidden = Tensor("int8", np.zeros((BATCH, cell.width)), variable=True,
                        scale=y.scale, zero=y.zero)
        state = Tensor("int16", np.zeros((BATCH, UNITS)), variable=True,
                       scale=cell.cell_scale)
        # Of the sums before their normalization, which are within +-4.
        mids = [Tensor("int16", [0], scale=4 / 32767) for _ in range(4)]
        scale, zero = cell.hidden if cell.projection else (y.scale, y.zero)
        mids.append(Tensor("int8", [0], scale=scale, zero=zero))
        stored = published_cells.lstm(cell, x, y, mids, clip, projection_clip)
        y = exactly(y, stored)
        # The formula itself stands for the real cell, but for peepholes, which
        # miss the units that are no outputs, and a clip around the zero point.
        if note != "everything" and not projection_clip:
            assert np.abs(y.want - real).max() < 6 * y.scale, note
        yield Case("UNIDIRECTIONAL_SEQUENCE_LSTM", "int8",
                   cell.inputs(x, hidden, state), [y],
                   options(True, clip, projection_clip), note,
                   samples=SAMPLES, intermediates=mids)


def int16_lstm():
    for note, exponent, clip in (("", -12, 0), ("coarse", -10, 0),
                                 ("fine", -14, 0.3)):
        cell = Cell("int16")
        cell.cell_scale = 2.0**exponent
        x = act("int16", (SAMPLES * STEPS, BATCH, INPUTS), -1, 1)
        cell.quantize_biases(x)
        real = cell.run(x.real.reshape(SAMPLES, STEPS, BATCH, INPUTS),
                        clip).reshape(-1, BATCH, UNITS)
        y = out("int16", real)
        hidden = Tensor("int16", np.zeros((BATCH, UNITS)), variable=True,
                        scale=y.scale)
        state = Tensor("int16", np.zeros((BATCH, UNITS)), variable=True,
                       scale=cell.cell_scale)
        y = exactly(y, published_cells.lstm_int16(cell, x, y, clip))
        assert np.abs(y.want - real).max() < 2e-3, note
        yield Case("UNIDIRECTIONAL_SEQUENCE_LSTM", "int16",
                   cell.inputs(x, hidden, state), [y], options(True, clip),
                   note, samples=SAMPLES)


def svdf():
    units, rank, memory, samples = 3, 2, 4, 6
    filters = units * rank
    for etype, note in (("float32", ""), ("float32", "int8_weights"),
                        ("int8", ""), ("int8", "int8_state")):
        x = act(etype, (samples * BATCH, INPUTS), -1, 1)
        kind = "int8" if etype == "int8" or note else "float32"
        kept = "int8" if note == "int8_state" else "int16"
        feature = constant(kind, (filters, INPUTS), 1)
        if etype == "int8":
            real = generator("svdf").uniform(-0.5, 0.5, (filters, memory))
            most = 127 if note else 32767
            time = quantized(kept, real, np.float32(0.5 / most), 0, const=True)
            state = Tensor(kept, np.zeros((BATCH, filters * memory)),
                           scale=4.0 / most, zero=9 if note else 0,
                           variable=True)
            scale = np.float32(time.scale) * np.float32(state.scale)
            bias = Tensor("int32", np.rint(np.array([0.1, -0.2, 0.3]) / scale),
                          scale=float(scale), const=True)
        else:
            time = constant(kind, (filters, memory), 2, 0.5)
            state = Tensor("float32", np.zeros((BATCH, filters * memory)),
                           variable=True)
            bias = Tensor("float32", np.float32([0.1, -0.2, 0.3]), const=True)
        memories = np.zeros((BATCH, filters, memory))
        want = []
        for step in x.real.reshape(samples, BATCH, INPUTS):
            memories = np.roll(memories, -1, axis=2)
            memories[:, :, -1] = step @ feature.real.T
            sums = (memories * time.real).sum(-1)
            sums = sums.reshape(BATCH, units, rank).sum(-1) + bias.real
            want.append(np.maximum(sums, 0))
        y = out(etype, np.concatenate(want))
        if etype == "int8":
            steps = Tensor(etype, x.data.reshape(samples, BATCH, INPUTS),
                           scale=x.scale, zero=x.zero)
            stored = published_cells.svdf(steps, feature, time, bias, state, y,
                                          rank)
            y = exactly(y, stored.reshape(-1, units))
        yield Case("SVDF", etype, [x, feature, time, bias, state], [y],
                   (6, {0: I32(rank), 1: I8(1)}), note, samples=samples)


def rnn():
    """h = f(w x + r h + bias), over sequences and one step at a time."""
    functions = {0: lambda v: v, 1: lambda v: np.maximum(v, 0), TANH: np.tanh}
    for note, f, kind, time_major in (
            ("", TANH, "float32", True), ("batch_major", 1, "float32", False),
            ("linear", 0, "float32", True),
            ("int8_weights", TANH, "int8", True)):
        w = constant(kind, (UNITS, INPUTS), 60)
        r = constant(kind, (UNITS, UNITS), 61)
        bias = constant("float32", (UNITS,), 62)
        x = act("float32", (SAMPLES * STEPS, BATCH, INPUTS)).data
        h, want = np.zeros((BATCH, UNITS)), []
        for step in x.astype(np.float64):
            h = functions[f](step @ w.real.T + h @ r.real.T + bias.real)
            want.append(h)
        want = np.stack(want)

        def state():
            return Tensor("float32", np.zeros((BATCH, UNITS)), variable=True)

        def ordered(values):
            parts = values.reshape(SAMPLES, STEPS, BATCH, -1)
            if not time_major:
                parts = parts.swapaxes(1, 2)
            return parts.reshape(-1, *parts.shape[2:])
        yield Case("UNIDIRECTIONAL_SEQUENCE_RNN", "float32",
                   [Tensor("float32", ordered(x)), w, r, bias, state()],
                   [out("float32", ordered(want))],
                   (31, {0: Bool(time_major), 1: I8(f)}), note,
                   samples=SAMPLES)
        yield Case("RNN", "float32",
                   [Tensor("float32", x.reshape(-1, INPUTS)), w, r, bias,
                    state()],
                   [out("float32", want.reshape(-1, UNITS))],
                   (7, {0: I8(f)}), note, samples=SAMPLES * STEPS)


def cases():
    yield from rnn()
    yield from float_lstm()
    yield from integer_lstm()
    yield from int16_lstm()
    yield from svdf()


