"""Name the classes of adopted records; the numbers of the classes stay those in the records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shardkit.dataset.foreign.label_names import LabelNames
from shardkit.errors import DataError
from shardkit.naming import counted, printable
from shardkit.options.words import named

_MAX_CLASSES = 1_000_000  # a number above is an id, and every class has a name and counts in the manifest


class Labels(NamedTuple):
    """The labels of all records."""

    lowest: int
    highest: int  # -1 if there is none
    where_highest: str  # file and number of a record with it

    def describe(self, names: Sequence[str]) -> str:
        """Return a line that shows the range of the labels, and a class 0 that no record has."""
        if self.highest < 0:
            return "no record has one"
        line = f"{self.lowest} to {self.highest}, {counted(len(names), 'class')}"
        if self.lowest == 0:
            return line
        return (
            f"{line}; no record has the label 0, so they may count from 1: class 0, {printable(names[0])!r}, stays "
            "empty, and labels are given as they are stored"
        )


class ClassNames(NamedTuple):
    """The classes of a dataset."""

    names: list[str]  # in label order, all different
    origin: str  # a sentence that says where they come from


def name_classes(
    labels: Labels, listed: LabelNames | None, texts: Mapping[int, str], texts_origin: str = ""
) -> ClassNames:
    """Return the classes.

    Args:
        labels: The labels of all records.
        listed: Names from a list, which count before those in the records; None if there is none.
        texts: Names that the records give to numbers; an empty one if they differ, none if they give none.
        texts_origin: Where these come from, for messages.
    """
    if labels.highest >= _MAX_CLASSES:
        raise DataError(
            f"{labels.where_highest} has the label {labels.highest:,}, and class numbers are below {_MAX_CLASSES:,}; "
            f"name another feature with {named('label_feature')}"
        )
    if listed is not None:
        if labels.highest >= 0:
            listed.name_of(labels.highest, labels.where_highest)
        return ClassNames(_different([*map(str, range(listed.first)), *listed.names]), listed.describe())
    numbers = [str(number) for number in range(labels.highest + 1)]
    if not all(texts.values()):
        return ClassNames(numbers, "numbers, because the records name some in several ways")
    if texts:
        return ClassNames(_different([texts.get(at, number) for at, number in enumerate(numbers)]), texts_origin)
    return ClassNames(numbers, f"numbers; {named('classes')} names them")


def _different(names: Sequence[str]) -> list[str]:
    """Return the names; those that occur twice, as in ImageNet's words, get their number."""
    counts = Counter(names)
    return [f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(names)]
