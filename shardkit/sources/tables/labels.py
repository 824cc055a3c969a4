"""Labels of a table: one class, several classes, or numbers for regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.naming import counted
from shardkit.reject_reasons import BAD_LABEL, NO_LABEL
from shardkit.sources.listing import LABEL_NAMES, BadRecord, target_field
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.formats.records import Record, TableFile, enumerated, shown
from shardkit.sources.tables.formats.values import as_float, as_text, is_fraction, is_number

Kind = Literal["class", "classes", "indicators", "numbers"]
_INDICATORS = {"": False, "0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}


@dataclass(frozen=True, slots=True)
class Labels:
    """How labels are read.

    Attributes:
        columns: Indexes of the columns in the table.
        names: Names of the columns.
        kind: One class; several classes; columns that say whether the class of their name applies; or numbers.
        separator: Separator of several classes in one field; None for none.
        class_names: Names that integers stand for; () if an integer is its own name.
        num_targets: Number of values per image; 0 for classes.
        may_be_classes: Whether the values were taken for numbers because of their decimal points, but are all whole.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    kind: Kind
    separator: str | None
    class_names: tuple[str, ...]
    num_targets: int
    may_be_classes: bool = False

    @property
    def field(self) -> pa.Field | None:
        """The column that the listing needs besides label_name; None if it needs none."""
        if self.kind == "numbers":
            return target_field(self.num_targets)
        return None if self.kind == "class" else LABEL_NAMES

    def describe(self) -> str:
        """Return a phrase for the user that says how labels are read."""
        columns = enumerated([*map(repr, self.names)])
        many = f"column{'s' * (len(self.names) > 1)} {columns}"
        if self.kind == "class":
            return f"the class from {many}"
        if self.kind == "indicators":
            return f"several classes per image, a column each ({columns})"
        if self.kind == "classes":
            separated = f", separated by {self.separator!r}" if self.separator else ""
            return f"several classes per image from {many}{separated}"
        remark = " (whole numbers: --label-type class makes them classes)" if self.may_be_classes else ""
        return f"{counted(self.num_targets, 'number')} for regression from {many}{remark}"

    def read(self, values: Sequence[Any]) -> Any:
        """Return a record's class name, names, or numbers.

        Raises:
            BadRecord: NO_LABEL or BAD_LABEL.
        """
        if self.kind == "class":
            return self._name(values[self.columns[0]], self.names[0])
        if self.kind == "indicators":
            pairs = zip(self.names, self.columns, strict=True)
            return [name for name, i in pairs if _indicator(values[i], name)]
        found = [
            one for i, name in zip(self.columns, self.names, strict=True) for one in self._several(values[i], name)
        ]
        if self.kind == "classes":
            return list(dict.fromkeys(found))  # without repetitions
        if len(found) != self.num_targets:
            msg = f"{_columns(self.names)} {len(found)} numbers where the table's first records have {self.num_targets}"
            raise BadRecord(BAD_LABEL, msg)
        return found

    def _several(self, value: Any, column: str) -> list[Any]:
        if self.kind == "numbers":
            return [_target(one, column) for one in (value if isinstance(value, list) else [value])]
        if isinstance(value, list):
            return [self._name(one, column) for one in value]
        if value is None or (isinstance(value, str) and not value.strip()):
            if value is None and len(self.columns) == 1:
                raise _no_label(column)
            return []
        if self.separator and isinstance(value, str):
            parts = [part.strip() for part in value.split(self.separator)]
            return [part for part in parts if part]
        return [self._name(value, column)]

    def _name(self, value: Any, column: str) -> str:
        if self.class_names and isinstance(value, int):
            if value == -1:
                msg = f"column {column!r} holds -1, Hugging Face's number for no label; give it one or leave it out"
                raise BadRecord(NO_LABEL, msg)
            if not 0 <= value < len(self.class_names):
                msg = f"column {column!r} holds {value} where the file names {len(self.class_names)} classes"
                raise BadRecord(BAD_LABEL, msg)
            return self.class_names[value]
        try:
            name = as_text(value)
        except ValueError:
            msg = f"column {column!r} holds {shown(value)}, which is not a class name"
            raise BadRecord(BAD_LABEL, msg) from None
        if not name or name.isspace() or (isinstance(value, float) and math.isnan(value)):
            raise _no_label(column)
        return name


def _no_label(column: str) -> BadRecord:
    return BadRecord(NO_LABEL, f"column {column!r} is empty; give the image a label or leave it out")


def _columns(names: Sequence[str]) -> str:
    return f"column {names[0]!r} holds" if len(names) == 1 else f"columns {enumerated([*map(repr, names)])} hold"


def _indicator(value: Any, column: str) -> bool:
    try:
        return _INDICATORS[as_text(value).strip().lower()]
    except (KeyError, ValueError):
        msg = f"column {column!r} holds {shown(value)} where the table's first records have 0 or 1"
        raise BadRecord(BAD_LABEL, msg) from None


def _target(value: Any, column: str) -> float:
    if value is None or value == "":
        raise _no_label(column)
    try:
        number = as_float(value)
    except ValueError:
        msg = f"column {column!r} holds {shown(value)}, which is not a number that float32 can hold"
        raise BadRecord(BAD_LABEL, msg) from None
    if not math.isfinite(number):
        msg = f"column {column!r} holds {number}, which is no value for regression"
        raise BadRecord(BAD_LABEL, msg)
    return number


def decide_labels(
    file: TableFile, prefix: Sequence[Record], columns: tuple[int, ...], options: SourceOptions
) -> Labels:
    """Decide how labels are read, from the first records.

    Raises:
        CallError: There are both `label_type="number"` and `label_separator`, or the separator is empty.
        DataError: The columns hold no labels of this type.
    """
    names = tuple(file.columns[i] for i in columns)
    found = [[record.values[i] for record in prefix] for i in columns]
    present = [value for column in found for value in column if value is not None and value != "" and _is_label(value)]
    separator = options.label_separator
    if separator is not None and (not separator or options.label_type == "number"):
        msg = "label_separator separates class names: it has at least one character, and excludes label_type 'number'"
        raise CallError(msg)
    class_names = file.class_names(columns[0]) if len(columns) == 1 else ()
    types = file.types(prefix, columns)
    # Columns of types that cannot be stored are not even read; a few odd values only reject their records.
    if not present and any(types[i] is None for i in columns):
        msg = f"{file.url}: {_columns(names)} neither text nor numbers; name the label's column with --label-column"
        raise DataError(msg)
    if options.label_type == "number" or (
        options.label_type == "auto" and not separator and len(columns) == 1 and _are_fractions(file, present)
    ):
        width = max((len(value) if isinstance(value, list) else 1 for value in present), default=1) or 1
        whole = options.label_type == "auto" and all(map(_is_whole, present))
        return Labels(columns, names, "numbers", None, (), width if len(columns) == 1 else len(columns), whole)
    if len(columns) > 1:
        if not separator and present and all(_is_indicator(value) for value in present):
            return Labels(columns, names, "indicators", None, (), 0)
        if options.label_type == "auto" and present and all(_is_number(value) for value in present):
            msg = f"{file.url}: {_columns(names)} numbers other than 0 and 1; add --label-type number or class"
            raise DataError(msg)
    several = len(columns) > 1 or separator is not None or _are_lists(types[columns[0]], present)
    return Labels(columns, names, "classes" if several else "class", separator, class_names, 0)


def _is_label(value: Any) -> bool:
    """Return whether a value can be a label, or a list of labels."""
    one_by_one = value if isinstance(value, list) else [value]
    return not any(isinstance(one, list | dict) for one in one_by_one)


def _are_lists(type_: pa.DataType | None, present: Sequence[Any]) -> bool:
    return any(isinstance(value, list) for value in present) or (type_ is not None and pa.types.is_list(type_))


def _are_fractions(file: TableFile, present: Sequence[Any]) -> bool:
    if file.holds_text:
        return all(map(is_number, present)) and any(map(is_fraction, present))
    flat = [one for value in present for one in (value if isinstance(value, list) else [value])]
    return all(type(one) in {int, float} for one in flat) and float in map(type, flat)


def _is_whole(value: Any) -> bool:
    """Return whether a number could be a class, as pandas writes it if other classes are missing."""
    if isinstance(value, list):
        return False
    number = float(value)
    return math.isnan(number) or number.is_integer()


def _is_indicator(value: Any) -> bool:
    try:
        return as_text(value).strip().lower() in _INDICATORS
    except ValueError:
        return False


def _is_number(value: Any) -> bool:
    return is_number(value) if isinstance(value, str) else isinstance(value, int | float)
