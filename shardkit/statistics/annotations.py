"""Statistics of annotations: boxes of each class, pixels of each value of a mask, quantiles of numbers."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.dataset.features import LABEL, MASK, OBJECT_LABELS
from shardkit.images import mask_values
from shardkit.statistics.indexes import Span, span_of_counts

QUANTILES = (0, 0.25, 0.5, 0.75, 1)


class BoxCounts(NamedTuple):
    """The boxes of a class.

    Attributes:
        num_images: Number of images that have such boxes.
        num_boxes: Number of boxes.
        per_image: Number of boxes of an image that has some.
    """

    num_images: int
    num_boxes: int
    per_image: Span


class Boxes(NamedTuple):
    """The boxes of some images.

    Attributes:
        num_images: Number of images.
        num_empty: Number of images without boxes.
        num_boxes: Number of boxes.
        per_image: Number of boxes of an image; None without images.
        by_class: Boxes of each class that occurs, by label.
    """

    num_images: int
    num_empty: int
    num_boxes: int
    per_image: Span | None
    by_class: dict[int, BoxCounts]


def box_statistics(examples: Iterable[dict[str, Any]]) -> Boxes:
    """Count the boxes of examples."""
    per_image, by_class = list[int](), dict[int, list[int]]()
    for example in examples:
        labels, counts = np.unique(np.array(example[OBJECT_LABELS], np.int64), return_counts=True)
        per_image.append(int(counts.sum()))
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            by_class.setdefault(label, []).append(count)
    return Boxes(
        num_images=len(per_image),
        num_empty=per_image.count(0),
        num_boxes=sum(per_image),
        per_image=span_of_counts(np.bincount(per_image)) if per_image else None,
        by_class={label: BoxCounts(len(counts), sum(counts), _span(counts)) for label, counts in by_class.items()},
    )


def _span(counts: list[int]) -> Span:
    ordered = sorted(counts)
    return Span(ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])


class MaskValues(NamedTuple):
    """The values of some masks.

    Attributes:
        num_masks: Number of masks.
        num_with: Number of masks that have each value.
        pixels: Number of pixels of each value.
    """

    num_masks: int
    num_with: dict[int, int]
    pixels: dict[int, int]


def mask_statistics(examples: Iterable[dict[str, Any]]) -> MaskValues:
    """Decode the masks of examples and count their values.

    Raises:
        BadImage: A mask is damaged.
    """
    num_masks, num_with, pixels = 0, dict[int, int](), dict[int, int]()
    for example in examples:
        num_masks += 1
        values, counts = np.unique(mask_values(b"".join(example[MASK])), return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            num_with[value] = num_with.get(value, 0) + 1
            pixels[value] = pixels.get(value, 0) + count
    return MaskValues(num_masks, dict(sorted(num_with.items())), dict(sorted(pixels.items())))


def number_quantiles(examples: Iterable[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """Return float64[num_labels, len(QUANTILES)]: the quantiles of each number of a regression label."""
    values = np.array([example[LABEL] for example in examples], np.float64)
    quantiles: npt.NDArray[np.float64] = np.quantile(values, QUANTILES, axis=0).T
    return quantiles
