"""Name the classes of adopted records; the numbers of the classes stay those in the records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shardkit.dataset.foreign.label_names import LabelNames
from shardkit.errors import DataError
from shardkit.naming import counted, printable
from shardkit.options.words import named

MAX_CLASSES = 1_000_000  # a number above is an id, and every class has a name and counts in the manifest


class Labels(NamedTuple):
    """The labels of all records.

    Attributes:
        lowest: Smallest class number.
        highest: Largest class number; -1 if there is none.
        where_highest: File and number of a record with it.
    """

    lowest: int
    highest: int
    where_highest: str


class ClassNames(NamedTuple):
    """The classes of a dataset.

    Attributes:
        names: Names in label order, all different.
        origin: A sentence that says where they come from.
    """

    names: list[str]
    origin: str


def name_classes(
    labels: Labels, listed: LabelNames | None, texts: Mapping[int, str], texts_origin: str = ""
) -> ClassNames:
    """Return the classes.

    Args:
        labels: The labels of all records.
        listed: Names from a list, which count before those in the records; None if there is none.
        texts: Names that the records give to numbers; an empty one if they differ, none if they give none.
        texts_origin: Feature with these names, for messages.

    Raises:
        DataError: A label has no name or is no number of a class; the message names a record that has it.
    """
    if labels.highest >= MAX_CLASSES:
        msg = (
            f"{labels.where_highest} has the label {labels.highest:,}, and class numbers are below {MAX_CLASSES:,}; "
            f"name another feature with {named('label_feature')}"
        )
        raise DataError(msg)
    if listed is not None:
        return _listed(listed, labels)
    numbers = range(labels.highest + 1)
    if not all(texts.values()):
        return ClassNames([str(number) for number in numbers], "numbers, because the records name some in several ways")
    if texts:
        return ClassNames(_different({number: texts.get(number, str(number)) for number in numbers}), texts_origin)
    return ClassNames([str(number) for number in numbers], f"numbers; {named('classes')} names them")


def _listed(listed: LabelNames, labels: Labels) -> ClassNames:
    if labels.highest >= 0:
        listed.name_of(labels.highest, labels.where_highest)
    named = {number: str(number) for number in range(listed.first)}
    named |= {listed.first + at: name for at, name in enumerate(listed.names)}
    return ClassNames(_different(named), listed.describe())


def _different(named: Mapping[int, str]) -> list[str]:
    """Return the names; those that occur twice, as in ImageNet's words, get their number."""
    twice = {name for name, count in Counter(named.values()).items() if count > 1}
    return [f"{name} ({number})" if name in twice else name for number, name in named.items()]


def range_line(labels: Labels, names: Sequence[str], num_zero: int) -> str:
    """Return a line that shows the range of the labels, and a class 0 that no record has.

    Args:
        labels: The labels of all records.
        names: The classes.
        num_zero: Number of records with label 0.
    """
    if labels.highest < 0:
        return "no record has one"
    line = f"{labels.lowest} to {labels.highest}, {counted(len(names), 'class')}"
    if num_zero or labels.highest < 1:
        return line
    return (
        f"{line}; no record has the label 0, so they may count from 1: class 0, {printable(names[0])!r}, stays empty, "
        "and labels are given as they are stored"
    )
