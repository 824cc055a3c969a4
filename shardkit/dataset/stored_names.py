"""The names that features have in records of others: TFRecords that were adopted keep their own names.

A manifest's ``stored_as`` maps a feature's name to its names in the records: one name, or four for boxes whose sides
are features of their own (ymin, xmin, ymax, xmax). No name at all means that the records lack the feature: the key, the
height and the width then come from the index or from the image's header. Features that are not in the map are stored
under their own names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from shardkit.errors import RecordError

StoredAs: TypeAlias = Mapping[str, Sequence[str]]

DERIVED = frozenset({"key", "height", "width"})  # the features that records may lack
RECORD_DIGITS = 8  # of a record's number in a key that shardkit makes
NUM_SIDES = 4  # ymin, xmin, ymax, xmax


def names_in_records(name: str, stored_as: StoredAs) -> tuple[str, ...]:
    """Return the names of a feature in the records; none if they lack it."""
    return tuple(stored_as.get(name, (name,)))


def stored_as_problem(stored_as: StoredAs, features: Mapping[str, Any]) -> str | None:
    """Return why a map of names is not valid; None if it is.

    Args:
        stored_as: Names in the records by feature.
        features: The dataset's features by name; their roles say which are boxes.
    """
    for name, stored in stored_as.items():
        if name not in features:
            return f"{name!r} is not a feature"
        allowed = {1, NUM_SIDES} if features[name].role == "bbox" else {0, 1} if name in DERIVED else {1}
        if len(stored) not in allowed:
            return f"{name!r} has {len(stored)} names"
    return None


def record_key(path: str, number: int) -> str:
    """Return the key of a record that has none: the file's path and the record's number, ``train.tfrecord/00000007``.

    The reader computes the same text in the graph.

    Args:
        path: Path of the file, relative to the folder of the records.
        number: Number of the record in the file, from 0.
    """
    return f"{path}/{number:0{RECORD_DIGITS}d}"


def with_own_names(
    stored: Mapping[str, list[Any]], stored_as: StoredAs, features: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the values of a record by the names of the manifest's features.

    A list of any length that the record lacks is empty, as for the reader: many writers leave out empty lists. Other
    features that it lacks are left out, and so are those without a name in the records: those who need them report
    them. Features that are not in the map keep their names.

    Args:
        stored: Values by the names in the record, as `example.decode` returns them.
        stored_as: Names in the records by feature.
        features: The dataset's features by name; their shapes say which are lists of any length.

    Raises:
        RecordError: The sides of the boxes have different numbers of values.
    """
    if not stored_as:
        return dict(stored)
    taken = {other for names in stored_as.values() for other in names} | stored_as.keys()
    values = {name: found for name, found in stored.items() if name not in taken}
    for name, feature in features.items():
        names = names_in_records(name, stored_as)
        is_list = None in feature.shape
        if names and (is_list or all(one in stored for one in names)):
            lists = [stored.get(one, []) for one in names]
            values[name] = lists[0] if len(lists) == 1 else _interleaved(lists, names)
    return values


def _interleaved(sides: list[list[Any]], names: Sequence[str]) -> list[Any]:
    lengths = {len(side) for side in sides}
    if len(lengths) > 1:
        counts = ", ".join(f"{len(side)} in {name}" for side, name in zip(sides, names, strict=True))
        raise RecordError(f"the sides of the boxes have different numbers of values: {counts}")
    return [value for box in zip(*sides, strict=True) for value in box]
