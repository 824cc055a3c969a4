"""Decide how the labels of a reading are read from the columns of a table; names of the numbers of folders."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.options.values import LabelType
from shardkit.refusals import RefusalError
from shardkit.reject_reasons import BAD_LABEL
from shardkit.sources.engine.facts import ByKey, Values
from shardkit.sources.engine.labels.kinds import decide_labels
from shardkit.sources.engine.labels.numbers import number_of
from shardkit.sources.engine.labels.reading import UNCERTAIN, word_of
from shardkit.sources.engine.labels.reading import Labels as ColumnLabels
from shardkit.sources.formats.class_names import names_by_number, numbered_names
from shardkit.sources.formats.tables.records import Record, TableFile
from shardkit.sources.listing import BadRecord
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.flags import origin_text
from shardkit.sources.readings.values import Column, Labels
from shardkit.storage import Folder

_ZEROS = frozenset({"0", "0.0"})  # next to -1, which may mean several things


def options_of(label: Labels, origin: Column, classes: tuple[str, ...]) -> SourceOptions:
    """Return the options that say what a reading does about labels."""
    kinds: dict[str | None, LabelType] = {"number": "number", "class": "class"}
    return SourceOptions(
        image_column=origin.key[0] if origin.key else None,
        label_separator=label.separator or None,
        label_type=kinds.get(label.kind, "auto"),
        uncertain=label.minus_one,
        classes=classes or None,
    )


def read_labels(
    tree: Folder,
    file: TableFile,
    prefix: Sequence[Record],
    columns: tuple[int, ...],
    read_all: Callable[[frozenset[int]], Iterable[Record]],
    label: Labels,
    classes: tuple[str, ...],
) -> tuple[ColumnLabels, Labels]:
    """Return how labels are read, and the labels of the reading with what was found about them."""
    origin = cast("Column", label.origin)
    words = {word_of(one.values[i]) for one in prefix if one.problem is None for i in columns}
    is_signed = not UNCERTAIN.isdisjoint(words)
    if label.kind in {"one-hot", "indicators"} and label.minus_one is None and not (is_signed and words & _ZEROS):
        names = tuple(file.columns[i] for i in columns)
        return ColumnLabels(columns, names, label.kind, None, (), 0, signed=is_signed), label
    try:
        found = decide_labels(file, prefix, columns, options_of(label, origin, classes), read_all, file.url)
    except RefusalError as error:
        refusal = error.refusal
        changes = [replace(one, sources=(), options=_as_facts(one.options, origin)) for one in refusal.changes]
        raise RefusalError(refusal.problem, changes, remedy=refusal.remedy) from error
    kind = "number" if found.kind == "numbers" else found.kind
    if label.kind is not None and label.kind != kind:
        if {label.kind, kind} <= {"one-hot", "indicators"}:
            found = replace(found, kind=cast("Any", label.kind))
        else:
            msg = f"{file.url}: the reading says that labels are of kind {label.kind}, and the column holds {kind}"
            raise DataError(msg)
    if label.names:
        values = (one.values[i] for one in read_all(frozenset(columns)) if one.problem is None for i in columns)
        class_names, first = class_names_in(tree, label.names, label.first, values, only_used=label.unused == "drop")
        found = replace(found, class_names=class_names, named_by=label.names, whole=True)
        label = replace(label, first=first)
    return found, replace(label, kind=cast("Any", label.kind or kind))


def _as_facts(options: Mapping[str, Any], origin: Column) -> dict[str, Any]:
    """Return options that choose another column as those of a reading, which names the column already."""
    others = {name: value for name, value in options.items() if name != "label_columns"}
    if (columns := options.get("label_columns")) and tuple(columns) != origin.column:
        others["label"] = origin_text(replace(origin, column=tuple(columns)))
    return others


@dataclass(frozen=True, slots=True)
class NamedNumbers:
    """Class numbers in paths with their names."""

    source: ByKey
    names: tuple[str, ...]  # the names by number, '' for none
    file: str  # the file that has them

    @classmethod
    def open(cls, tree: Folder, label: Labels, source: ByKey) -> "NamedNumbers":
        names, in_file = names_by_number(tree, label.names)
        start = label.first if in_file is None else in_file
        if not names or start is None:
            what = "has no number before each name" if names else "does not name classes by number"
            msg = f"{tree.url}/{label.names}: it {what}; number them, or say `first: 0` or `first: 1` in the reading"
            raise CallError(msg)
        return cls(source, ("",) * start + names, label.names)

    def values(self, folder: Folder) -> Values:
        values = self.source.values(folder)

        def name(key: str) -> str | None:
            text: str | None = values(key)
            if text is None or text in self.names:
                return text
            number = int(text) if text.isdecimal() and text.isascii() else -1
            if not 0 <= number < len(self.names) or not self.names[number]:
                msg = f"{printable(text)!r} is not the number of a class in {printable(self.file)}; add it there"
                raise BadRecord(BAD_LABEL, msg)
            return self.names[number]

        return name


def class_names_in(
    folder: Folder, path: str, first: int | None, values: Iterable[Any], *, only_used: bool = False
) -> tuple[tuple[str, ...], int | None]:
    """Return the names in a file by number, '' for none, and the first line's number: None if the file has numbers."""
    is_json = path.lower().endswith(".json")
    names, in_file = names_by_number(folder, path)
    if names and in_file is not None and not only_used:
        return ("",) * in_file + names, None
    numbers = {found for one in values if isinstance(found := number_of(one, holds_text=True), int)}
    url = f"{folder.url}/{path}"
    if names and not (only_used and in_file is not None):
        first = first if first is not None else first_label(url, len(names), numbers or {0})
        return ("",) * first + names, first
    # NABirds also names groups of classes.
    by_number = {} if is_json else numbered_names(folder, path)
    used = {number: by_number[number] for number in sorted(numbers) if number in by_number}
    if not used:
        msg = f"{url}: it does not name classes by number, from 0; write a name in each line"
        raise DataError(msg)
    if twice := [name for name in used.values() if [*used.values()].count(name) > 1][:1]:
        msg = f"{url}: two classes are called {twice[0]!r}; rename one"
        raise DataError(msg)
    return tuple(used.get(number, "") for number in range(max(used) + 1)), None


def first_label(url: str, num_names: int, numbers: set[int]) -> int:
    """Return the number of the first name, 0 or 1."""
    if 0 in numbers and max(numbers) < num_names:
        return 0
    if 0 not in numbers and max(numbers) == num_names:
        return 1
    raise unfit(url, num_names, numbers)


def unfit(url: str, num_names: int, numbers: set[int]) -> DataError:
    """Return the error for labels that are not the numbers of the names."""
    return DataError(
        f"{printable(url)}: it names {num_names:,} classes, and the labels of the lists are {min(numbers)} to "
        f"{max(numbers)}, so names and labels cannot be matched; write a number before each name, such as "
        f"'{min(numbers)} cat', or move the file away and use the labels as names"
    )
