"""The table of shares: which part of the images, and of each class, each split has."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.table import Table
from rich.text import Text

from shardkit.cli.printing.tables import table
from shardkit.naming import counted, printable

CLASSES_LISTED = 10  # all of so many classes are listed
WORST_LISTED = 5  # of more classes: those furthest from their shares


class SplitCounts(NamedTuple):
    """The number of examples of a split, and of each of its classes in label order."""

    num_examples: int
    class_counts: list[int]


def shares_parts(
    splits: Mapping[str, SplitCounts],
    classes: Sequence[str],
    wanted: Mapping[str, Fraction] | None,
    splits_of: Sequence[str] = (),
) -> list[Table | Text | str]:
    """Return the parts of a summary that show the shares; none for a single split.

    Args:
        splits: The counts of each split.
        classes: Names of the classes in label order.
        wanted: The share that the user asked for of each split; None for the source's own splits.
        splits_of: The source's splits that were divided; empty for all images. Other splits have no share.
    """
    names = [name for name in splits if wanted is None or name in wanted]
    if len(names) < 2:
        return []
    # float64[1 + number of classes, number of splits]: all images in the first row.
    counts = np.array([[splits[name].num_examples, *splits[name].class_counts] for name in names], np.int64).T
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    target = shares[0] if wanted is None else np.array([float(wanted[name]) for name in names])
    offs = np.where(totals > 0, np.abs(shares - target).max(axis=1), 0)
    # The classes of masks are in their pixels and are not counted.
    shown, rest = _listed(offs[1:]) if totals[1:].any() else ([], [])

    head = f"share of {' and '.join(splits_of)}" if splits_of else "share of"
    heads = [name if wanted is None else f"{name}\n{float(wanted[name]):.1%}" for name in names]
    made = table(head if wanted is None else f"{head}\nwanted", *heads, "examples")
    for row in (0, *(label + 1 for label in shown)):
        name = printable(repr(classes[row - 1])) if row else "all"
        parts = [f"{share:.1%}" if totals[row] else "" for share in shares[row].tolist()]
        made.add_row(name, *parts, f"{totals[row]:,}")
    if not rest:
        return ["", made]
    than = "all images" if wanted is None else "the shares wanted"
    within = float(offs[[label + 1 for label in rest]].max())
    return ["", made, Text(f"… {counted(len(rest), 'other class')}, each within {within:.1%} of {than}")]


def _listed(offs: npt.NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Return the classes to list and the others, each in label order.

    Args:
        offs: float64[num_classes], the largest difference between a class's share and the wanted one.
    """
    if len(offs) <= CLASSES_LISTED:
        return list(range(len(offs))), []
    by_size = np.argsort(-offs, kind="stable").tolist()
    return sorted(by_size[:WORST_LISTED]), sorted(by_size[WORST_LISTED:])
