"""Write all images whose labels contradict each other as a table to correct, which `convert --labels` reads."""

import csv
from pathlib import Path

import numpy as np

from shardkit.errors import CallError
from shardkit.options.words import flag_of
from shardkit.report.collection import Collection, Member, has_one_class
from shardkit.report.facts.gathering import Facts
from shardkit.statistics.repeated import Sets
from shardkit.storage.open_files import whole_file

_SETS_AT_ONCE = 4096
_OTHERS_NAMED = 3
_HEADER = ("key", "label", "set", "comment")


def refuse_without_classes(collection: Collection) -> None:
    """Refuse a table of labels that no conversion would read.

    Raises:
        CallError: It is not a dataset in which each image has one class.
    """
    if has_one_class(collection):
        return
    msg = f"{flag_of('fixes')}: {collection.place} has no single class for each image, which is what convert "
    msg += f"{flag_of('labels')} corrects; remove wrong images with {flag_of('drop')}, or correct the source"
    raise CallError(msg)


def write_fixes(collection: Collection, facts: Facts, path: Path) -> tuple[int, int]:
    """Write a row for each image of each set of copies with different labels.

    The label is the present one: which of them is right is the user's decision, and the file changes nothing until it
    is edited. `comment` names the other copies and their labels; `convert` ignores it.

    Args:
        collection: The dataset.
        facts: What was found in it.
        path: The CSV file.

    Returns:
        Number of images and number of sets.

    Raises:
        MachineError: The file cannot be written.
    """
    written: set[str] = set()
    num_sets = 0
    with whole_file(path, "the table") as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(_HEADER)
        for sets, how in (
            (facts.counted.conflicts, "the same bytes as"),
            (facts.counted.near_conflicts, "nearly identical to"),
        ):
            for start in range(0, 0 if sets is None else sets.num, _SETS_AT_ONCE):
                for members in _members(collection, sets, start):
                    num_sets += 1
                    # A key has one row; that of the same bytes comes first.
                    new = [at for at, one in enumerate(members) if one.key not in written]
                    written.update(one.key for one in members)
                    rows.writerows(
                        (members[at].key, *members[at].labels, num_sets, f"{how} {_others(members, at)}") for at in new
                    )
    return len(written), num_sets


def _members(collection: Collection, sets: Sets | None, start: int) -> list[list[Member]]:
    if sets is None:
        return []
    numbers = [sets.members(at) for at in range(start, min(sets.num, start + _SETS_AT_ONCE))]
    found = iter(collection.members(np.array([number for one in numbers for number in one], np.int64)))
    return [[next(found) for _ in one] for one in numbers]


def _others(members: list[Member], at: int) -> str:
    """Return the other copies, those with other labels first."""
    others = [one for number, one in enumerate(members) if number != at]
    others.sort(key=lambda one: one.labels == members[at].labels)
    named = ", ".join(f"{one.key} ({', '.join(one.labels)})" for one in others[:_OTHERS_NAMED])
    more = len(others) - _OTHERS_NAMED
    return f"{named} and {more} more" if more > 0 else named
