"""The sections about copies: with different labels one label is wrong, in different splits they leak."""

from collections.abc import Callable, Sequence

import numpy as np

from shardkit.images.similar.similar_sets import unhashed_text
from shardkit.naming import counted
from shardkit.options.words import named, shell_command
from shardkit.report.advice.contents import correction_commands
from shardkit.report.collection import Collection, Member
from shardkit.report.facts.counting import MOST_COMPARED
from shardkit.report.facts.gathering import Facts
from shardkit.report.page.parts import Section, Sheet, SheetGroup, Table, cut
from shardkit.report.page.thumbnails import Thumbnails
from shardkit.statistics.repeated import Sets

_SETS_WITH_PICTURES = 60
_SETS_LISTED = 400  # without pictures; more are in the file of `--fixes`
_MOST_ORDERED = 10_000  # sets whose labels are read to find those that differ most
_SPACE = 0.25  # of the space of pictures that is left, for each kind of copies
_LABEL_LENGTH = 60


def conflicts_section(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with candidates for wrong labels: copies with different labels, side by side."""
    found, near = facts.counted.conflicts, facts.counted.near_conflicts
    if not facts.groups and facts.numbers is not None and facts.is_dataset:
        found = near = None
        intro = "Not checked: the indexes of a dataset with numbers as labels do not hold the numbers."
    elif found is None:
        intro = f"Not checked: contents are not known with {named('check', 'header')}."
    elif found.num:
        intro = (
            f"{counted(found.num, 'image')} with exact duplicates that have different labels. At least one is wrong."
        )
    else:
        intro = "No two images with the same bytes have different labels."
    if near is None and found is not None:
        intro += f" {not_searched(facts)}."
    elif near is not None and near.num:
        have = "has" if near.num == 1 else "have"
        intro += f" {counted(near.num, 'set')} of near-identical images {have} different labels: one may be wrong."
    groups, tables = [], []
    difference = _unequal_labels if facts.numbers is None else _distance
    for sets, heading in ((found, "The same bytes, different labels"), (near, "Near-identical, different labels")):
        if sets is not None and sets.num:
            group, rest = _side_by_side(sets, heading, collection, thumbnails, _labels_of, difference)
            groups.append(group)
            tables += rest
    return Section(
        "conflicts",
        "Candidates for wrong labels",
        [intro],
        groups=groups,
        tables=tables,
        code="\n".join(correction_commands(facts)) if groups else "",
    )


def not_searched(facts: Facts) -> str:
    """Return why near-identical images are not known, and the command that lists them; without the end."""
    command = shell_command("view", facts.place)
    return f"Near-identical images are not searched for among more than {MOST_COMPARED:,}; `{command}` lists them"


def leaks_section(facts: Facts, collection: Collection, thumbnails: Thumbnails) -> Section:
    """Return the section with images and groups that are in several splits."""
    found, near, in_groups = facts.counted.leaks, facts.counted.near_leaks, facts.counted.group_leaks
    if len(facts.splits) < 2:
        return Section("leaks", "Leaks between splits", ["There is one split only: nothing can leak."])
    intro = []
    if found is None:
        intro.append(f"Leaks are not checked: contents are not known with {named('check', 'header')}.")
    else:
        first = "No two splits have an image with the same bytes"
        if found.num:
            first = f"{counted(found.num, 'image')} with exact duplicates in another split"
        if near is not None:
            first += (
                f"; {counted(near.num, 'set') if near.num else 'no set'} of near-identical images in several splits"
            )
        unhashed = unhashed_text(facts.counted.num_unhashed, facts.num_examples)
        intro.append(f"{first}; {unhashed}." if unhashed else f"{first}.")
        if near is None:
            intro.append(f"{not_searched(facts)}.")
    if in_groups.num:
        intro.append(f"{counted(in_groups.num, 'group')} with images in more than one split.")
    groups, tables = [], []
    for sets, heading in (
        (found, "The same bytes in several splits"),
        (near, "Near-identical in several splits"),
        (in_groups, "Groups in several splits"),
    ):
        if sets is not None and sets.num:
            group, rest = _side_by_side(sets, heading, collection, thumbnails, lambda member: member.split)
            groups.append(group)
            tables += rest
    listing = collection.origin.leaks_listing if tables else ""
    return Section("leaks", "Leaks between splits", intro, groups=groups, tables=tables, code=listing)


def _labels_of(member: Member) -> str:
    return cut(", ".join(member.labels), _LABEL_LENGTH) or "no label"


def _side_by_side(
    sets: Sets,
    heading: str,
    collection: Collection,
    thumbnails: Thumbnails,
    text: Callable[[Member], str],
    difference: Callable[[Sequence[Member]], float] | None = None,
) -> tuple[SheetGroup, list[Table]]:
    """Return the first sets with pictures, and a table of the next ones.

    Args:
        sets: The sets, at least one.
        heading: What they are.
        collection: The dataset or the source.
        thumbnails: Makes the pictures.
        text: Returns what differs within a set, of a member.
        difference: Returns how much the members of a set differ: sets that differ most come first. None for the order
            of the examples.
    """
    shown = [sets.shown(at) for at in range(min(sets.num, _MOST_ORDERED))]
    if difference is None:
        del shown[_SETS_WITH_PICTURES + _SETS_LISTED :]
    found = iter(collection.members(_flat(shown)))
    members = [[next(found) for _ in one] for one in shown]
    if difference is not None:
        order = sorted(range(len(shown)), key=lambda at: difference(members[at]), reverse=True)
        shown, members = [shown[at] for at in order], [members[at] for at in order]
    first = shown[:_SETS_WITH_PICTURES]
    side = thumbnails.side_for(sum(map(len, first)), _SPACE)
    pictures = collection.pictures(_flat(first), side)
    sheets = [
        Sheet(_title([*map(text, of_set)]), "", [thumbnails.of_example(next(pictures), text(one)) for one in of_set])
        for of_set in members[: len(first)]
    ]
    rest = members[len(first) : len(first) + _SETS_LISTED]
    group = SheetGroup(f"{heading} ({_of_all(len(first), sets.num)})", sheets, is_open=True, is_sets=True)
    if not rest:
        return group, []
    rows = [[" ≠ ".join(f"{cut(one.key)} ({text(one)})" for one in of_set)] for of_set in rest]
    more = sets.num - len(first) - len(rest)
    note = f"{more:,} more are not listed here." if more else ""
    return group, [Table(f"{heading}: the next ones", ["images"], rows, note, is_text=True, is_folded=True)]


def _of_all(num_shown: int, num: int) -> str:
    return f"{num:,}" if num_shown == num else f"the first {num_shown:,} of {num:,}"


def _title(texts: Sequence[str]) -> str:
    """Return what contradicts: "dog ≠ fish"."""
    return " ≠ ".join(dict.fromkeys(texts))


def _unequal_labels(members: Sequence[Member]) -> float:
    """Return how many labels only one of two members has, at most."""
    return max(len({*members[0].labels} ^ {*one.labels}) for one in members[1:])


def _distance(members: Sequence[Member]) -> float:
    """Return how far the numbers of two members are apart, at most."""
    numbers = np.array([one.labels for one in members], np.float64)
    return float(np.abs(numbers - numbers[0]).sum(axis=1).max())


def _flat(sets: Sequence[Sequence[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([number for one in sets for number in one], np.int64)
