"""Decide by the images what the numbers of boxes are: corners or sizes, pixels or fractions. Exactly one may fit.

Boxes that are taken for something else still have an area in most images, and a model would train on them.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.images import BadImage, inspect
from shardkit.images.boxes import upright_size
from shardkit.sources.formats.inferred.reading import Form, sides_of
from shardkit.storage import Folder

_MAX_BYTES = 64 << 20  # 64 MiB of an image that is opened
_SLACK = 1.0  # pixels that a side may reach beyond the image: VOC counts from 1
_SLACK_OF_FRACTIONS = 0.01
_FEW = 0.02  # share of boxes that may be errors
_MANY = 0.1  # share of boxes that contradicts a reading
# Boxes may be in percent, or in thousandths, of the image's sides, and no field says so.
_OTHER_SCALES = (100.0, 1000.0)
_LARGER = 1.5  # times such a number are the sides of all images


@dataclass(frozen=True, slots=True)
class Sample:
    """The boxes of an image: four numbers of each, and the width and height in pixels that they refer to."""

    boxes: tuple[tuple[float, ...], ...]
    size: tuple[int, int]


def sample_images(
    folder: Folder, key: str, boxes: Sequence[Sequence[float]], annotated: tuple[int, int] | None
) -> Iterator[Sample]:
    """Yield the boxes of an image with its size; nothing if it cannot be read, which listing says later."""
    with contextlib.suppress(BadImage, DataError, FileNotFoundError):
        size = upright_size(inspect(folder.read_at_most(key, _MAX_BYTES)))
        yield Sample(tuple(map(tuple, boxes)), annotated or size)


def fits(samples: Sequence[Sample], forms: Sequence[Form]) -> list[tuple[Form, bool]]:
    """Return what the numbers of boxes may be, and whether they are fractions: all that not many boxes contradict.

    The result is empty if most boxes of the best reading are right, but not nearly all are.
    """
    num_boxes = sum(len(one.boxes) for one in samples)
    if not num_boxes:
        return []
    found = {
        (form, is_fraction): sum(_num_wrong(one, form, is_fraction=is_fraction) for one in samples)
        for form in forms
        for is_fraction in (False, True)
    }
    left = [fit for fit, num in found.items() if num <= _MANY * num_boxes]
    if not left and len(forms) > 1 and Form.CORNERS in forms:
        return fits(samples, [Form.CORNERS_Y_FIRST])
    return left if any(found[fit] <= _FEW * num_boxes for fit in left) else []


def _num_wrong(sample: Sample, form: Form, *, is_fraction: bool) -> int:
    width, height, slack = (1, 1, _SLACK_OF_FRACTIONS) if is_fraction else (*sample.size, _SLACK)
    num = 0
    for box in sample.boxes:
        xmin, ymin, xmax, ymax = sides_of(form, box) or (0, 0, 0, 0)
        is_tiny = not is_fraction and max(map(abs, box)) <= 1  # of less than a pixel
        is_outside = min(xmin, ymin) < -slack or xmax > width + slack or ymax > height + slack
        num += is_tiny or is_outside or xmax <= xmin or ymax <= ymin
    return num


def other_scale(samples: Sequence[Sample]) -> float | None:
    """Return 100 or 1000 if numbers may be percent or thousandths: none is larger, although all images are."""
    numbers = [side for one in samples for box in one.boxes for side in box]
    for scale in _OTHER_SCALES:
        if all(min(one.size) > _LARGER * scale for one in samples) and 1 < max(numbers, default=0) <= scale:
            return scale
    return None
