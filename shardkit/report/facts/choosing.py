"""Choose the classes and the examples that the page shows: always the same ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.report.collection import Batch

MAX_CLASSES = 36  # with pictures
_OF_EACH_KIND = 12  # largest, smallest, and others


class ClassGroup(NamedTuple):
    """Classes that are shown together: a heading, and their labels."""

    heading: str
    labels: tuple[int, ...]


def choose_classes(counts: npt.NDArray[np.int64]) -> list[ClassGroup]:
    """Return all classes, largest first, or of many the largest, the smallest, and some evenly spaced in between.

    Args:
        counts: int64[num_classes], number of examples.
    """
    labels = np.argsort(-counts, kind="stable")
    labels = labels[counts[labels] > 0]
    if not len(labels):
        return []
    if len(labels) <= MAX_CLASSES:
        return [ClassGroup("All classes, largest first", tuple(labels.tolist()))]
    between = labels[_OF_EACH_KIND:-_OF_EACH_KIND]
    spaced = between[(2 * np.arange(_OF_EACH_KIND) + 1) * len(between) // (2 * _OF_EACH_KIND)]
    return [
        ClassGroup("The largest classes", tuple(labels[:_OF_EACH_KIND].tolist())),
        ClassGroup("The smallest classes", tuple(labels[-_OF_EACH_KIND:].tolist())),
        ClassGroup("A sample of the other classes", tuple(spaced.tolist())),
    ]


class Chooser:
    """Keeps the examples with the smallest hash of their key, for each class and split.

    A key has the same hash in every dataset: converted again, the examples that stay are shown again.
    """

    def __init__(self, labels: Sequence[int] | None, wanted: Sequence[int]) -> None:
        """Prepare for a pass.

        Args:
            labels: The classes; None to choose from all examples.
            wanted: Number of examples of each split.
        """
        self._labels = None if labels is None else np.sort(np.asarray(labels, np.int64))
        self._wanted = wanted
        self._kept: dict[tuple[int, int], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def add(self, batch: Batch) -> None:
        """Look at some examples."""
        numbers = batch.start + np.arange(len(batch), dtype=np.int64)
        if self._labels is None:
            self._keep(-1, batch.split, batch.key_hash, numbers)
            return
        rows = np.repeat(np.arange(len(batch)), batch.num_labels)
        is_wanted = np.isin(batch.labels, self._labels)
        rows, labels = rows[is_wanted], batch.labels[is_wanted]
        if not len(labels):
            return
        order = np.argsort(labels, kind="stable")
        rows, labels = rows[order], labels[order]
        found, starts = np.unique(labels, return_index=True)
        for label, start, end in zip(found.tolist(), starts, np.append(starts[1:], len(labels)), strict=True):
            of_class = rows[start:end]
            self._keep(label, batch.split, batch.key_hash[of_class], numbers[of_class])

    def _keep(self, label: int, split: int, hashes: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> None:
        if (label, split) in self._kept:
            before = self._kept[label, split]
            hashes, numbers = np.concatenate((before[0], hashes)), np.concatenate((before[1], numbers))
        smallest = np.argsort(hashes, kind="stable")[: self._wanted[split]]
        self._kept[label, split] = hashes[smallest], numbers[smallest]

    def chosen(self, label: int = -1) -> list[int]:
        """Return the numbers of the examples of a class, split by split."""
        kept = (self._kept.get((label, split)) for split in range(len(self._wanted)))
        return [number for one in kept if one is not None for number in one[1].tolist()]


def pictures_of_splits(num_splits: int, total: int) -> list[int]:
    """Return how many pictures each split gets: the first about half, the others the same number, at least one.

    Of more splits than pictures, only the first have any.
    """
    if num_splits == 1:
        return [total]
    if num_splits > total:
        return [1] * total + [0] * (num_splits - total)
    others = max(1, total // 2 // (num_splits - 1))
    return [max(1, total - others * (num_splits - 1)), *[others] * (num_splits - 1)]


def evenly_spaced(total: int, size: int) -> npt.NDArray[np.int64]:
    """Return the numbers of at most `size` of `total` examples, evenly spaced."""
    size = min(size, total)
    return (2 * np.arange(size, dtype=np.int64) + 1) * total // max(1, 2 * size)
