"""Collect the changes of each kind: their number, counts by text, and the examples with the smallest keys."""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.comparison.difference import Change, Changes
from shardkit.comparison.rows import SHARD, Dataset

MAX_COUNTS = 100  # texts in the result; there may be a pair for every two classes


@dataclass(slots=True)
class Collector:
    """The changes of one kind.

    Attributes:
        num_keys: Number of keys to keep.
    """

    num_keys: int
    _num_examples: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _first: list[Change] = field(default_factory=list)

    def add(self, num_examples: int, first: Iterable[Change], counts: Iterable[tuple[str, int]] = ()) -> None:
        """Add changes of further examples.

        Args:
            num_examples: Number of the examples.
            first: Those of the smallest keys, at least `num_keys` if there are so many.
            counts: Text and number.
        """
        self._num_examples += num_examples
        for text, number in counts:
            self._counts[text] += number
        self._first = heapq.nsmallest(self.num_keys, [*self._first, *first], key=lambda change: change.key)

    def changes(self) -> Changes:
        """Return all that was added."""
        counts = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return Changes(self._num_examples, dict(counts[:MAX_COUNTS]), tuple(self._first))


def smallest_keys(table: pa.Table, rows: npt.NDArray[np.int64], num_keys: int) -> tuple[list[str], list[int]]:
    """Return the smallest keys of some rows, and their rows."""
    keys = table["key"].take(pa.array(rows)).to_pylist() if num_keys else []
    chosen = heapq.nsmallest(num_keys, range(len(keys)), key=keys.__getitem__)
    return [keys[i] for i in chosen], [int(rows[i]) for i in chosen]


def splits_of(dataset: Dataset, rows: pa.Table) -> list[str]:
    """Return the split of each row."""
    return [dataset.splits[shard] for shard in rows[SHARD].to_pylist()]


def labels_of(dataset: Dataset, rows: pa.Table) -> list[str]:
    """Return the class names of each row, with commas if there are several."""
    # The label of an image without one is -1, and so the last name.
    classes: Sequence[str] = [*dataset.manifest.classes, "no label"]
    single, several = rows["label"].to_pylist(), rows["labels"].to_pylist()
    return [
        ", ".join(classes[number] for number in ([one] if one is not None else many or ()))
        for one, many in zip(single, several, strict=True)
    ]


def images_of(dataset: Dataset, rows: pa.Table) -> list[str]:
    """Return format, size and bytes of the stored image of each row."""
    del dataset
    return [
        f"{row['format']} {row['width']}x{row['height']} {row['image_bytes']:,} B"
        for row in rows.select(["format", "width", "height", "image_bytes"]).to_pylist()
    ]
