"""Lay out the differences of two datasets as text and tables."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from shardkit.cli.printing.lines import table
from shardkit.comparison.difference import Change, Changes, DatasetDiff, ListDiff
from shardkit.naming import counted, first_of, printable

_TITLES = {
    "added": "only in B",
    "removed": "only in A",
    "moved": "another split",
    "label": "another label",
    "image": "another image",
    "annotations": "other annotations",
}
_MAX_SHOWN = 5  # counts in a row, names in a line


def diff_parts(found: DatasetDiff) -> Iterator[Any]:
    """Yield the parts to print: rich tables and lines of text."""
    for side, url, number in zip("AB", (found.a, found.b), found.num_examples, strict=True):
        yield f"{side}  {url}: {counted(number, 'example')}"
    if found.equal:
        yield "They are equal: the same examples with the same splits, labels, images and annotations."
        return
    if any(changes.num_examples for changes in found.kinds.values()):
        yield from ("", _kinds_table(found))
    if lines := [*_list_lines(found)]:
        yield from ("", *lines)
    for kind, changes in found.kinds.items():
        if changes.first:
            yield ""
            yield _heading(kind, changes)
            yield _keys_table(changes.first)


def _kinds_table(found: DatasetDiff) -> Table:
    made = table("difference", "examples")
    made.add_column("", overflow="fold")
    for kind, changes in found.kinds.items():
        if changes.num_examples:
            made.add_row(_TITLES[kind], f"{changes.num_examples:,}", _counts(changes))
    made.add_row("no difference", f"{found.num_same:,}", "")
    return made


def _counts(changes: Changes) -> str:
    shown = [f"{printable(text)} {number:,}" for text, number in [*changes.counts.items()][:_MAX_SHOWN]]
    return ", ".join([*shown, "…"] if len(changes.counts) > _MAX_SHOWN else shown)


def _list_lines(found: DatasetDiff) -> Iterator[str]:
    lists: dict[str, tuple[ListDiff, str]] = {
        "classes": (found.classes, "with another number"),
        "features": (found.features, "of another type"),
        "splits": (found.splits, ""),
    }
    for noun, (one, changed) in lists.items():
        for names, what in ((one.added, "only in B"), (one.removed, "only in A"), (one.changed, changed)):
            if names:
                yield f"{noun} {what}: {first_of([*map(repr, names)], _MAX_SHOWN)}"


def _heading(kind: str, changes: Changes) -> str:
    shown = len(changes.first)
    which = f"the first {shown} of {changes.num_examples:,}" if shown < changes.num_examples else f"all {shown}"
    return f"{_TITLES[kind]}, {which}:"


def _keys_table(changes: tuple[Change, ...]) -> Table:
    made = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    made.add_column(overflow="fold")
    made.add_column(overflow="fold")
    for change in changes:
        made.add_row(f"  {printable(change.key)}", printable(_difference(change)))
    return made


def _difference(change: Change) -> str:
    if change.features:
        return ", ".join(change.features)
    sides = [side or "(none)" for side in (change.before, change.after) if side is not None]
    return " → ".join(sides)
