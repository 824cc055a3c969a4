"""Boxes, masks and numbers of a sample of the examples."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.dataset.features import LABEL, MASK, OBJECT_LABELS, OBJECTS
from shardkit.report.facts.bins import BOX_SIDES, Counts
from shardkit.statistics.annotations import Boxes, MaskValues, box_statistics, mask_statistics

PLACES = 20  # bins of the places of boxes, across and down
MAX_BOXES_COUNTED = 100  # boxes of an image; more are counted as this many
SHOWN_NUMBERS = 4  # of a regression label with several numbers


class BoxFacts(NamedTuple):
    """The boxes of a sample.

    Attributes:
        statistics: Numbers of boxes and of images, of all and of each class.
        per_image: int64[MAX_BOXES_COUNTED + 1], number of images by number of boxes.
        sides: int64[BOX_SIDES.num], number of boxes by the square root of their share of the image.
        sides_of_class: The same for each class that occurs, by label.
        places: int64[PLACES, PLACES], number of boxes by the place of their centre, rows from the top.
    """

    statistics: Boxes
    per_image: Counts
    sides: Counts
    sides_of_class: dict[int, Counts]
    places: Counts


def box_facts(examples: Iterable[dict[str, Any]]) -> BoxFacts:
    """Count the boxes of examples."""
    per_image = np.zeros(MAX_BOXES_COUNTED + 1, np.int64)
    places = np.zeros((PLACES, PLACES), np.int64)
    sides_of_class: dict[int, Counts] = {}

    def counted() -> Iterator[dict[str, Any]]:
        for example in examples:
            labels = np.array(example[OBJECT_LABELS], np.int64)
            boxes = np.array(example[f"{OBJECTS}bbox"], np.float64).reshape(-1, 4)
            per_image[min(len(labels), MAX_BOXES_COUNTED)] += 1
            high, wide = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
            sides = np.sqrt(np.maximum(high * wide, 0))
            for label in np.unique(labels).tolist():
                of_class = BOX_SIDES.count(sides[labels == label])
                sides_of_class[label] = sides_of_class.get(label, 0) + of_class
            rows = np.clip((boxes[:, 0] + high / 2) * PLACES, 0, PLACES - 1).astype(np.int64)
            columns = np.clip((boxes[:, 1] + wide / 2) * PLACES, 0, PLACES - 1).astype(np.int64)
            np.add.at(places, (rows, columns), 1)
            yield example

    statistics = box_statistics(counted())
    total = sum(sides_of_class.values(), np.zeros(BOX_SIDES.num, np.int64))
    return BoxFacts(statistics, per_image, total, sides_of_class, places)


class MaskFacts(NamedTuple):
    """The masks of a sample: numbers of masks and pixels of each value."""

    values: MaskValues


def mask_facts(examples: Iterable[dict[str, Any]]) -> MaskFacts:
    """Decode the masks of examples and count their pixels.

    Raises:
        BadImage: A mask is damaged.
    """
    return MaskFacts(mask_statistics(example for example in examples if example[MASK]))


class NumberFacts(NamedTuple):
    """The numbers of a regression label.

    Attributes:
        values: float64[num_examples, num_numbers].
    """

    values: npt.NDArray[np.float64]


def number_facts(examples: Iterable[dict[str, Any]]) -> NumberFacts:
    """Collect the numbers of examples."""
    values = [example[LABEL] for example in examples]
    return NumberFacts(np.array(values, np.float64).reshape(len(values), -1))
