"""Numbers that describe a picture, and how unlike its class they are.

The descriptor is small and knows nothing of objects: colours of 8 x 8 cells, and a histogram of the directions of edges
in 4 x 4 cells (after Dalal and Triggs, "Histograms of Oriented Gradients for Human Detection", CVPR 2005). An image is
unlike its class if its nearest neighbours in its own class are farther than those in other classes.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shardkit.errors import DataError
from shardkit.naming import counted
from shardkit.view.lists import Found, Show
from shardkit.view.rows import Rows

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_DESCRIBED = 10_000  # images that are decoded: about half a minute for photographs
_SHOWN_SHARE, _LEAST_SHOWN = 20, 50  # one of so many, but at least so many
_NEIGHBOURS = 3
_SIDE, _CELLS, _DIRECTIONS = 32, 4, 8
_COLOUR_SIDE = 8
_BLOCK = 1024  # rows of distances that are held at once: 80 MB
_THREADS = 2  # Pillow decodes without the interpreter's lock

_Floats = npt.NDArray[np.float32]


def find_unlike(rows: Rows, show: Show) -> Found:
    """Return the images of a sample that look least like their class, the most unlike first."""
    step = max(1, rows.num / MOST_DESCRIBED)
    sample = np.unique((np.arange(min(rows.num, MOST_DESCRIBED)) * step).astype(np.int64))
    described, labels, num_unread = [], [], 0

    def describe(number: int) -> tuple[_Floats, int] | None:
        try:
            example = rows.example(number)
            return descriptor(example.image(_SIDE * 2)), example.labels[0]
        except (DataError, IndexError):  # the picture does not decode, or has no class
            return None

    with ThreadPoolExecutor(_THREADS) as threads:
        known = []
        places = iter(sample.tolist())
        done = 0
        while some := list(islice(places, 256)):  # a cancelled search ends soon
            for number, found in zip(some, threads.map(describe, some), strict=True):
                if found is None:
                    num_unread += 1
                else:
                    known.append(number)
                    described.append(found[0])
                    labels.append(found[1])
            done += len(some)
            show(done, len(sample))
    note = (
        "Pictures whose colours and edges are nearer to those of another class than to their own: a descriptor of 320 "
        "numbers that knows nothing of objects. Many of them have the right label; it finds wrong labels only where "
        "classes look different at a glance."
    )
    if len(sample) < rows.num:
        note += f" Compared: {len(sample):,} of {rows.num:,} images, evenly spaced."
    if num_unread:
        note += f" {counted(num_unread, 'image')} could not be decoded."
    if not known:
        return Found(np.zeros(0, np.int64), None, note)
    ratios = unlikeness(np.stack(described), np.array(labels))
    most = max(_LEAST_SHOWN, len(known) // _SHOWN_SHARE)
    order = np.argsort(-ratios, kind="stable")[:most]
    order = order[ratios[order] > 1]
    return Found(np.array(known, np.int64)[order], None, note)


def descriptor(image: "Image") -> _Floats:
    """Return float32[320], the colours and the edges of a picture; each half has the length 1."""
    from PIL.Image import Resampling

    small = image.convert("RGB").resize((_SIDE, _SIDE), Resampling.BOX)
    pixels = np.asarray(small, np.float32)
    colours = pixels.reshape(_COLOUR_SIDE, _SIDE // _COLOUR_SIDE, _COLOUR_SIDE, -1, 3).mean(axis=(1, 3)).ravel()
    grey = pixels @ np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601 luma
    down, right = np.gradient(grey)
    strength = np.hypot(down, right)
    turn = (np.arctan2(down, right) / np.pi) % 1  # an edge from dark to light is one from light to dark
    direction = np.minimum((turn * _DIRECTIONS).astype(np.int64), _DIRECTIONS - 1)
    cell = np.arange(_SIDE) // (_SIDE // _CELLS)
    bins = (cell[:, None] * _CELLS + cell) * _DIRECTIONS + direction
    edges = np.bincount(bins.ravel(), strength.ravel(), _CELLS * _CELLS * _DIRECTIONS)
    return np.concatenate([_unit(np.sqrt(edges)), _unit(colours - colours.mean())]).astype(np.float32)


def unlikeness(described: _Floats, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return float64[n], the mean distance to the nearest of the same class over that to the nearest of the others.

    Args:
        described: float32[n, m], the descriptors.
        labels: int64[n]. Images that are alone in their class have the ratio 0, because nothing is known of them.
    """
    ratios = np.zeros(len(labels))
    squares = (described**2).sum(axis=1)
    for start in range(0, len(labels), _BLOCK):
        block = slice(start, start + _BLOCK)
        away = squares[block, None] + squares - 2 * described[block] @ described.T
        away = np.sqrt(np.maximum(away, 0))
        is_same = labels[block, None] == labels
        away[np.arange(len(away)), np.arange(start, start + len(away))] = np.inf  # not its own neighbour
        own, other = (_nearest(np.where(chosen, away, np.inf)) for chosen in (is_same, ~is_same))
        is_known = np.isfinite(own) & np.isfinite(other)
        ratios[block][is_known] = own[is_known] / np.maximum(other[is_known], 1e-6)
    return ratios


def _nearest(away: _Floats) -> npt.NDArray[np.float64]:
    """Return the mean of the smallest distances of each row, of fewer if there are fewer; infinite if there is none."""
    count = min(_NEIGHBOURS, away.shape[1])
    nearest = np.partition(away, count - 1, axis=1)[:, :count].astype(np.float64)
    is_known = np.isfinite(nearest)
    sums = np.where(is_known, nearest, 0).sum(axis=1)
    return np.where(is_known.any(axis=1), sums / np.maximum(is_known.sum(axis=1), 1), np.inf)


def _unit(values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    length = float(np.linalg.norm(values))
    return values / length if length else values
