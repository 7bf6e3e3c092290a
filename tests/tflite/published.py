"""The integer arithmetic of TensorFlow Lite's kernels where it is not the
nearest value: tables, fixed point, roundings on the way. Written from its
description (docs/numerics.md), on arrays of int64."""

import math

import numpy as np


def multiplier(factor):
    """A real factor as (31-bit integer, shift)."""
    mantissa, shift = math.frexp(factor)
    q = math.floor(mantissa * 2**31 + 0.5)
    return (q // 2, shift + 1) if q == 2**31 else (q, shift)


def rescale(value, factor):
    """One rounding, half up."""
    m, shift = factor
    n = 31 - shift
    return (np.asarray(value, np.int64) * m + (1 << (n - 1))) >> n


def saturate(value, bits):
    return np.clip(value, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def divide_away(value, n):
    """value / 2^n, half away from zero."""
    value = np.asarray(value, np.int64)
    size = (np.abs(value) + ((1 << n) >> 1)) >> n
    return np.where(value < 0, -size, size)


def away(x):
    """Half away from zero, in the type of x."""
    wide = np.asarray(x, np.float64)
    return np.trunc(wide + np.copysign(0.5, wide)).astype(np.asarray(x).dtype)


class Fixed:
    """Functions of fixed-point numbers of 16 or 32 bits."""

    def __init__(self, bits):
        self.bits = bits
        self.top = (1 << (bits - 1)) - 1

    def constant(self, real, integer_bits=0):
        """Rounded to 31 bits first."""
        q = away(np.float64(real) * 2.0**(31 - integer_bits))
        return int(divide_away(min(q, 2**31 - 1), 32 - self.bits))

    def mul(self, a, b):
        return saturate((a * b + (1 << (self.bits - 2))) >> (self.bits - 1),
                        self.bits)

    def shift(self, a, n):
        return saturate(a << n, self.bits)

    def exp(self, x, integer_bits):
        """exp(x) for x <= 0."""
        x = np.asarray(x, np.int64)
        fraction = self.bits - 1 - integer_bits
        quarter = 1 << (fraction - 2)
        last = x % quarter - quarter
        a = self.shift(last, integer_bits) + (1 << (self.bits - 4))
        a2 = self.mul(a, a)
        a3, a4 = self.mul(a2, a), self.mul(a2, a2)
        cubic = self.mul(divide_away(a4, 2) + a3, self.constant(1 / 3))
        middle = self.constant(math.exp(-1 / 8))
        y = saturate(middle + self.mul(
            middle, a + divide_away(cubic + a2, 1)), self.bits)
        rest = last - x
        for e in range(-2, min(5, integer_bits)):
            on = (rest >> (fraction + e)) & 1
            factor = self.constant(math.exp(-2.0**e))
            y = np.where(on == 1, self.mul(y, factor), y)
        if integer_bits > 5:
            y = np.where(x < -(32 << fraction), 0, y)
        return np.where(x == 0, self.top, y)

    def _reciprocal(self, x):
        half = (x + self.top + 1) // 2
        one = 1 << (self.bits - 3)
        y = self.constant(48 / 17, 2) + self.mul(half,
                                                 self.constant(-32 / 17, 2))
        for _ in range(3):
            y = y + self.shift(self.mul(y, one - self.mul(half, y)), 2)
        return y, one

    def one_over_one_plus(self, x):
        """For x in [0, 1)."""
        return self.shift(self._reciprocal(x)[0], 1)

    def sigmoid(self, x, integer_bits):
        x = np.asarray(x, np.int64)
        y = self.one_over_one_plus(self.exp(-np.abs(x), integer_bits))
        return np.where(x > 0, y, np.where(x < 0, self.top - y,
                                           (self.top + 1) // 2))

    def tanh(self, x, integer_bits):
        x = np.asarray(x, np.int64)
        y, one = self._reciprocal(self.exp(-np.abs(x), integer_bits + 1))
        y = self.shift(y - one, 2)
        return np.sign(x) * y

    def inverse_sqrt(self, value):
        """(multiplier, shift) of 1 / sqrt(value), an integer."""
        if value <= 1:
            return 2**31 - 1, 0
        right = 11
        while value >= 1 << 29:
            value, right = value // 4, right + 1
        pairs = (30 - (int(value).bit_length() - 1)) // 2 - 1
        right, value = right - pairs, int(value) << 2 * pairs
        half = divide_away(value >> 1, 1)
        x = np.int64(1 << 28)
        for _ in range(5):
            cube = self.shift(self.mul(self.mul(x, x), x), 6)
            x = self.shift(self.mul(3 << 27, x) - self.mul(half, cube), 3)
        x = int(self.mul(x, self.constant(math.sqrt(0.5))))
        return (x, -right) if right >= 0 else (x << -right, 0)


Q15, Q31 = Fixed(16), Fixed(32)


# --- Functions of one value ---

def _table(f, kind, scale_in, zero_in, scale_out):
    """513 values of a function of int16, between which lines are drawn."""
    first = kind(scale_in) * kind(-32768 - zero_in)
    last = kind(scale_in) * kind(32767 - zero_in)
    step = (last - first) / kind(512)
    inverse = kind(65536) / (kind(scale_out) * kind(32767)
                             - kind(scale_out) * kind(-32768))
    i = np.arange(512).astype(kind)
    value = away(f(first + i * step) * inverse)
    right = f(first + (i + kind(1)) * step) * inverse
    middle = away(f(first + i * step + step / kind(2)) * inverse)
    bias = away((away((right + value) / kind(2)) - middle) / kind(2))
    end = away(f(np.array([last])) * inverse)
    return np.clip(np.concatenate([value - bias, end]), -32768,
                   32767).astype(np.int64)


def _look_up(table, x):
    i = 256 + (x >> 7)
    slope = (table[i + 1] - table[i]).astype(np.int16).astype(np.int64)
    return (table[i] + ((slope * (x & 127) + 64) >> 7)).astype(
        np.int16).astype(np.int64)


def interpolated(builtin, x, y):
    """EXP, LOG and RSQRT of int16."""
    beyond = {"EXP": 0, "LOG": -32768, "RSQRT": 32767}[builtin]

    def f(v):
        wide = v.astype(np.float64)
        if builtin == "EXP":
            return np.exp(wide).astype(np.float32)
        wide = np.maximum(wide, 1e-30)
        real = np.log(wide) if builtin == "LOG" else 1 / np.sqrt(wide)
        return np.where(v <= 0, np.float32(beyond) * np.float32(y.scale),
                        real.astype(np.float32))
    return _look_up(_table(f, np.float32, x.scale, 0, y.scale),
                    x.data.astype(np.int64))


def squashed(builtin, x):
    """LOGISTIC and TANH of int16, results in steps of 2^-15."""
    q = x.data.astype(np.int64)
    if x.scale == 2.0**-12:
        f = Q15.sigmoid if builtin == "LOGISTIC" else Q15.tanh
        return f(q, 3)
    factor, right = float(np.float32(x.scale)) * 4096 * 3, 0
    while factor <= 32767 / 2:
        factor, right = factor * 2, right + 1
    return squash(builtin, (q * int(factor) + (1 << right >> 1)) >> right)


def squash(builtin, place):
    """The same of steps of 1 / 12288."""
    real = [65536 / (1 + math.exp(-i / 48)) for i in range(514)]
    nodes, middles = np.array(real[0::2]), np.array(real[1::2])
    table = away(nodes[:-1] - ((nodes[:-1] + nodes[1:]) / 2 - middles[:-1]) / 2)
    table = np.append(table[:255], 65535).astype(np.int64)
    bits, end = (9, 0x7FFF << 10) if builtin == "LOGISTIC" else (8, 0xFFFF << 8)
    piece = np.abs(place) >> bits
    inside = np.minimum(piece, 254)
    y = (table[inside] << bits) + (np.abs(place) & ((1 << bits) - 1)) * (
        table[inside + 1] - table[inside])
    y = np.where(piece >= 255, end, y)
    if builtin == "LOGISTIC":
        return np.where(place >= 0, y + 512, (1 << 25) - y + 511) >> 10
    return np.where(place >= 0, y - (1 << 23) + 128, (1 << 23) - y + 127) >> 8


def rsqrt(x, y):
    """RSQRT of 8 bits, in steps of y."""
    scale = np.sqrt(np.float32(x.scale)) * np.float32(y.scale)
    m, shift = multiplier(1 / float(scale))
    out = []
    for q in x.data.ravel() - x.zero:
        root, right = Q31.inverse_sqrt(int(q))
        out.append(rescale(rescale(1, (root, right + 20)), (m, shift - 20)))
    return np.array(out).reshape(x.shape) + y.zero


def root(x, y):
    """SQRT: cut off."""
    real = np.float32(x.scale) * (x.data - x.zero).astype(np.float32)
    return np.trunc(np.sqrt(real) / np.float32(y.scale)) + y.zero


# --- Functions of several values ---

def quotient(a, b, y):
    """DIV, by values other than 0."""
    factor = multiplier(float(np.float32(a.scale) / (
        np.float32(b.scale) * np.float32(y.scale))))
    over, under = np.broadcast_arrays(a.data - a.zero, b.data - b.zero)
    out = []
    for p, q in zip(over.ravel().tolist(), under.ravel().tolist()):
        if q < 0:
            p, q = -p, -q
        zeros = 32 - q.bit_length()
        inverse = int(Q31.one_over_one_plus((q << zeros) - 2**31))
        head = min(31 - (p if p >= 0 else ~p).bit_length(), 30)
        wide = p and rescale(p, (inverse, head))
        out.append(rescale(wide, (factor[0],
                                  factor[1] - (31 - zeros) - head)))
    return np.array(out).reshape(over.shape) + y.zero


def squared_difference(a, b, y):
    """SQUARED_DIFFERENCE of int16."""
    unit = 2 * max(float(np.float32(a.scale)), float(np.float32(b.scale)))
    scaled = [rescale(v.data, multiplier(float(np.float32(v.scale)) / unit))
              for v in (a, b)]
    return rescale((scaled[0] - scaled[1])**2, multiplier(
        unit * unit / float(np.float32(y.scale))))


def mean(x, axes, keep, y):
    """MEAN: the number of terms is part of the factor, which is cut off."""
    total = (x.data.astype(np.int64) - x.zero).sum(tuple(axes), keepdims=keep)
    count = x.data.size // total.size
    m, shift = multiplier(
        float(np.float32(x.scale)) / float(np.float32(y.scale)))
    left = min(count.bit_length() - 1, 31 + shift)
    return rescale(total, ((m << left) // count, shift - left)) + y.zero


def softmax_int16(x, beta):
    power = _table(np.exp, np.float64, 10 / 65535, 32767, 2 / 65535)
    over = _table(lambda v: 1 / (1 + v), np.float64, 1 / 65535, -32768,
                  2 / 65535)
    factor = multiplier(float(np.float32(x.scale) * np.float32(beta))
                        / (10 / 65535))
    q = x.data.astype(np.int64)
    below = q - q.max(-1, keepdims=True)
    e = _look_up(power, saturate(rescale(below, factor) + 32767, 16))
    out = []
    for line in e.reshape(-1, e.shape[-1]):
        total = int(line.sum())
        zeros = 32 - total.bit_length()
        unit = ((total << (zeros - 1)) + (1 << 13)) >> 14
        inverse = _look_up(over, np.clip([unit - 98304], -32768, 32767))[0]
        right = 31 - zeros
        out.append(np.clip((line * inverse + (1 << (right - 1))) >> right, 0,
                           32767))
    return np.array(out).reshape(e.shape)


def log_softmax(x, y):
    """LOG_SOFTMAX of 8 bits, in float32."""
    f = np.float32
    q = x.data.reshape(-1, x.shape[-1])
    out = []
    for line in q:
        top = line.max()
        total = f(0)
        for v in line:
            total = f(total + f(math.exp(f(-f(x.scale) * f(top - v)))))
        whole = f(f(f(x.scale) * f(top)) + f(math.log(total))) / f(y.scale)
        scale = f(x.scale) / f(y.scale)
        out.append(np.rint(scale * line.astype(f) - whole) + y.zero)
    return np.array(out).reshape(x.shape)


def l2(x, zero):
    """L2_NORMALIZATION of 8 bits, results in steps of 1 / 128."""
    lines = (x.data - x.zero).reshape(-1, x.shape[-1]).astype(np.int64)
    out = []
    for line in lines:
        m, shift = Q31.inverse_sqrt(int((line * line).sum()))
        out.append(rescale(line, (m, shift + 7)))
    return np.array(out).reshape(x.shape) + zero
