"""The roles of a table's columns, and how a record becomes a row of the listing."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shardkit.naming import IMAGE_ENDINGS
from shardkit.reject_reasons import BAD_LINE, BAD_SPLIT, NO_LABEL
from shardkit.sources.columns import GROUP, UNMEASURED, feature_field
from shardkit.sources.engine.labels.reading import Labels
from shardkit.sources.formats.column_names import DISCARDED, is_discard, split_of_text
from shardkit.sources.formats.tables.records import Record, enumerated
from shardkit.sources.formats.tables.values import as_text, converter, describe_type, shown, unfit_value
from shardkit.sources.listing import BadRecord, ListingRow
from shardkit.sources.walking import ending, is_ignored

# Maps a record's values to its class, if it has exactly one, and the values of Columns.fields; may raise BadRecord.
AnnotationReader = Callable[[Sequence[Any]], tuple[str | None, list[Any]]]
_OF_SYSTEMS = "records of files that systems leave behind, such as .DS_Store"
_UNCERTAIN = "records with an uncertain label (-1)"


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of a table's columns, by their indexes."""

    names: tuple[str, ...]
    image: int
    labels: Labels
    split: int | None  # the column of splits; None if there is none, or if it assigns none
    discards: int | None  # the column that may hold DISCARD instead of a split; None for none
    group: int | None  # the column of groups; None for none
    features: tuple[tuple[int, pa.DataType], ...]  # columns that become features, and their types
    left_out: tuple[int, ...]  # columns that are not read
    holds_text: bool  # whether every value is text, as in CSV files
    # The splits that numbers in the column of splits stand for; {} if it holds names
    split_numbers: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> list[pa.Field]:
        fields = [] if self.labels.field is None else [self.labels.field]
        if self.group is not None:
            fields.append(GROUP)
        return fields + [feature_field(self.names[i], type_) for i, type_ in self.features]

    @property
    def used_names(self) -> list[str]:
        others = (i for i in (self.split, self.discards, self.group) if i is not None)
        used = {self.image, *self.labels.columns, *(i for i, _ in self.features), *others}
        return [self.names[i] for i in sorted(used)]

    def describe(self) -> str:
        parts = [f"the image from column {self.names[self.image]!r}", self.labels.describe()]
        if self.split is not None:
            parts.append(f"the split from {self.names[self.split]!r}")
        if self.group is not None:
            parts.append(f"the group from {self.names[self.group]!r}")
        if self.features:
            carried = enumerated([f"{self.names[i]!r} ({describe_type(type_)})" for i, type_ in self.features])
            parts.append(f"stored as features {carried}")
        if self.left_out:
            parts.append(f"left out {enumerated([repr(self.names[i]) for i in self.left_out])}")
        return "; ".join(parts)

    def rows(self, file_name: str, key_of: Callable[[object], str]) -> Callable[[Record], ListingRow]:
        """Return the function that turns a record into a row of `schema`: a rejected row if it gives no example."""
        image, annotation, others = self.image, self.annotation_reader(), self._others_reader()
        nulls = (None,) * len(self.fields)

        def row(record: Record) -> ListingRow:
            line, values, problem = record
            key = split = None
            try:
                if problem:
                    raise BadRecord(BAD_LINE, problem)
                key = key_of(values[image])
                split = self.split_of(values)
                label_name, more = annotation(values)
            except BadRecord as error:
                place = f"{file_name}, line {line}"
                # If the record names no image, its line is the key and need not be in the message.
                message = f"{place}: {error}" if key else str(error)
                extra: tuple[Any, ...] = (line, *nulls)
                if error.reason == NO_LABEL:  # the reading may say that it has none on purpose
                    with contextlib.suppress(BadRecord):
                        more = others(values)
                        extra = (line, *nulls[len(more) :], *more)
                return ListingRow(key or place, split, None, UNMEASURED, 0, error.reason, message, extra)
            return ListingRow(key, split, label_name, UNMEASURED, 0, None, None, (line, *more))

        return row

    def why_left_out(self, record: Record) -> str | None:
        """Return what a record is that is left out and counted, in the plural; None if it is not left out."""
        if record.problem:
            return None
        if self.discards is not None and is_discard(record.values[self.discards]):
            return DISCARDED
        path = record.values[self.image]
        name = path.strip().replace("\\", "/").rpartition("/")[2] if isinstance(path, str) else ""
        if name.strip(".") and is_ignored(name) and ending(name) not in IMAGE_ENDINGS:
            return _OF_SYSTEMS
        return _UNCERTAIN if self.labels.is_dropped(record.values) else None

    def annotation_reader(self) -> AnnotationReader:
        labels, others = self.labels, self._others_reader()
        one_class = labels.field is None

        def annotation(values: Sequence[Any]) -> tuple[str | None, list[Any]]:
            label = labels.read(values)
            return (label, others(values)) if one_class else (None, [label, *others(values)])

        return annotation

    def _others_reader(self) -> Callable[[Sequence[Any]], list[Any]]:
        names = self.names
        features = [(i, type_, converter(type_, holds_text=self.holds_text)) for i, type_ in self.features]

        def others(values: Sequence[Any]) -> list[Any]:
            more: list[Any] = []
            if self.group is not None:
                more.append(self._group(values[self.group]))
            for i, type_, read in features:
                try:
                    more.append(read(values[i]))
                except ValueError:  # noqa: PERF203 - a try block in which nothing is raised is free
                    raise unfit_value(names[i], values[i], type_) from None
            return more

        return others

    def split_of(self, values: Sequence[Any]) -> str | None:
        return None if self.split is None else self._split(values[self.split])

    def _split(self, value: Any) -> str:
        try:
            text = as_text(value)
            split = self.split_numbers.get(text.strip().lower()) or split_of_text(text)
        except ValueError as error:
            if isinstance(error, BadRecord):
                raise
            msg = f"{shown(value)} is not the name of a split"
            raise BadRecord(BAD_SPLIT, msg) from None
        if split is None:
            msg = "it has no split where other records have one; give it one or leave it out"
            raise BadRecord(BAD_SPLIT, msg)
        return split

    def _group(self, value: Any) -> str | None:
        try:
            return as_text(value) or None
        except ValueError:
            raise unfit_value(self.names[self.group or 0], value, pa.string()) from None
