"""Which column of a table is what, and the row of the listing that a record becomes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError, UnknownNameError
from shardkit.sources.listing import GROUP, LINE, LISTING_SCHEMA, UNMEASURED, feature_field
from shardkit.sources.options import SourceOptions
from shardkit.sources.table_labels import Labels, decide_labels
from shardkit.sources.table_records import PREFIX_RECORDS, BadRecord, Record, TableFile, shown
from shardkit.sources.table_splits import split_of_text
from shardkit.sources.table_values import as_text, describe_type, reading, unfit

IMAGE_COLUMNS = ("image", "image_uri", "image_path", "file_name", "path", "filepath", "filename")
LABEL_COLUMNS = ("label", "labels", "class", "class_name", "category", "target", "label_name")
SPLIT_COLUMNS = ("split", "ml_use", "set", "partition", "subset")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a table are, by their places.

    Attributes:
        names: of all columns.
        image: the column of paths.
        labels: how labels are read.
        split: the column of splits; None where there is none, or where it assigns none.
        group: the column of groups; None for none.
        features: columns that are carried along, and their types.
        left_out: columns that are not, because they hold neither text nor numbers.
        holds_text: whether values are texts of what they are.
    """

    names: tuple[str, ...]
    image: int
    labels: Labels
    split: int | None
    group: int | None
    features: tuple[tuple[int, pa.DataType], ...]
    left_out: tuple[int, ...]
    holds_text: bool

    @property
    def schema(self) -> pa.Schema:
        """Of the listing."""
        fields = [*LISTING_SCHEMA, LINE]
        if self.labels.field is not None:
            fields.append(self.labels.field)
        if self.group is not None:
            fields.append(GROUP)
        return pa.schema(fields + [feature_field(self.names[i], type_) for i, type_ in self.features])

    def describe(self) -> str:
        """A part of a sentence."""
        parts = [f"the image from column {self.names[self.image]!r}", self.labels.describe()]
        if self.split is not None:
            parts.append(f"the split from {self.names[self.split]!r}")
        if self.group is not None:
            parts.append(f"the group from {self.names[self.group]!r}")
        if self.features:
            carried = ", ".join(f"{self.names[i]!r} ({describe_type(type_)})" for i, type_ in self.features)
            parts.append(f"carried along {carried}")
        if self.left_out:
            parts.append(f"left out {', '.join(repr(self.names[i]) for i in self.left_out)}")
        return "; ".join(parts)

    def rows(self, file_name: str, key_of: Callable[[object], str]) -> Callable[[Record], Row]:
        """The function that turns a record into a row of ``schema``, a rejected one where it leads to no example.

        Args:
            file_name: what the table is called in messages.
            key_of: from the image column's value to the key; may raise BadRecord.
        """
        names, labels, image = self.names, self.labels, self.image
        features = [(i, type_, reading(type_, holds_text=self.holds_text)) for i, type_ in self.features]
        nothing = (None,) * (len(self.schema) - len(LISTING_SCHEMA) - 1)
        one_class = labels.kind == "class"

        def row(record: Record) -> Row:
            line, values, problem = record
            key = split = None
            try:
                if problem:
                    raise BadRecord("bad_line", problem)
                key = key_of(values[image])
                if self.split is not None:
                    split = self._split(values[self.split])
                label = labels.read(values)
                carried = []
                if self.group is not None:
                    carried.append(self._group(values[self.group]))
                for i, type_, read in features:
                    try:
                        carried.append(read(values[i]))
                    except ValueError:  # noqa: PERF203 - a try block that nothing is raised in costs nothing
                        raise unfit(names[i], values[i], type_) from None
            except BadRecord as error:
                place = f"{file_name}, line {line}"
                # The place is told once: it is the key where the record leads to no image.
                message = f"{place}: {error}" if key else str(error)
                return (key or place, split, None, UNMEASURED, 0, error.reason, message, line, *nothing)
            if one_class:
                return (key, split, label, UNMEASURED, 0, None, None, line, *carried)
            return (key, split, None, UNMEASURED, 0, None, None, line, label, *carried)

        return row

    def _split(self, value: Any) -> str:
        try:
            split = split_of_text(as_text(value))
        except ValueError as error:
            if isinstance(error, BadRecord):
                raise
            msg = f"{shown(value)} is no split's name"
            raise BadRecord("bad_split", msg) from None
        if split is None:
            msg = "it has no split where other records have one; give it one or leave it out"
            raise BadRecord("bad_split", msg)
        return split

    def _group(self, value: Any) -> str | None:
        try:
            return as_text(value) or None
        except ValueError:
            raise unfit(self.names[self.group or 0], value, pa.string()) from None


def read_prefix(file: TableFile) -> list[Record]:
    """The first records that can be read, out of the first 1,000.

    Raises:
        DataError: there is none.
    """
    first = list(islice(file.all_records(), PREFIX_RECORDS))
    good = [record for record in first if record.problem is None]
    if not good:
        why = f"line {first[0].line}: {first[0].problem}" if first else "only columns"
        msg = f"{file.url}: the table has no records that can be read; {why}"
        raise DataError(msg)
    return good


def find_columns(file: TableFile, prefix: Sequence[Record], options: SourceOptions) -> Columns:
    """Decide what each column is, from its name and the first records.

    Raises:
        UnknownNameError: the user names a column that is not there.
        DataError: there is no column of paths, or none of labels.
    """
    image = _image(file, options)
    chosen = tuple(_named(file, name) for name in options.label_columns)
    usual = _usual(file, LABEL_COLUMNS)
    if not chosen and usual is None:
        msg = f"{file.url}: none of the columns {_listed(file)} is called like a label; name it with --label-column"
        raise DataError(msg)
    labels = decide_labels(file, prefix, chosen or (usual or 0,), options)
    split = _named(file, options.split_column) if options.split_column else _usual(file, SPLIT_COLUMNS)
    if split in {image, *labels.columns}:
        split = None
    group = file.columns.index(options.group_by) if options.group_by in file.columns else None
    types = file.types(prefix)
    roles = {image, *labels.columns, split, group}
    others = [i for i, name in enumerate(file.columns) if i not in roles and name]
    return Columns(
        names=file.columns,
        image=image,
        labels=labels,
        split=split if split is None or _assigns_splits(file, prefix, split) else None,
        group=group,
        features=tuple((i, type_) for i in others if (type_ := types[i]) is not None),
        left_out=tuple(i for i in others if types[i] is None),
        holds_text=file.holds_text,
    )


def _image(file: TableFile, options: SourceOptions) -> int:
    if options.image_column:
        return _named(file, options.image_column)
    found = _usual(file, IMAGE_COLUMNS)
    if found is None:
        msg = f"{file.url}: none of the columns {_listed(file)} is called like a path; name it with --image-column"
        raise DataError(msg)
    return found


def _assigns_splits(file: TableFile, prefix: Sequence[Record], column: int) -> bool:
    # Usually the first record tells; a table of UNASSIGNED is read to its end.
    if any(_is_assigned(record.values[column]) for record in prefix):
        return True
    every = file.all_records(frozenset({column}))
    return any(record.problem is None and _is_assigned(record.values[column]) for record in every)


def _is_assigned(value: Any) -> bool:
    try:
        return split_of_text(as_text(value)) is not None
    except ValueError:  # a bad one is meant as one
        return True


def _named(file: TableFile, name: str) -> int:
    if name not in file.columns:
        msg = f"{file.url}: there is no column {name!r}; there are {_listed(file)}"
        raise UnknownNameError(msg)
    return file.columns.index(name)


def _usual(file: TableFile, usual: Sequence[str]) -> int | None:
    """The first usual name that is there, in this or any other case."""
    lower = [name.lower() for name in file.columns]
    return next((where.index(name) for name in usual for where in (file.columns, lower) if name in where), None)


def _listed(file: TableFile) -> str:
    return ", ".join(repr(name) for name in file.columns if name)
