"""Compare the manifests of two datasets: classes, features and splits."""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.comparison.difference import ListDiff
from shardkit.dataset.features import ALWAYS, LABEL, LABELS
from shardkit.dataset.manifest import Manifest


def class_diff(a: Sequence[str], b: Sequence[str]) -> ListDiff:
    """Compare class lists; classes in both with another number are changed."""
    if [*a] == [*b]:
        return ListDiff((), ())
    number = {name: i for i, name in enumerate(b)}
    moved = [name for i, name in enumerate(a) if number.get(name, i) != i]
    return ListDiff(_missing(b, a), _missing(a, b), tuple(moved))


def feature_diff(a: Manifest, b: Manifest) -> ListDiff:
    """Compare the stored features."""
    changed = [name for name in a.features if name in b.features and a.features[name] != b.features[name]]
    return ListDiff(_missing(b.features, a.features), _missing(a.features, b.features), tuple(changed))


def split_diff(a: Manifest, b: Manifest) -> ListDiff:
    """Compare the names of the splits."""
    return ListDiff(_missing(b.splits, a.splits), _missing(a.splits, b.splits))


def _missing(names: Collection[str], other: Collection[str]) -> tuple[str, ...]:
    there = set(other)
    return tuple(name for name in names if name not in there)


def label_numbers(a: Sequence[str], b: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return int64[len(b)]: the number in A of each class of B; classes that A lacks get numbers after A's."""
    number = {name: i for i, name in enumerate(a)}
    return np.array([number.get(name, len(a) + i) for i, name in enumerate(b)], np.int64)


def is_renumbered(numbers: npt.NDArray[np.int64], num_classes: int) -> bool:
    """Return whether a label that both datasets can have means another class in B.

    Args:
        numbers: See label_numbers.
        num_classes: Number of classes of A.
    """
    in_both = numbers[:num_classes]
    return not np.array_equal(in_both, np.arange(len(in_both)))


def compared_features(a: Manifest, b: Manifest) -> list[str]:
    """Return the features of both datasets that only their records decide: not image, key, sizes and class labels."""
    in_both = [name for name, feature in a.features.items() if b.features.get(name) == feature]
    return [
        name
        for name in in_both
        if name not in ALWAYS
        and a.features[name].role != "image"
        and not (name in {LABEL, LABELS} and a.features[name].role == "class_label")
    ]
