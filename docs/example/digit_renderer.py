"""Draws glyphs and pen strokes as distorted 28x28 digits in the manner of MNIST.

White ink on black, uint8. The shape fits a 20x20 box and its centre of mass is
in the middle of the picture. Every picture gets its own slant, rotation,
proportions, smooth elastic warp, stroke thickness and softness.

`r` is a numpy Generator throughout: same generator state, same picture.
"""

import collections
import dataclasses

import numpy as np
from scipy import ndimage

from digit_glyphs import GRID
from digit_strokes import write_digit

SIDE = 28  # Pixels of the finished picture.
FIT = 20  # Pixels of the box the digit is fitted into.
STEP = 1.0  # Largest distance between two drawn points, in glyph grid cells.

_AXIS = np.arange(SIDE, dtype=np.float32) + 0.5
PIXELS = np.stack(np.meshgrid(_AXIS, _AXIS), -1).reshape(-1, 2)  # (x, y) of centres.


@dataclasses.dataclass(frozen=True)
class Mix:
    """Shares of the three ways of drawing. The rest redraws font skeletons."""

    outlines: float  # Filled outlines of fonts.
    strokes: float  # Our own pen strokes, digit_strokes.py.


TRAIN_MIX = Mix(outlines=0.25, strokes=0.35)
FONTS_MIX = Mix(outlines=0.5, strokes=0.0)


def _affine(r):
    """A random 2x2 matrix: proportions, slant, rotation."""
    turn = r.normal(0, 0.14)
    slant = r.normal(0.1, 0.25)
    aspect = np.exp(r.normal(0, 0.2))
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    shear = np.array([[1, -slant], [0, 1]])
    return (rotation @ shear @ np.diag([aspect, 1])).astype(np.float32)


class _Warp:
    """A smooth displacement field, the sum of a few waves, in grid cells."""

    def __init__(self, r):
        waves = 5
        length = GRID * np.exp(r.uniform(np.log(0.35), np.log(1.6), waves))
        angle = r.uniform(0, 2 * np.pi, waves)
        self._k = (np.stack([np.cos(angle), np.sin(angle)]) * 2 * np.pi / length).astype(np.float32)
        self._phase = r.uniform(0, 2 * np.pi, waves).astype(np.float32)
        # Short waves are weaker, or they would tear strokes apart.
        size = r.uniform(0, 0.05) * length
        self._size = (r.normal(0, 1, (waves, 2)) * size[:, None]).astype(np.float32)

    def __call__(self, points):
        return np.sin(points @ self._k + self._phase) @ self._size


def _pen_radius(r):
    """Half the stroke width in pixels of the finished picture."""
    return float(np.clip(np.exp(r.normal(0.22, 0.32)), 0.65, 2.6))


def _scale(low, high, r):
    """Pixels per unit at which the box low..high about fills the FIT box."""
    return (FIT + r.uniform(-0.6, 0.4)) / max(float((high - low).max()), 1e-3)


def _finish(ink, r):
    """Softens, scales the contrast, centres by mass; returns uint8 28x28."""
    picture = ink.reshape(SIDE, SIDE)
    if r.random() < 0.4:
        picture = ndimage.gaussian_filter(picture, r.uniform(0.2, 0.6))
    picture = np.clip(picture * r.uniform(0.9, 1.25), 0, 1)
    if r.random() < 0.3:
        picture = picture ** np.exp(r.normal(0, 0.3))
    mass = picture.sum() + 1e-6
    x = (picture.sum(0) @ _AXIS) / mass
    y = (picture.sum(1) @ _AXIS) / mass
    move = np.array([SIDE / 2 - y, SIDE / 2 - x])
    if r.random() < 0.3:
        move += r.uniform(-1, 1, 2)
    rows, cols = np.clip(np.round(move), -4, 4).astype(int)
    pad = np.pad(picture, 4)
    picture = pad[4 - rows : 4 - rows + SIDE, 4 - cols : 4 - cols + SIDE]
    return np.round(picture * 255).astype(np.uint8)


def _smooth(points, edges, rounds):
    """Moves every point with two neighbours towards their middle, `rounds` times."""
    count = len(points)
    degree = np.bincount(edges.ravel(), minlength=count)
    inner = (degree == 2)[:, None]
    ends = np.concatenate([edges[:, 0], edges[:, 1]])
    others = np.concatenate([edges[:, 1], edges[:, 0]])
    for _ in range(rounds):
        near = points[others]
        middle = np.stack([np.bincount(ends, near[:, k], count) for k in (0, 1)], 1) / 2
        points = np.where(inner, (points + middle) / 2, points).astype(np.float32)
    return points


def _dense(points, edges):
    """Points along all edges, no further apart than STEP."""
    a, b = points[edges[:, 0]], points[edges[:, 1]]
    pieces = np.maximum(1, np.ceil(np.linalg.norm(b - a, axis=1) / STEP)).astype(int)
    which = np.repeat(np.arange(len(edges)), pieces)
    first = np.cumsum(pieces) - pieces
    t = ((np.arange(len(which)) - first[which]) / pieces[which])[:, None]
    return np.concatenate([a[which] * (1 - t) + b[which] * t, b]).astype(np.float32)


def draw_pen(points, edges, r):
    """Draws a graph of strokes (grid cells) with a pen."""
    points = _smooth(points, edges, int(r.integers(0, 9)))
    points = _dense(points, edges)
    points = (points + _Warp(r)(points) - GRID / 2) @ _affine(r).T
    radius = _pen_radius(r)
    low, high = points.min(0), points.max(0)
    scale = _scale(low, high, r) * (1 - 2 * radius / FIT)
    points = points * scale + (SIDE / 2 - scale * (low + high) / 2)
    if r.random() < 0.04:  # The ink fails for a moment.
        gap = points[r.integers(len(points))]
        far = np.linalg.norm(points - gap, axis=1) > r.uniform(0.8, 2.0) + radius
        points = points[far] if far.sum() > len(points) // 2 else points
    # A pen held askew draws broad in one direction, and pressure varies.
    angle, flat = r.uniform(0, np.pi), np.exp(-abs(r.normal(0, 0.2)))
    c, s = np.cos(angle), np.sin(angle)
    nib = np.array([[c, s], [-s / flat, c / flat]], np.float32)
    k = r.normal(0, 0.15, 2).astype(np.float32)
    width = radius * (1 + r.uniform(0, 0.3) * np.sin(points @ k + r.uniform(0, 6.3)))
    p, q = PIXELS @ nib.T, points @ nib.T
    square = (p * p).sum(1)[:, None] + (q * q).sum(1)[None] - 2 * (p @ q.T)
    reach = (width.astype(np.float32) - np.sqrt(np.maximum(square, 0))).max(1)
    return _finish(np.clip(0.5 + reach / r.uniform(0.8, 1.4), 0, 1), r)


def draw_outline(glyph, r):
    """Draws a glyph filled, its strokes grown or shrunk."""
    matrix, warp = _affine(r), _Warp(r)
    sdf = glyph.sdf.astype(np.float32)
    border = np.argwhere(np.abs(sdf) <= 1.0)[:, ::-1].astype(np.float32)
    border = (border - warp(border) - GRID / 2) @ matrix.T
    low, high = border.min(0), border.max(0)
    scale = _scale(low, high, r)
    cells = np.round(glyph.points).astype(int)
    half = float(np.median(sdf[cells[:, 1], cells[:, 0]])) * scale
    grow = float(np.clip(_pen_radius(r) - half, -0.6 * half, 1.2))
    scale *= 1 - 2 * grow / FIT
    shift = SIDE / 2 - scale * (low + high) / 2
    source = ((PIXELS - shift) / scale) @ np.linalg.inv(matrix).T.astype(np.float32) + GRID / 2
    source = source + warp(source)
    inside = ndimage.map_coordinates(sdf, source.T[::-1], order=1, mode="nearest")
    return _finish(np.clip(0.5 + (inside * scale + grow) / r.uniform(0.8, 1.4), 0, 1), r)


def _chances(faces):
    """Running sum of every face's chance; large families do not crowd out others."""
    size = collections.Counter(face.family for face in faces)
    weight = np.array([size[face.family] ** -0.5 for face in faces])
    return np.cumsum(weight / weight.sum())


def _draw(digit, faces, chances, mix, r):
    """One picture of `digit` (0..9): uint8 [28, 28]."""
    way = r.random()
    if way < mix.strokes:
        return draw_pen(*write_digit(digit, r), r)
    face = faces[min(int(np.searchsorted(chances, r.random())), len(faces) - 1)]
    glyph = face.glyphs[digit]
    if way < mix.strokes + mix.outlines:
        return draw_outline(glyph, r)
    return draw_pen(glyph.points, glyph.edges, r)


def draw_set(count, faces, mix, seed):
    """A class-balanced set: x uint8 [count, 28, 28], y int32 [count]."""
    r = np.random.default_rng(seed)
    y = np.arange(count, dtype=np.int32) % 10
    chances = _chances(faces)
    x = np.stack([_draw(int(digit), faces, chances, mix, r) for digit in y])
    order = r.permutation(count)
    return x[order], y[order]
