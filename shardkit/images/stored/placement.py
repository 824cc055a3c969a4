"""Decide which part of an upright image is stored, at which size, and where in the stored picture.

    crop: the window is cut out and scaled to the size        pad: the whole image is scaled and put in the centre

    image    +---+--------+---+                               stored   +----------------+
             |   | window |   |   ->   stored +------+                 | border         |
             |   |        |   |               |      |                 +----------------+
             +---+--------+---+               +------+                 | scaled image   |
                                                                       +----------------+
                                                                       | border         |
                                                                       +----------------+

All numbers are exact, so that boxes and masks land where the pixels do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardkit.options.groups import Stored

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Box = tuple[float, float, float, float]

# EXIF orientation: from (x, y) in the upright picture to (x, y) in the stored one, as fractions of the sides
# (EXIF 2.3, 4.6.4 A).
_AS_IN_FILE: dict[int, Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]] = {
    1: lambda x, y: (x, y),
    2: lambda x, y: (1 - x, y),
    3: lambda x, y: (1 - x, 1 - y),
    4: lambda x, y: (x, 1 - y),
    5: lambda x, y: (y, x),
    6: lambda x, y: (y, 1 - x),
    7: lambda x, y: (1 - y, 1 - x),
    8: lambda x, y: (1 - y, x),
}


@dataclass(frozen=True, slots=True)
class Span:
    """One axis of a placement, in pixels.

    Attributes:
        whole: Length of the image.
        start: Start of the window in the image.
        length: Length of the window.
        scaled: Length to which the window is scaled.
        before: Border before the scaled window.
        stored: Length of the stored picture.
    """

    whole: int
    start: Fraction | int
    length: Fraction | int
    scaled: int
    before: int
    stored: int

    def moved(self, fraction: float) -> float:
        """Return the place in the stored picture, as a fraction of it, of a place in the image."""
        within = (fraction * self.whole - float(self.start)) / float(self.length)
        return (within * self.scaled + self.before) / self.stored

    def nearest(self) -> "npt.NDArray[np.int64]":
        """Return int64[scaled]: the pixel of the image at each scaled pixel's centre; on a tie the right or lower one.

        Pillow 12.3 adds up fractions, whose rounding misses ties.
        """
        import numpy as np

        step = Fraction(self.length) / (2 * self.scaled)
        common = math.lcm(self.start.denominator, step.denominator)
        start, steps = int(self.start * common), int(step * common) * (2 * np.arange(self.scaled) + 1)
        return (start + steps) // common


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an upright image goes.

    Attributes:
        across: The horizontal axis.
        down: The vertical axis.
    """

    across: Span
    down: Span

    @property
    def scaled(self) -> tuple[int, int]:
        """Width and height to which the window is scaled."""
        return self.across.scaled, self.down.scaled

    @property
    def stored(self) -> tuple[int, int]:
        """Width and height of the stored picture."""
        return self.across.stored, self.down.stored

    @property
    def is_cropped(self) -> bool:
        """Whether a part of the image is cut off."""
        return any(span.length < span.whole for span in (self.across, self.down))

    @property
    def is_padded(self) -> bool:
        """Whether there is a border."""
        return self.stored != self.scaled

    @property
    def changes(self) -> tuple[str, ...]:
        """The sorted codes of what happens to the image; see info.CHANGES."""
        scale = max(self.across.scaled / self.across.length, self.down.scaled / self.down.length)
        scaled = any(span.scaled != span.length for span in (self.across, self.down))
        reasons = (
            ("cropped", self.is_cropped),
            ("enlarged", scaled and scale > 1),
            ("padded", self.is_padded),
            ("resized", scaled and scale <= 1),
        )
        return tuple(code for code, holds in reasons if holds)

    def box(self, box: Box) -> Box | None:
        """Return a box in the stored picture, clipped at the edges; None if no part of it is there.

        Args:
            box: ymin, xmin, ymax, xmax as fractions of the upright image.
        """
        ymin, ymax = (min(1.0, max(0.0, self.down.moved(y))) for y in (box[0], box[2]))
        xmin, xmax = (min(1.0, max(0.0, self.across.moved(x))) for x in (box[1], box[3]))
        return (ymin, xmin, ymax, xmax) if ymin < ymax and xmin < xmax else None

    def window_in_file(self, orientation: int) -> Box:
        """Return left, top, right and bottom of the window in the picture as the file has it, as fractions of it."""
        turn = _AS_IN_FILE[orientation]
        (left, right), (top, bottom) = (
            (Fraction(span.start) / span.whole, Fraction(span.start + span.length) / span.whole)
            for span in (self.across, self.down)
        )
        (x0, y0), (x1, y1) = turn(left, top), turn(right, bottom)
        return float(min(x0, x1)), float(min(y0, y1)), float(max(x0, x1)), float(max(y0, y1))


def place(width: int, height: int, form: Stored) -> Placement:
    """Return the placement of an upright image.

    Args:
        width: Its width in pixels.
        height: Its height in pixels.
        form: How images are stored.
    """
    if form.size is None:
        wide, high = (width, height) if form.keeps_sizes else _reduced(width, height, form)
        return Placement(_scaled(width, wide, wide), _scaled(height, high, high))
    down, across = form.size
    if form.fit == "pad":
        scale = min(Fraction(across, width), Fraction(down, height))
        return Placement(
            _scaled(width, min(across, _rounded(width * scale)), across),
            _scaled(height, min(down, _rounded(height * scale)), down),
        )
    scale = max(Fraction(across, width), Fraction(down, height))
    return Placement(_cropped(width, across, scale), _cropped(height, down, scale))


def _reduced(width: int, height: int, form: Stored) -> tuple[int, int]:
    """Return the size to which `resize` and `max_side` reduce an image; the one that gives the smaller size counts."""
    shorter, longer = min(width, height), max(width, height)
    limits = [(form.resize, shorter), (form.max_side, longer)]
    asked = [(limit, side) for limit, side in limits if limit is not None and limit < side]
    if not asked:
        return width, height
    limit, side = min(asked, key=lambda one: Fraction(*one))
    return _rounded(Fraction(width * limit, side)), _rounded(Fraction(height * limit, side))


def _rounded(length: Fraction) -> int:
    """Return whole pixels, halves up, at least 1."""
    return max(1, int(length + Fraction(1, 2)))


def _scaled(whole: int, scaled: int, stored: int) -> Span:
    return Span(whole, 0, whole, scaled, (stored - scaled) // 2, stored)


def _cropped(whole: int, stored: int, scale: Fraction) -> Span:
    length = stored / scale
    start: Fraction | int = (whole - length) / 2
    if length.denominator == 1:  # whole pixels, so that an image of the right height or width is not blurred
        start = int(start)
    return Span(whole, start, length, stored, 0, stored)
