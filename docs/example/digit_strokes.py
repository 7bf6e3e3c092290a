"""Digits written as pen strokes: shapes that people write and fonts lack.

Each digit has a few ways of being written: an open 4, a 7 with a bar, a 2 with
a loop, an 8 that starts at the top right. A way is a list of strokes; a stroke
is a few control points in the unit square (x right, y down) drawn from random
proportions, shaken a little and joined by a smooth curve.

All functions take `r`, a numpy Generator, and depend on nothing else.
"""

import numpy as np

SAMPLES_PER_SPAN = 6  # Curve points between two control points.


def _arc(cx, cy, rx, ry, start, stop, count=7):
    """Points on an ellipse; degrees, 0 = right, 90 = down."""
    t = np.radians(np.linspace(start, stop, count))
    return np.stack([cx + rx * np.cos(t), cy + ry * np.sin(t)], 1)


def _line(*points):
    return np.array(points, float)


def _join(*parts):
    return np.concatenate(parts)


def _zero(r):
    width = r.uniform(0.2, 0.48)
    start = r.uniform(-150, -30)
    turn = r.choice([-1, 1], p=[0.8, 0.2]) * r.uniform(335, 395)
    ring = _arc(0.5, 0.5, width, 0.5, start, start + turn, 11)
    # Where the pen ends it is rarely where it began.
    ring[-2:] += r.normal(0, 0.05, 2)
    if r.random() < 0.05:
        return [ring, _line((0.5 + width * 0.7, 0.1), (0.5 - width * 0.7, 0.9))]
    return [ring]


def _one(r):
    way = r.random()
    bow = r.normal(0, 0.02)
    stem = _line((0.5, 0), (0.5 + bow, 0.5), (0.5, 1))
    if way < 0.68:
        return [stem]
    flag = _line((0.5 - r.uniform(0.1, 0.32), r.uniform(0.1, 0.32)), (0.5, 0))
    if way < 0.9:
        return [flag, stem]
    half = r.uniform(0.15, 0.35)
    return [flag, stem, _line((0.5 - half, 1), (0.5 + half, 1 + r.normal(0, 0.02)))]


def _two(r):
    right, left = r.uniform(0.7, 0.92), r.uniform(0.02, 0.2)
    shoulder = r.uniform(0.22, 0.36)
    head = _arc(0.45, shoulder, right - 0.45, shoulder, r.uniform(175, 215), 370, 6)
    foot = r.uniform(0.86, 1.0)
    slope = _line((r.uniform(0.5, 0.65), r.uniform(0.55, 0.68)), (left + 0.12, foot - 0.1))
    tail_y = foot + r.normal(0, 0.06)
    tail_x = r.uniform(0.75, 1.1)
    if r.random() < 0.45:  # A loop at the lower left.
        size = r.uniform(0.05, 0.13)
        loop = _line(
            (left, foot), (left - size * 0.3, foot - size), (left + size, foot - 1.6 * size),
            (left + 2.2 * size, foot - size * 0.6), (0.5, foot + r.uniform(0, 0.06)), (tail_x, tail_y),
        )
        return [_join(head, slope, loop)]
    if r.random() < 0.5:  # A sharp corner: two curves.
        corner = (left, foot)
        return [_join(head, slope, [corner]), _line(corner, (0.5, foot + r.normal(0, 0.03)), (tail_x, tail_y))]
    wave = _line((left, foot), (0.35, foot - r.uniform(0, 0.08)), (0.65, foot + r.uniform(0, 0.06)), (tail_x, tail_y))
    return [_join(head, slope, wave)]


def _three(r):
    waist = r.uniform(0.38, 0.56)
    dent = r.uniform(0.3, 0.55)
    top_width, low_width = r.uniform(0.25, 0.42), r.uniform(0.28, 0.48)
    low = _arc(0.45, (waist + 1) / 2, low_width, (1 - waist) / 2, -80, r.uniform(120, 175), 7)
    if r.random() < 0.12:  # A flat head, as in some printed styles.
        head = [_line((0.15, 0), (0.8, 0)), _line((0.8, 0), (dent, waist))]
        return head + [_join([(dent, waist)], low)]
    top = _arc(0.45, waist / 2, top_width, waist / 2, r.uniform(-170, -135), 75, 7)
    if r.random() < 0.25:  # A little loop at the waist.
        size = r.uniform(0.03, 0.08)
        knot = _line((dent, waist), (dent - size, waist - size * 0.4), (dent - size * 0.4, waist + size))
        return [_join(top, knot, low)]
    if r.random() < 0.5:
        return [_join(top, [(dent, waist)]), _join([(dent, waist)], low)]
    return [_join(top, [(dent, waist)], low)]


def _four(r):
    bar = r.uniform(0.45, 0.72)
    stem_x = r.uniform(0.55, 0.82)
    reach = stem_x + r.uniform(0.03, 0.3)
    left = r.uniform(0, 0.15)
    lift = r.normal(0, 0.05)
    way = r.random()
    stem_top = r.uniform(0, 0.35) if way < 0.7 else 0.0
    stem = _line(
        (stem_x + r.normal(0.02, 0.04), stem_top), (stem_x + r.normal(0, 0.02), 0.6),
        (stem_x - r.uniform(-0.05, 0.12), 1),
    )
    if way < 0.35:  # Open, with a corner.
        start = (left + r.uniform(0, 0.25), 0)
        return [_line(start, (left, bar)), _line((left, bar), (reach, bar + lift)), stem]
    if way < 0.7:  # Open and round, as a u with a long stem.
        start = (left + r.uniform(0, 0.2), r.uniform(0, 0.1))
        last = (stem_x, bar - r.uniform(0, 0.2))
        bowl = _line(start, (left, bar * 0.6), (left + 0.12, bar), (0.45, bar + 0.02), last)
        if r.random() < 0.4:
            bowl = bowl[:-1]
            bowl = _join(bowl, [(reach, bar + lift)])
        return [bowl, stem]
    corner = (left, bar)  # Closed.
    return [_line((stem_x, 0), corner), _line(corner, (reach, bar + lift)), stem]


def _five(r):
    left = r.uniform(0.08, 0.3)
    waist = r.uniform(0.36, 0.52)
    width = r.uniform(0.3, 0.5)
    tilt = r.normal(-0.02, 0.05)
    bar_end = r.uniform(0.65, 1.05)
    bar_start = left + r.normal(0.02, 0.05)
    begin, end = r.uniform(-115, -85), r.uniform(110, 170)
    bowl = _arc(0.45, (waist + 0.95) / 2 + 0.02, width, (1.02 - waist) / 2, begin, end, 8)
    down = _line((left, 0.02), (left - r.uniform(-0.03, 0.08), waist + r.uniform(0, 0.08)))
    bar = _line((bar_start, 0.02), (bar_end, 0.02 + tilt))
    way = r.random()
    if way < 0.35:
        return [bar, down, _join(down[-1:], bowl)]
    if way < 0.6:  # One pull, like an S.
        start = _line((bar_end, tilt), (0.5, 0.02), (left + 0.06, 0.1))
        return [_join(start, down[-1:] - (0, 0.06), bowl)]
    if way < 0.8:  # The bar put on afterwards, away from the stem.
        return [bar + r.normal(0, 0.05, 2), _join(down, bowl)]
    return [bar, _join(down, bowl)]


def _six(r):
    waist = r.uniform(0.4, 0.62)
    width = r.uniform(0.2, 0.42)
    cx, cy = 0.45, (waist + 1) / 2
    left = cx - width
    start = (r.uniform(0.35, 0.9), 0)
    down = _line(start, (left + (start[0] - left) * 0.4, 0.22), (left - 0.01, 0.55))
    loop = _arc(cx, cy, width, (1 - waist) / 2, 170, 170 - r.uniform(300, 385), 9)
    if r.random() < 0.2:  # A nearly straight back.
        down = _line(start, (left + 0.02, 0.6))
    return [_join(down, loop)]


def _seven(r):
    right = r.uniform(0.72, 0.98)
    left = r.uniform(0, 0.2)
    top = r.uniform(0, 0.08)
    foot = (r.uniform(0.15, 0.6), 1)
    corner = (right, top + r.normal(-0.01, 0.03))
    bend = r.normal(0.03, 0.05)
    middle = ((right + foot[0]) / 2 - bend, 0.5)
    if r.random() < 0.6:
        bar = _line((left, top), ((left + right) / 2, top + r.normal(0, 0.03)), corner)
        strokes = [bar, _line(corner, middle, foot)]
    else:  # A round corner.
        bar = _line((left, top + 0.04), (0.45, top), (right - 0.08, top), (right, top + 0.12))
        strokes = [_join(bar, [middle, foot])]
    if r.random() < 0.25:
        strokes.append(_line((left, top), (left - r.uniform(-0.03, 0.03), top + r.uniform(0.08, 0.25))))
    if r.random() < 0.18:
        y = r.uniform(0.42, 0.6)
        cross = _line((middle[0] - r.uniform(0.12, 0.3), y), (middle[0] + r.uniform(0.12, 0.3), y + r.normal(0, 0.03)))
        strokes.append(cross)
    return strokes


def _eight(r):
    waist = r.uniform(0.38, 0.58)
    top, low = r.uniform(0.16, 0.36), r.uniform(0.18, 0.4)
    skew = r.normal(0, 0.03)
    if r.random() < 0.25:  # Two rings.
        a, b = r.uniform(-180, 180, 2)
        return [
            _arc(0.5 + skew, waist / 2, top, waist / 2 + 0.02, a, a + r.uniform(340, 380), 9),
            _arc(0.5, (1 + waist) / 2, low, (1 - waist) / 2 + 0.02, b, b + r.uniform(340, 380), 9),
        ]
    # One pull that crosses itself at the waist.
    begin = r.uniform(-60, -10)
    upper = _arc(0.5 + skew, waist / 2, top, waist / 2, begin, -245, 6)
    lower = _arc(0.5, (1 + waist) / 2, low, (1 - waist) / 2, -50, 230, 8)
    close = _line((0.5 + skew + top * r.uniform(0.5, 0.9), waist * r.uniform(0.55, 0.75)))
    finish = upper[:1] + r.normal(0.0, 0.05, 2)
    strokes = _join(upper, [(0.5, waist)], lower, [(0.5, waist)], close, finish)
    if r.random() < 0.3:
        strokes[:, 0] = 1 - strokes[:, 0]
    return [strokes]


def _nine(r):
    waist = r.uniform(0.38, 0.62)
    width = r.uniform(0.2, 0.42)
    cx = 0.45
    right = cx + width
    begin = r.uniform(-70, 0)
    loop = _arc(cx, waist / 2, width, waist / 2, begin, begin - r.uniform(290, 350), 9)
    foot_x = r.uniform(0.25, 0.85)
    way = r.random()
    rise = (right - r.uniform(0, 0.04), waist * r.uniform(0.3, 0.6))
    if way < 0.5:  # A straight or slightly bent stem.
        top = (right, waist * r.uniform(0.05, 0.4))
        stem = _line(top, ((right + foot_x) / 2 + r.normal(0.03, 0.03), 0.6), (foot_x, 1))
        return [_join(loop, [rise]), stem]
    if way < 0.8:  # One pull.
        return [_join(loop, [rise], [((right * 2 + foot_x) / 3, 0.62), (foot_x, 1)])]
    hook = _line((right, 0.6), (right - 0.08, 0.9), (cx, 1), (cx - width * r.uniform(0.5, 1), r.uniform(0.85, 0.97)))
    return [_join(loop, [rise], hook)]


WAYS = (_zero, _one, _two, _three, _four, _five, _six, _seven, _eight, _nine)


def _curve(control):
    """A centripetal-like smooth curve (Catmull-Rom) through the control points."""
    if len(control) == 2:
        t = np.linspace(0, 1, 2 * SAMPLES_PER_SPAN)[:, None]
        return control[0] * (1 - t) + control[1] * t
    p = np.concatenate([2 * control[:1] - control[1:2], control, 2 * control[-1:] - control[-2:-1]])
    t = np.linspace(0, 1, SAMPLES_PER_SPAN, endpoint=False)[:, None, None]
    a, b, c, d = p[:-3], p[1:-2], p[2:-1], p[3:]
    spans = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return np.concatenate([spans.transpose(1, 0, 2).reshape(-1, 2), control[-1:]])


def write_digit(digit, r):
    """Returns (points float32 [n, 2] about 0..48 wide, edges int32 [m, 2])."""
    shake = r.uniform(0.005, 0.04)
    points, edges, base = [], [], 0
    strokes = WAYS[digit](r)
    if len(strokes) > 1:  # A corner shared by two strokes stays shared.
        moves = {}
        for stroke in strokes:
            for p in stroke:
                moves.setdefault(tuple(np.round(p, 6)), r.normal(0, shake, 2))
        strokes = [np.array([p + moves[tuple(np.round(p, 6))] for p in s]) for s in strokes]
    else:
        strokes = [strokes[0] + r.normal(0, shake, strokes[0].shape)]
    for stroke in strokes:
        curve = _curve(np.asarray(stroke, float))
        points.append(curve)
        n = len(curve)
        edges.append(np.stack([np.arange(n - 1), np.arange(1, n)], 1) + base)
        base += n
    grown = np.concatenate(points) * (34, 48) + (15, 8)
    return grown.astype(np.float32), np.concatenate(edges).astype(np.int32)
