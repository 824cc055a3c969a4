"""The folder that `shardkit extract` writes: one table with keys, splits and every feature, class names in order.

Nothing is detected: the types of the columns are those of the dataset. So the folder gives the same dataset again, and
an edited table the corrected one.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from shardkit.dataset import extracted_table as table
from shardkit.dataset import features as names
from shardkit.dataset.features import Feature
from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import counted, printable, relative_path_problem
from shardkit.record_sources.datasets.columns import annotation_fields, carried
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LINE, BAD_NAME, BAD_PATH, BAD_VALUE, NO_LABEL
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    FEATURE_PREFIX,
    GROUP,
    IS_UNLABELLED,
    LABEL_NAMES,
    LINE,
    LISTING_SCHEMA,
    MASK_PATH,
    MAX_OBJECTS,
    PATH,
    UNMEASURED,
)
from shardkit.sources.formats.column_names import split_of_text
from shardkit.sources.formats.tables.json_files import JsonTable
from shardkit.sources.formats.tables.records import Record, TablePart
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord, Listing, ListingRow, Source, batched
from shardkit.sources.options import Opening
from shardkit.sources.walking import file_or_folder
from shardkit.storage import Folder, os_errors_as

_INT64 = 1 << 63
_SIDES = 4


@dataclass(frozen=True, slots=True)
class ExtractedDataset(Source):
    """An extracted dataset."""

    folder: Folder
    file: JsonTable
    features: dict[str, Feature]
    class_names: tuple[str, ...]  # in label order
    splits: tuple[str, ...]
    has_unlabelled: bool = False  # whether images may have no label on purpose
    keeps_splits: bool = True

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        marks = [IS_UNLABELLED] if self.has_unlabelled else []
        fields = annotation_fields(self.features, self.folder.url)
        return pa.schema([*LISTING_SCHEMA, LINE, PATH, GROUP, *marks, *fields])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source."""
        return self.class_names or None

    layout = LAYOUTS["extracted"].title

    def describe(self) -> str:
        """See Source."""
        known = f"keys, the splits {', '.join(self.splits)}"
        if self.class_names:
            known += f", {counted(len(self.class_names), 'class')} of {table.CLASSES}"
        if others := [name for name in self.features if name not in names.ALWAYS]:
            known += f", the features {', '.join(map(printable, others))}"
        return f"{self.folder.url}: read as an {self.layout} ({table.TABLE}): {known}"

    def undivided(self) -> Source:
        """See Source; a single split, "train", may be divided."""
        return replace(self, keeps_splits=False) if self.splits == ("train",) else self

    def parts(self) -> list[int]:
        """Return one part, the table."""
        return self.file.parts()

    def divided(self, part: TablePart) -> Sequence[TablePart]:
        """See Source; pieces of the table."""
        return self.file.divided(part) if isinstance(part, int) else [part]

    def list_part(self, part: TablePart, batch_rows: int) -> Iterator[Listing]:
        """See Source; records in the table's order."""
        read = _Reader(self)
        yield from batched(self.schema, map(read.row, self.file.records(part)), batch_rows)


class _Reader:
    """Reads the rows of one part; a record that gives no example becomes a rejected row."""

    def __init__(self, source: ExtractedDataset) -> None:
        self._name, self._keeps_splits = source.file.name, source.keeps_splits
        self._columns = source.file.columns
        self._extra = [field.name for field in source.schema][len(LISTING_SCHEMA) :]
        self._label, self._has_unlabelled = names.label_feature(source.features), source.has_unlabelled
        self._carried = [_carried(name, source.features[name]) for name in carried(source.features)]
        self._annotations = _annotation_readers(source.features) + self._carried

    def row(self, record: Record) -> ListingRow:
        key = split = label_name = None
        found: dict[str, Any] = {LINE.name: record.line}
        try:
            if record.problem:
                raise BadRecord(BAD_LINE, record.problem)
            values = dict(zip(self._columns, record.values, strict=True))
            key = _text(table.KEY, values.get(table.KEY), BAD_NAME)
            found[PATH.name] = _path(table.FILE, values.get(table.FILE))
            if self._keeps_splits and values.get(table.SPLIT) is not None:
                split = split_of_text(_text(table.SPLIT, values[table.SPLIT], BAD_VALUE))
            if values.get(table.GROUP) is not None:
                found[GROUP.name] = _text(table.GROUP, values[table.GROUP], BAD_VALUE)
            if self._has_unlabelled and values.get(self._label or "") is None:
                found[IS_UNLABELLED.name] = True
            for read in self._annotations if IS_UNLABELLED.name not in found else self._carried:
                found |= read(values)
            label_name = found.pop("label_name", None)
        except BadRecord as error:
            place = f"{self._name}, line {record.line}"
            message = f"{place}: {error}" if key else str(error)
            extra = tuple(record.line if name == LINE.name else None for name in self._extra)
            return ListingRow(key or place, split, None, UNMEASURED, 0, error.reason, message, extra)
        extra = tuple(found.get(name) for name in self._extra)
        return ListingRow(key, split, label_name, UNMEASURED, 0, extra=extra)


_Annotations = Callable[[Mapping[str, Any]], dict[str, Any]]


def _annotation_readers(features: Mapping[str, Feature]) -> list[_Annotations]:
    """Return functions from the labels of a record to columns of the listing; they may raise BadRecord."""
    readers: list[_Annotations] = []
    label = names.label_feature(features)
    if label == names.OBJECT_LABELS:
        fields = {field: features[name] for field, name in table.object_fields(features).items()}
        readers.append(lambda values: _objects(values.get(table.OBJECTS), fields))
    elif label == names.LABELS:
        readers.append(
            lambda values: {LABEL_NAMES.name: _list(names.LABELS, values.get(names.LABELS), _label, BAD_ANNOTATION)}
        )
    elif names.MASK in features:
        readers.append(lambda values: {MASK_PATH.name: _path(names.MASK, values.get(names.MASK))})
    elif label is not None and features[label].role == "scalar":
        num = features[label].shape[0] if features[label].shape else 1
        readers.append(lambda values: {"target": _targets(values.get(names.LABEL), num or 1)})
    elif label is not None:
        readers.append(lambda values: {"label_name": _label(names.LABEL, values.get(names.LABEL), NO_LABEL)})
    return readers


def _carried(name: str, feature: Feature) -> _Annotations:
    column, one = table.column_of(name), _VALUES[feature.dtype]
    if feature.shape:
        return lambda values: {FEATURE_PREFIX + name: _list(column, values.get(column), one, BAD_VALUE)}
    return lambda values: {FEATURE_PREFIX + name: one(column, values.get(column), BAD_VALUE)}


def _objects(found: Any, fields: Mapping[str, Feature]) -> dict[str, Any]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        msg = f"the column {table.OBJECTS!r} holds {shown(found)}, not a list of objects"
        raise BadRecord(BAD_ANNOTATION, msg)
    if len(found) > MAX_OBJECTS:
        msg = f"it has {len(found):,} objects, more than {MAX_OBJECTS:,}; split the image into tiles"
        raise BadRecord(BAD_ANNOTATION, msg)
    rows = []
    for number, one in enumerate(found):
        box = _list(table.BOX, one.get(table.BOX), _number, BAD_ANNOTATION)
        if len(box) != _SIDES or not all(map(math.isfinite, box)):
            msg = (
                f"the box of object {number} is {shown(one.get(table.BOX))}, not [ymin, xmin, ymax, xmax] as fractions"
            )
            raise BadRecord(BAD_ANNOTATION, msg)
        label = _label(f"{table.OBJECTS}/{table.OBJECT_LABEL}", one.get(table.OBJECT_LABEL), BAD_ANNOTATION)
        row = {"bbox": box, "label_name": label, "name": f"object {number}"}
        rows.append(
            row
            | {
                field: _VALUES[feature.dtype](f"{table.OBJECTS}/{field}", one.get(field), BAD_ANNOTATION)
                for field, feature in fields.items()
            }
        )
    return {"objects": rows, ANNOTATED_WIDTH.name: 0, ANNOTATED_HEIGHT.name: 0}


def _targets(found: Any, num: int) -> list[float]:
    numbers = [_number(names.LABEL, one, NO_LABEL) for one in (found if isinstance(found, list) else [found])]
    if len(numbers) != num or not all(map(math.isfinite, numbers)):
        msg = f"the column {names.LABEL!r} holds {shown(found)}, not {num} finite numbers"
        raise BadRecord(NO_LABEL, msg)
    return numbers


def _path(column: str, found: Any) -> str:
    path = _text(column, found, BAD_PATH)
    if problem := relative_path_problem(path):
        msg = f"the path {shown(path)} may not be followed: {problem}; write it relative to the folder of the table"
        raise BadRecord(BAD_PATH, msg)
    return path


def _list(column: str, found: Any, read: Callable[[str, Any, str], Any], reason: str) -> list[Any]:
    if not isinstance(found, list):
        msg = f"the column {column!r} holds {shown(found)}, not a list"
        raise BadRecord(reason, msg)
    return [read(column, one, reason) for one in found]


def _label(column: str, found: Any, reason: str) -> str:
    if not isinstance(found, str) or not found.strip():
        msg = f"the column {column!r} holds {shown(found)}, not the name of a class"
        raise BadRecord(reason, msg)
    return found


def _text(column: str, found: Any, reason: str) -> str:
    if not isinstance(found, str) or (not found and reason in {BAD_NAME, BAD_PATH}):
        msg = f"the column {column!r} holds {shown(found)}, not a text"
        raise BadRecord(reason, msg)
    return found


def _integer(column: str, found: Any, reason: str) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not -_INT64 <= found < _INT64:
        msg = f"the column {column!r} holds {shown(found)}, not a whole number of 64 bits"
        raise BadRecord(reason, msg)
    return found


def _number(column: str, found: Any, reason: str) -> float:
    if found is None:
        return math.nan
    if not isinstance(found, int | float) or isinstance(found, bool):
        msg = f"the column {column!r} holds {shown(found)}, not a number"
        raise BadRecord(reason, msg)
    return float(found)


_VALUES: dict[str, Callable[[str, Any, str], Any]] = {"int64": _integer, "float32": _number, "bytes": _text}


def is_extracted(folder: Folder) -> bool:
    """Return whether `shardkit extract` wrote a folder."""
    return file_or_folder(folder, table.TYPES) is not None


def open_extracted(opening: Opening) -> ExtractedDataset:
    """Open an extracted dataset."""
    folder = opening.folder
    types = table.parse_types(_read(folder, table.TYPES), f"{folder.url}/{table.TYPES}")
    class_names: tuple[str, ...] = ()
    if any(feature.role in {"class_label", "mask"} for feature in types.features.values()):
        has_file = names.MASK not in types.features or file_or_folder(folder, table.CLASSES) is not None
        class_names = _lines(_read(folder, table.CLASSES), folder) if has_file else ()
    _refuse_missing(folder, table.TABLE)
    file = JsonTable(folder, table.TABLE, table.columns_of(types.features))
    return ExtractedDataset(folder, file, types.features, class_names, tuple(types.splits), types.has_unlabelled)


def _refuse_missing(folder: Folder, name: str) -> None:
    if file_or_folder(folder, name) is None:
        msg = f"{folder.url}/{name}: the file is missing; restore it, or extract again"
        raise DataError(msg)


def _read(folder: Folder, name: str) -> bytes:
    _refuse_missing(folder, name)
    with os_errors_as("read the source", folder.url_of(name)):
        return folder.read(name)


def _lines(content: bytes, folder: Folder) -> tuple[str, ...]:
    try:
        found = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        msg = f"{folder.url}/{table.CLASSES}: the file is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise DataError(msg) from None
    return tuple(found[:-1] if not found[-1] else found)
