"""The page about two datasets that differ: counts, and the first examples of each kind side by side."""

from collections.abc import Iterator

import numpy as np

from shardkit.comparison.difference import Change, Changes, DatasetDiff, ListDiff
from shardkit.naming import counted, first_of
from shardkit.report.collection import Picture
from shardkit.report.dataset_collection import DatasetCollection
from shardkit.report.page.parts import Section, Sheet, SheetGroup, Table, Thumbnail, cut
from shardkit.report.page.template import render
from shardkit.report.page.thumbnails import Thumbnails

EXAMPLES_SHOWN = 60  # of each kind
_COUNTS_LISTED = 40
_NAMES_SHOWN = 20
_TITLES = {
    "added": "Added",
    "removed": "Removed",
    "moved": "Moved to another split",
    "label": "Relabelled",
    "image": "Other stored images",
    "annotations": "Other annotations",
}


def make_diff_page(found: DatasetDiff, old: DatasetCollection, new: DatasetCollection) -> str:
    """Return the HTML of the page.

    Args:
        found: The differences, with the first EXAMPLES_SHOWN or fewer changes of each kind.
        old: The first dataset.
        new: The second one.

    Raises:
        DataError: An index is missing or damaged.
        MachineError: The disk or the network failed.
    """
    thumbnails = Thumbnails()
    kinds = {kind: changes for kind, changes in found.kinds.items() if changes.num_examples}
    pictures = _Pictures(kinds, old, new, thumbnails)
    sections = [_section(kind, changes, pictures) for kind, changes in kinds.items()]
    sides = zip(("old", "new"), found.num_examples, strict=True)
    tiles = [(f"{number:,}", f"images in the {name} dataset", "") for name, number in sides]
    tiles.append((f"{found.num_same:,}", "without a difference", ""))
    tiles += [(f"{changes.num_examples:,}", _TITLES[kind].lower(), "") for kind, changes in kinds.items()]
    return render(
        title=f"{old.title} → {new.title}",
        kicker="diff · two datasets",
        place=f"{found.a} → {found.b}",
        tiles=tiles,
        sections=[*sections, _lists(found)],
    )


class _Pictures:
    """The pictures of both datasets, by key."""

    def __init__(
        self, kinds: dict[str, Changes], old: DatasetCollection, new: DatasetCollection, thumbnails: Thumbnails
    ) -> None:
        in_old = {change.key for kind, one in kinds.items() if kind != "added" for change in one.first}
        in_new = {change.key for kind, one in kinds.items() if kind != "removed" for change in one.first}
        self._thumbnails = thumbnails
        num_pictures = sum(len(one.first) * (1 if kind in _ONE_SIDED else 2) for kind, one in kinds.items())
        side = thumbnails.side_for(num_pictures)
        self._old, self._new = _by_key(old, in_old, side), _by_key(new, in_new, side)

    def of(self, change: Change, *, is_new: bool, caption: str) -> Thumbnail:
        picture = (self._new if is_new else self._old).get(change.key)
        if picture is None:  # the index has no such key: the dataset was replaced meanwhile
            picture = Picture(change.key, "", "", (0, 0), None, "the example is not there any more")
        return self._thumbnails.of_example(picture, caption)


_ONE_SIDED = {"added", "removed"}


def _by_key(collection: DatasetCollection, keys: set[str], side: int) -> dict[str, Picture]:
    numbers = sorted(collection.numbers_of(sorted(keys)).values())
    found = collection.pictures(np.array(numbers, np.int64), side) if numbers else ()
    return {picture.key: picture for picture in found}


def _section(kind: str, changes: Changes, pictures: _Pictures) -> Section:
    if kind in _ONE_SIDED:
        made = [pictures.of(one, is_new=kind == "added", caption="") for one in changes.first]
        sheets = [Sheet("", "", made)]
    else:
        sheets = [Sheet(cut(one.key), "", [*_both(one, pictures)]) for one in changes.first]
    num, shown = changes.num_examples, len(changes.first)
    heading = f"All {num:,}" if num == shown else f"The first {shown:,} of {num:,}, by key"
    rows = [[cut(text), f"{number:,}"] for text, number in [*changes.counts.items()][:_COUNTS_LISTED]]
    more = len(changes.counts) - len(rows)
    note = f"and {counted(more, 'other change')}" if more > 0 else ""
    tables = [Table("Images by " + ("split" if kind in _ONE_SIDED else "change"), ["", "images"], rows, note)]
    groups = [SheetGroup(heading, sheets, is_open=True, is_sets=kind not in _ONE_SIDED)] if shown else []
    return Section(kind, _TITLES[kind], [f"{counted(num, 'image')}."], groups=groups, tables=tables if rows else [])


def _both(change: Change, pictures: _Pictures) -> Iterator[Thumbnail]:
    """Yield the picture of each dataset, with what differs below it."""
    features = ", ".join(change.features)
    yield pictures.of(change, is_new=False, caption=change.before or (f"old {features}" if features else "(none)"))
    yield pictures.of(change, is_new=True, caption=change.after or (f"new {features}" if features else "(none)"))


def _lists(found: DatasetDiff) -> Section:
    """Return the section about classes, features and splits."""
    lists: dict[str, ListDiff] = {"classes": found.classes, "features": found.features, "splits": found.splits}
    rows = [
        [f"{noun} {what}", first_of([cut(repr(name)) for name in names], _NAMES_SHOWN)]
        for noun, one in lists.items()
        for what, names in (("added", one.added), ("removed", one.removed), ("changed", one.changed))
        if names
    ]
    rows = rows or [["all", "no difference: the datasets are equal" if found.equal else "no difference"]]
    table = Table("Names in the manifests", ["what", "names"], rows, is_text=True)
    return Section("lists", "Classes, features, splits", tables=[table])
