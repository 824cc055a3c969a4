"""Histograms: how many images have which bytes, aspect ratio, number of boxes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from shardkit.report.charts.svg import FAINT, FONT_SIZE, MARK, PAPER, SERIES, add_axes, new_figure, render

_HEIGHT = 210
_MAX_TICKS = 6


class Line(NamedTuple):
    """The histogram of a split: counts of the bins."""

    name: str
    counts: npt.NDArray[np.int64]


def histogram(
    title: str,
    description: str,
    edges: npt.NDArray[np.float64],
    lines: Sequence[Line],
    label: str,
    *,
    is_log: bool = False,
    ticks: Sequence[tuple[float, str]] | None = None,
    mark: tuple[float, str] | None = None,
) -> Markup:
    """Draw one or several histograms as shares of their totals: of one the area, of several the outlines.

    Args:
        title: Accessible name.
        description: One sentence with what it shows.
        edges: float64[num_bins + 1].
        lines: The histograms.
        label: What the horizontal axis is, with its unit.
        is_log: Whether the horizontal axis is logarithmic.
        ticks: Places and texts on the horizontal axis; None to choose them.
        mark: A value to mark, and its text.
    """
    figure = new_figure(_HEIGHT)
    axes = add_axes(figure, 42, 14, 22 if mark else 10, 44)
    highest = 0.0
    for number, line in enumerate(lines):
        shares = line.counts / max(1, line.counts.sum())
        highest = max(highest, float(shares.max(initial=0)))
        colour = SERIES[number % len(SERIES)]
        if len(lines) == 1:
            found = np.flatnonzero(line.counts)
            widths = np.diff(edges)[found]
            starts = edges[:-1][found]
            axes.bar(starts, shares[found], widths, align="edge", color=colour, edgecolor=PAPER, linewidth=1)
        else:
            axes.stairs(shares, edges, color=colour, linewidth=1.8, baseline=None)
    if is_log:
        axes.set_xscale("log", base=2)
    top = (highest or 1) * 1.08
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, top))
    axes.xaxis.minorticks_off()
    if ticks is not None:
        within = [tick for tick in ticks if edges[0] <= tick[0] <= edges[-1]]
        within = within[:: max(1, -(-len(within) // _MAX_TICKS))]
        axes.set_xticks([tick[0] for tick in within], [tick[1] for tick in within])
    else:
        axes.locator_params(axis="x", nbins=_MAX_TICKS)
    places = [top * part / 1.08 for part in (0, 0.5, 1)]
    axes.set_yticks(places, [f"{place:.0%}" for place in places])
    axes.set_xlabel(label, color=FAINT, fontsize=FONT_SIZE, labelpad=6)
    if mark is not None and edges[0] <= mark[0] <= edges[-1]:
        axes.axvline(mark[0], color=MARK, linewidth=1.4, linestyle=(0, (4, 3)))
        axes.text(mark[0], top * 1.02, mark[1], color=MARK, fontsize=FONT_SIZE, ha="center", va="bottom")
    return render(figure, title, description)


def whole_number_edges(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the edges of bins that each hold one whole number from 0."""
    edges: npt.NDArray[np.float64] = np.arange(len(counts) + 1, dtype=np.float64) - 0.5
    return edges
