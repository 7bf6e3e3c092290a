"""Digit shapes from the fonts installed on this machine.

`load_fonts()` walks a font folder, keeps the faces whose ten digits are really
digits, and turns every glyph into two descriptions of the same shape:

* `sdf`: a signed distance field, GRID x GRID, in grid cells, positive inside.
  Thresholding it at an offset gives the glyph with a thicker or thinner stroke.
* `points`, `edges`: the skeleton (centre line) as a graph, in grid cells (x, y).
  Drawing it again with a pen of any width imitates handwriting.

A glyph is scaled, keeping its aspect ratio, into a BOX x BOX square in the
middle of the grid, so sizes and baselines of the font are forgotten.
"""

import dataclasses
import glob
import os
import re

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

GRID = 64  # Side of the square every glyph is described on, in cells.
BOX = 48  # Side of the square inside the grid that the glyph is fitted into.
RENDER_PIXELS = 120  # Font size glyphs are first drawn at.
MOST_BRANCHINGS = 10  # Of a skeleton, in pixels; more means a rough, blotted design.
DIGITS = "0123456789"


@dataclasses.dataclass
class Glyph:
    """One digit of one face. See the head of this file for the units."""

    digit: int
    sdf: np.ndarray  # float16 [GRID, GRID]
    points: np.ndarray  # float32 [n, 2]
    edges: np.ndarray  # int32 [m, 2], indices into points


@dataclasses.dataclass
class Face:
    """The ten digits of one font face. `family` groups faces that look alike."""

    name: str
    family: str
    glyphs: list


def _bitmap(font, text):
    """Draws `text` and returns the tight uint8 bitmap, or None if it is blank."""
    canvas = Image.new("L", (5 * RENDER_PIXELS, 5 * RENDER_PIXELS))
    ImageDraw.Draw(canvas).text((RENDER_PIXELS, RENDER_PIXELS), text, fill=255, font=font)
    box = canvas.getbbox()
    return np.asarray(canvas.crop(box)) if box else None


def _fit(bitmap):
    """Scales a tight bitmap into the middle of the grid; float32 0..1."""
    height, width = bitmap.shape
    scale = BOX / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(Image.fromarray(bitmap).resize(size, Image.LANCZOS), np.float32) / 255
    grid = np.zeros((GRID, GRID), np.float32)
    top, left = (GRID - size[1]) // 2, (GRID - size[0]) // 2
    grid[top : top + size[1], left : left + size[0]] = small
    return grid


def _digits_of(path, index):
    """The ten fitted digits of a face [10, GRID, GRID], or None if unusable."""
    try:
        font = ImageFont.truetype(path, RENDER_PIXELS, index=index)
        missing = [_bitmap(font, char) for char in "\uffff\U0010fffd"]
        drawn = [_bitmap(font, digit) for digit in DIGITS]
    except (OSError, ValueError):
        return None
    fitted = []
    for bitmap in drawn:
        if bitmap is None or bitmap.shape[0] < 20 or bitmap.shape[1] < 3:
            return None
        if bitmap.shape[1] > 1.6 * bitmap.shape[0]:
            return None
        if any(m is not None and np.array_equal(m, bitmap) for m in missing):
            return None
        fitted.append(_fit(bitmap))
    digits = np.stack(fitted)
    for mask in digits > 0.5:
        parts = ndimage.label(ndimage.binary_dilation(mask))[1]
        if parts > 2 or not 0.02 < mask.mean() < 0.45:
            return None  # Outline, shadow, stencil or boxed designs.
    flat = digits.reshape(10, -1)
    apart = np.abs(flat[:, None] - flat[None]).mean(-1) + np.eye(10)
    return digits if apart.min() > 0.01 else None


def _family(path):
    """A name shared by the weights and slants of one design."""
    stem = os.path.splitext(os.path.basename(path))[0].lower()
    stem = re.sub(r"[^a-z]", "", stem.split("-")[0])
    styles = "bold|italic|oblique|regular|medium|light|thin|black|heavy|book|roman|condensed|mono"
    return re.sub(f"({styles})+$", "", stem)[:9] or stem


def _thin(masks):
    """Zhang-Suen thinning of a batch of masks [n, h, w], all at once."""
    image = masks.copy()
    while True:
        changed = False
        for step in (0, 1):
            pad = np.pad(image, ((0, 0), (1, 1), (1, 1)))
            h, w = image.shape[1:]
            ring = [(0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0)]
            p = [pad[:, y : y + h, x : x + w] for y, x in ring]
            count = sum(q.astype(np.uint8) for q in p)
            turns = sum((~p[i] & p[(i + 1) % 8]).astype(np.uint8) for i in range(8))
            n, e, s, w_ = p[0], p[2], p[4], p[6]
            if step == 0:
                keep = (n & e & s) | (e & s & w_)
            else:
                keep = (n & e & w_) | (n & s & w_)
            remove = image & (count >= 2) & (count <= 6) & (turns == 1) & ~keep
            image &= ~remove
            changed |= bool(remove.any())
        if not changed:
            return image


def _skeleton_links(skeleton):
    """Neighbour sets of the skeleton's pixels; no diagonal where a corner joins them."""
    pixels = [tuple(p) for p in np.argwhere(skeleton)]
    inside = set(pixels)
    links = {p: set() for p in pixels}
    for y, x in pixels:
        for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
            other = (y + dy, x + dx)
            if other not in inside:
                continue
            if dy and dx and ((y + dy, x) in inside or (y, x + dx) in inside):
                continue
            links[(y, x)].add(other)
            links[other].add((y, x))
    return links


def _prune(links, sdf):
    """Removes the spurs thinning leaves at corners and serifs of thick strokes."""
    for end in [p for p, near in links.items() if len(near) == 1]:
        path, here = [end], next(iter(links[end]), None)
        while here is not None and len(links[here]) == 2:
            ahead = links[here] - {path[-1]}
            path.append(here)
            here = next(iter(ahead), None)
        if here is None or len(links[here]) < 3:
            continue  # A whole stroke, not a spur.
        if len(path) > 1.05 * max(float(sdf[here]), 0) + 1:
            continue  # Longer than a corner's: a part of the digit.
        for p in path:
            for near in links.pop(p):
                links[near].discard(p)
    return links


def _glyph(digit, image, skeleton):
    """Builds one Glyph from its grid picture and its thinned mask, or None."""
    mask = image > 0.5
    sdf = ndimage.distance_transform_edt(mask) - ndimage.distance_transform_edt(~mask)
    links = _skeleton_links(skeleton)
    if len(links) >= 8:
        links = _prune(links, sdf)
    branchings = sum(len(near) > 2 for near in links.values())
    if len(links) < 8 or branchings > MOST_BRANCHINGS:
        return None
    order = {p: i for i, p in enumerate(links)}
    edges = [(order[a], order[b]) for a, near in links.items() for b in near if a < b]
    points = np.array([(x, y) for y, x in links], np.float32)
    return Glyph(digit, sdf.astype(np.float16), points, np.array(edges, np.int32))


def _signatures(pictures):
    """Blurred, normalised vectors [faces, 10, k] in which alike shapes are near."""
    faces = pictures.shape[0]
    blurred = ndimage.gaussian_filter(pictures, (0, 0, 2.5, 2.5))[:, :, 2::4, 2::4]
    flat = blurred.reshape(faces, 10, -1)
    flat = flat - flat.mean(-1, keepdims=True)
    return flat / np.linalg.norm(flat, axis=-1, keepdims=True)


def _readable(signatures, families):
    """Faces of which >= 8 digits look most like the same digit of other families."""
    faces = len(families)
    everything = signatures.reshape(faces * 10, -1)
    owner = np.repeat(families, 10)
    labels = np.tile(np.arange(10), faces)
    keep = np.zeros(faces, bool)
    for i in range(faces):
        likeness = signatures[i] @ everything.T
        likeness[:, owner == families[i]] = -1
        nearest = np.argsort(-likeness, axis=1)[:, :5]
        votes = (labels[nearest] == np.arange(10)[:, None]).sum(1)
        keep[i] = (votes >= 3).sum() >= 8
    return keep


def _distinct(signatures):
    """Keeps the first of every group of faces that look the same."""
    kept = []
    for i in range(len(signatures)):
        alike = [np.einsum("dk,dk->d", signatures[i], signatures[j]).mean() for j in kept]
        if not alike or max(alike) < 0.995:
            kept.append(i)
    return np.array(kept)


def load_fonts(folder, log=print):
    """Returns the usable faces under `folder` as a list of Face, in path order."""
    paths = []
    for extension in ("ttf", "otf", "ttc", "pfb", "t1"):
        paths += glob.glob(os.path.join(folder, "**", f"*.{extension}"), recursive=True)
    names, families, pictures = [], [], []
    for path in sorted(paths):
        digits = _digits_of(path, 0)
        if digits is not None:
            names.append(os.path.relpath(path, folder))
            families.append(_family(path))
            pictures.append(digits)
    pictures, families = np.stack(pictures), np.array(families)
    log(f"{len(paths)} font files, {len(names)} with ten plausible digits")
    signatures = _signatures(pictures)
    kept = _distinct(signatures)
    log(f"{len(kept)} faces after removing look-alikes")
    kept = kept[_readable(signatures[kept], families[kept])]
    log(f"{len(kept)} faces after removing designs that are not read as digits")
    faces = []
    for i in kept:
        skeletons = _thin(pictures[i] > 0.5)
        glyphs = [_glyph(d, pictures[i][d], skeletons[d]) for d in range(10)]
        if all(g is not None for g in glyphs):
            faces.append(Face(names[i], str(families[i]), glyphs))
    log(f"{len(faces)} faces, {len({f.family for f in faces})} families")
    return faces
