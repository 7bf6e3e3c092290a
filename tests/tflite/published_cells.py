"""The integer cells of TensorFlow Lite, as published.py does the rest."""

import math

import numpy as np

from published import (Q15, Q31, divide_away, multiplier, rescale, saturate,
                       squash)


def factor_of(*scales):
    """The product of all scales but the last, divided by that, in float32."""
    product = np.float32(scales[0])
    for scale in scales[1:-1]:
        product = product * np.float32(scale)
    return multiplier(float(product / np.float32(scales[-1])))


def normalize(values, weights, bias):
    """Layer normalization of an LSTM's gate, [batch, units] of int16."""
    factor, shift = multiplier(float(np.float32(weights.scale)))
    least = max(1, int(np.float32(10000) * np.float32(weights.scale)))
    out = []
    for line in values:
        count = line.size
        mean = int(math.trunc(int(line.sum()) * 1024 / count))
        spread = int((line * line).sum()) * ((1 << 20) // count) - mean * mean
        variance = math.trunc(spread / 2**20)
        root = Q31.inverse_sqrt(least if variance < 1 else variance)
        weighted = rescale(1024 * line - mean, root) * weights.data + bias.data
        steps = np.trunc((weighted + np.where(weighted > 0, 512, -512)) / 1024)
        out.append(saturate(rescale(steps.astype(np.int64),
                                    (factor, shift + 12)), 16))
    return np.array(out)


def lstm(cell, x, y, mids, clip, projection_clip):
    """All outputs of the int8 LSTM `cell` (cases_recurrent.Cell) over x [steps,
    batch, inputs], in steps of y; states carry on from step to step."""
    width = y.shape[-1]
    exponent = int(math.log2(cell.cell_scale))

    def gate(g, xq, hq, c):
        normed = cell.norm[g] is not None
        to = mids[g].scale if normed else 2.0**-12
        total = (xq - x.zero) @ cell.w[g].data.T
        if not normed:
            total = total + cell.bias[g].data
        total = saturate(rescale(
            total, factor_of(cell.w[g].scale, x.scale, to)), 16)
        total = saturate(total + rescale(
            (hq - y.zero) @ cell.r[g].data.T,
            factor_of(cell.r[g].scale, y.scale, to)), 16)
        peep = {0: 0, 1: 1, 3: 2}.get(g)
        if peep is not None and cell.peep[peep] is not None:
            weights = cell.peep[peep]
            real = np.float32(2.0**exponent * float(np.float32(weights.scale))
                              / float(np.float32(to)))
            more = rescale(weights.data * c, multiplier(float(real)))
            # Only the units that are outputs, too.
            total[:, :width] = saturate(total + more, 16)[:, :width]
        return normalize(total, cell.norm[g], cell.bias[g]) if normed else total

    batch, units = x.shape[1], cell.w[1].shape[0]
    h = np.full((batch, width), y.zero, np.int64)
    c = np.zeros((batch, units), np.int64)
    out = []
    for xq in x.data.astype(np.int64):
        f = Q15.sigmoid(gate(1, xq, h, c), 3)
        i = 32767 - f if cell.w[0] is None else Q15.sigmoid(
            gate(0, xq, h, c), 3)
        g = Q15.tanh(gate(2, xq, h, c), 3)
        c = saturate(divide_away(f * c, 15)
                     + divide_away(i * g, 30 + exponent), 16)
        if clip:
            most = int(np.float32(clip) / np.float32(cell.cell_scale))
            c = np.clip(c, -most, most)
        o = Q15.sigmoid(gate(3, xq, h, c), 3)
        real = np.float32(2.0**-15 / float(np.float32(mids[4].scale)) * 2.0**-15)
        h = saturate(rescale(o * Q15.tanh(c, 15 + exponent),
                             multiplier(float(real))) + mids[4].zero, 8)
        if cell.projection is not None:
            total = ((h - mids[4].zero) @ cell.projection.data.T
                     + cell.projection_bias.data)
            h = saturate(rescale(total, factor_of(
                cell.projection.scale, mids[4].scale, y.scale)) + y.zero, 8)
            if projection_clip:
                most = int(np.float32(projection_clip) / np.float32(y.scale))
                h = np.clip(h, -most, most)
        out.append(h)
    return np.array(out)


def lstm_int16(cell, x, y, clip):
    """All outputs of the LSTM of int16 activations."""
    def gate(g, xq, h):
        total = []
        own = cell.bias[g].data.astype(np.int64)
        for data, w, bias, scale in ((xq, cell.w[g], own, x.scale),
                                     (h, cell.r[g], 0, y.scale)):
            m, shift = multiplier(
                float(np.float32(scale) * np.float32(w.scale)) * 4096)
            m = min((m + (1 << 15)) >> 16, 32767)
            n = 15 - min(shift, 14)
            total.append(saturate(((data @ w.data.T + bias) * m
                                   + (1 << (n - 1))) >> n, 16))
        return squash("TANH" if g == 2 else "LOGISTIC",
                      3 * saturate(total[0] + total[1], 16))

    def product(a, b, scale):
        return saturate(rescale(a * b, multiplier(scale)), 16)

    left = int(math.log2(cell.cell_scale)) + 12
    batch, units = x.shape[1], cell.w[1].shape[0]
    h = np.zeros((batch, units), np.int64)
    c = np.zeros((batch, units), np.int64)
    out = []
    for xq in x.data.astype(np.int64):
        f, i, g, o = (gate(k, xq, h) for k in (1, 0, 2, 3))
        c = saturate(product(f, c, 2.0**-15)
                     + product(i, g, 2.0**-30 / cell.cell_scale), 16)
        if clip:
            most = int(float(np.float32(clip)) / cell.cell_scale)
            c = np.clip(c, -most, most)
        place = c * (3 << left) if left >= 0 else (
            c * 3 + (1 << (-left - 1))) >> -left
        h = product(o, squash("TANH", place),
                    2.0**-30 / float(np.float32(y.scale)))
        out.append(h)
    return np.array(out)


def svdf(x, feature, time, bias, state, y, rank):
    """The int8 SVDF with a ReLU, over x [steps, batch, inputs]."""
    batch, (filters, memory) = x.shape[1], time.shape
    bits = 8 if state.etype == "int8" else 16
    kept = np.full((batch, filters, memory), state.zero, np.int64)
    into = factor_of(x.scale, feature.scale, state.scale)
    result = factor_of(state.scale, time.scale, y.scale)
    out = []
    for xq in x.data.astype(np.int64):
        kept = np.roll(kept, -1, axis=2)
        fresh = rescale((xq - x.zero) @ feature.data.T, into)
        kept[:, :, -1] = saturate(fresh + state.zero, bits)
        total = ((kept - state.zero) * time.data).sum(-1)
        total = total.reshape(batch, -1, rank).sum(-1) + bias.data
        out.append(np.clip(rescale(total, result) + y.zero, y.zero, 127))
    return np.array(out)
