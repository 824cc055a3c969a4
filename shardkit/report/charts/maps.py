"""Two-dimensional histograms: cells with a stronger colour hold more."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from shardkit.report.charts.svg import FAINT, FONT_SIZE, GRID, INK, MARK, SERIES, add_axes, new_figure, render
from shardkit.report.facts.bins import SIDES, occupied

_LEVELS = 7  # of opacity
_PIXEL_TICKS = tuple(2**power for power in range(3, 15))
_MAX_TICKS = 7  # the numbers of more run into each other
_MARGIN_BINS = 1


def _cells(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the opacity of each cell: 0 without values, else by the square root, so that rare sizes can be seen."""
    shares = np.sqrt(counts / max(1, counts.max(initial=0)))
    opacities: npt.NDArray[np.float64] = np.where(counts > 0, 0.12 + 0.88 * np.ceil(shares * _LEVELS) / _LEVELS, 0)
    return opacities


def size_map(title: str, description: str, counts: npt.NDArray[np.int64], training_size: tuple[int, int]) -> Markup:
    """Draw how many images have which width and height, with the training size.

    Args:
        title: Accessible name.
        description: One sentence with what it shows.
        counts: int64[SIDES.num, SIDES.num], rows are heights.
        training_size: Height and width in training.
    """
    figure = new_figure(320)
    axes = add_axes(figure, 52, 16, 14, 46)
    edges = SIDES.edges
    sides = counts.sum(axis=0) + counts.sum(axis=1)
    sides[SIDES.numbers(np.array(training_size))] += 1  # the training size is always in the picture
    shown = occupied(sides, _MARGIN_BINS)
    low, high = edges[shown.start], edges[shown.stop]
    opacities = _cells(counts)
    for row, column in np.argwhere(counts).tolist():
        x, y = edges[column], edges[row]
        axes.fill(
            [x, edges[column + 1], edges[column + 1], x],
            [y, y, edges[row + 1], edges[row + 1]],
            color=SERIES[0],
            alpha=float(opacities[row, column]),
            linewidth=0,
        )
    axes.plot([low, high], [low, high], color=FAINT, linewidth=0.9, linestyle=(0, (2, 3)))
    height, width = training_size
    axes.plot([low, width, width], [height, height, low], color=MARK, linewidth=1.5, linestyle=(0, (4, 3)))
    axes.plot([width], [height], marker="o", markersize=5, color=MARK, linewidth=0)
    near_right = np.log2(width / low) > 0.6 * np.log2(high / low)
    axes.annotate(
        f"training {height} x {width}",
        (width, height),
        xytext=(-7 if near_right else 7, -13),
        textcoords="offset points",
        ha="right" if near_right else "left",
        color=MARK,
        fontsize=FONT_SIZE,
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ticks = [tick for tick in _PIXEL_TICKS if low <= tick <= high]
    ticks = ticks[:: math.ceil(len(ticks) / _MAX_TICKS)]
    texts = [f"{tick:,}" for tick in ticks]
    axes.set_xticks(ticks, texts)
    axes.set_yticks(ticks, texts)
    axes.minorticks_off()
    axes.grid(visible=True, axis="both", color=GRID, linewidth=0.8)
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set_xlabel("width in pixels", color=FAINT, fontsize=FONT_SIZE, labelpad=6)
    axes.set_title("height in pixels", color=FAINT, fontsize=FONT_SIZE, loc="left", pad=4)
    return render(figure, title, description)


def place_map(title: str, description: str, counts: npt.NDArray[np.int64]) -> Markup:
    """Draw where in their images boxes have their centres.

    Args:
        title: Accessible name.
        description: One sentence with what it shows.
        counts: int64[n, n], rows from the top.
    """
    figure = new_figure(300)
    axes = add_axes(figure, 40, 40, 10, 28)
    num = len(counts)
    opacities = _cells(counts)
    for row, column in np.argwhere(counts).tolist():
        axes.fill(
            [column, column + 1, column + 1, column],
            [row, row, row + 1, row + 1],
            color=SERIES[0],
            alpha=float(opacities[row, column]),
            linewidth=0,
        )
    axes.grid(visible=False)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(True)
        axes.spines[side].set_color(FAINT)
    axes.set(xlim=(0, num), ylim=(num, 0), xticks=[], yticks=[])
    _edge_texts(axes, num, ["left edge", "right edge"])
    return render(figure, title, description)


def _edge_texts(axes: "object", num: int, texts: Sequence[str]) -> None:
    for x, anchor, text in ((0, "left", texts[0]), (num, "right", texts[1])):
        axes.text(x, num * 1.03, text, ha=anchor, va="top", color=INK, fontsize=FONT_SIZE)  # type: ignore[attr-defined]
