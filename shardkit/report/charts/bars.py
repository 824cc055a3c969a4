"""Horizontal bars with names on the left and numbers on the right."""

import itertools
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from shardkit.naming import printable
from shardkit.report.charts.svg import (
    FAINT,
    FONT_SIZE,
    INK,
    SERIES,
    WIDTH,
    add_axes,
    name_placeholder,
    new_figure,
    render,
)

_BAR = 20  # CSS pixels of a bar and its gap
_LEFT, _RIGHT = 146, 92
_NAME_LENGTH = 18  # columns of characters that fit on the left


class Bar(NamedTuple):
    """A bar: its name, its length, and the number that is written beside it."""

    name: str
    value: float
    text: str
    is_rest: bool = False


def bar_chart(title: str, description: str, bars: Sequence[Bar], series: int = 0) -> Markup:
    """Draw bars, the first one at the top.

    Args:
        title: Accessible name.
        description: One sentence with what it shows.
        bars: At least one bar.
        series: Number of the colour.
    """
    figure = new_figure(_BAR * len(bars) + 12)
    axes = add_axes(figure, _LEFT, _RIGHT, 6, 6)
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)
    largest = max((bar.value for bar in bars), default=0) or 1
    axes.set(xlim=(0, largest), ylim=(len(bars) - 0.5, -0.5), xticks=[], yticks=[])
    for row, bar in enumerate(bars):
        length = max(bar.value, largest * 0.004) if bar.value else 0  # a class with one image can be seen
        axes.barh(row, length, 0.68, color=FAINT if bar.is_rest else SERIES[series % len(SERIES)], linewidth=0)
        gap = largest * 7 / (WIDTH - _LEFT - _RIGHT)
        text: dict[str, Any] = {"va": "center", "fontsize": FONT_SIZE, "clip_on": False}
        axes.text(-gap, row, name_placeholder(row * 2), ha="right", color=INK, **text)
        axes.text(bar.value + gap, row, name_placeholder(row * 2 + 1), ha="left", color=FAINT, **text)
    names = [text for bar in bars for text in (shortened(bar.name), bar.text)]
    return render(figure, title, description, names)


def shortened(name: str, length: int = _NAME_LENGTH) -> str:
    """Return a name that fits beside a chart: its beginning and its end, which tell long names apart."""
    name = printable(name)
    if sum(map(_columns, name)) <= length:
        return name
    end = length // 3
    return f"{_fitting(name, length - end - 1)}…{_fitting(name[::-1], end)[::-1]}"


def _fitting(name: str, length: int) -> str:
    """Return as much of the beginning as fits."""
    ends = itertools.accumulate(map(_columns, name))
    return name[: sum(end <= length for end in ends)]


def _columns(char: str) -> int:
    """Return the width of a character: Chinese, Japanese and Korean ones take two columns, accents none."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
