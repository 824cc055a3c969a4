"""Read a record's label: one class, several classes, or numbers for regression."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from shardkit.naming import counted, printable
from shardkit.options.values import Uncertain
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_LABEL, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, target_field
from shardkit.sources.engine.labels.numbers import number_of
from shardkit.sources.formats.tables.records import enumerated
from shardkit.sources.formats.tables.values import BLANKS, as_float, as_text, shown
from shardkit.sources.listing import BadRecord

Kind = Literal["class", "classes", "indicators", "one-hot", "numbers"]
INDICATORS = {"": False, "0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
CROSSES = frozenset({"x", "✓", "✔"})  # by hand, where a blank means that the class does not apply
INDICATORS |= {"no": False, "yes": True, **dict.fromkeys(CROSSES, True)}
UNCERTAIN = frozenset({"-1", "-1.0"})  # as in CheXpert, next to 0 and 1
SIGNED_INDICATORS = {"-1": False, "-1.0": False, "1": True, "1.0": True}  # as in CelebA's table of attributes
_MEANINGS: dict[Uncertain | None, str] = {
    "negative": ", where -1 means that the class does not apply",
    "positive": ", where -1 means that the class applies",
    "drop": ", without images that have a -1",
}


@dataclass(frozen=True, slots=True)
class Labels:
    """How labels are read."""

    columns: tuple[int, ...]  # indexes of the columns in the table
    names: tuple[str, ...]
    # One class; several classes; columns that say whether the class of their name applies; such columns of which
    # exactly one applies; or numbers
    kind: Kind
    separator: str | None  # separator of several classes in one field; None for none
    class_names: tuple[str, ...]  # names that integers stand for, '' for none; () if an integer is its own name
    num_targets: int  # number of values per image; 0 for classes
    whole: bool = False  # whether all classes are whole numbers, so that `1.0` and `1` are one class and `NaN` is none
    signed: bool = False  # whether columns that do not apply hold -1 instead of 0
    uncertain: Uncertain | None = None  # what -1 means in columns of 0 and 1; None if it is an error
    named_by: str = ""  # the file next to the table that has `class_names`; '' for none

    @property
    def field(self) -> pa.Field | None:
        """The column that the listing needs besides label_name; None if it needs none."""
        if self.kind == "numbers":
            return target_field(self.num_targets)
        return None if self.kind in {"class", "one-hot"} else LABEL_NAMES

    def describe(self) -> str:
        columns = enumerated([*map(repr, self.names)])
        many = f"column{'s' * (len(self.names) > 1)} {columns}"
        if self.kind == "class":
            if self.named_by:
                return f"the class from {many}, named by {printable(self.named_by)}"
            lines = f", whose numbers are lines of {named('classes')} from 0" if self.whole and self.class_names else ""
            return f"the class from {many}{lines}"
        if self.kind == "one-hot":
            return f"one class per image, the column of {len(self.columns):,} with a 1 ({columns})"
        if self.kind == "indicators":
            return f"several classes per image, a column each ({columns}){_MEANINGS.get(self.uncertain, '')}"
        if self.kind == "classes":
            separated = f", separated by {self.separator!r}" if self.separator else ""
            return f"several classes per image from {many}{separated}"
        return f"{counted(self.num_targets, 'number')} for regression from {many}"

    def read(self, values: Sequence[Any]) -> Any:
        if self.kind == "class":
            value = values[self.columns[0]]
            if isinstance(value, list) and len(value) <= 1:  # a choice of one
                value = value[0] if value else None
            if isinstance(value, str) and choices_in(value) is not None:
                msg = (
                    f"column {self.names[0]!r} holds {shown(value)} where the table's first records have one class each"
                )
                raise BadRecord(BAD_LABEL, msg)
            return self._name(value, self.names[0])
        if self.kind in {"indicators", "one-hot"}:
            known = SIGNED_INDICATORS if self.signed else INDICATORS
            if self.uncertain:
                known = {**INDICATORS, **dict.fromkeys(UNCERTAIN, self.uncertain == "positive")}
            pairs = zip(self.names, self.columns, strict=True)
            applying = [name for name, i in pairs if _indicator(values[i], name, known)]
            return applying if self.kind == "indicators" else self._only(applying)
        found = [
            one for i, name in zip(self.columns, self.names, strict=True) for one in self._several(values[i], name)
        ]
        if self.kind == "classes":
            return list(dict.fromkeys(found))  # without repetitions
        if len(found) != self.num_targets:
            usual = f"the table's first records have {self.num_targets}"
            raise BadRecord(BAD_LABEL, f"{column_phrase(self.names)} {len(found)} numbers where {usual}")
        return found

    def _choices(self, value: str, column: str) -> list[str] | None:
        found = choices_in(value)
        return None if found is None else [self._name(one, column) for one in found]

    def is_dropped(self, values: Sequence[Any]) -> bool:
        return self.uncertain == "drop" and any(word_of(values[i]) in UNCERTAIN for i in self.columns)

    def _only(self, applying: Sequence[str]) -> str:
        if len(applying) != 1:
            found = f"a 1 in {len(applying)} of the columns" if applying else "a 1 in none of the columns"
            msg = f"it has {found} {enumerated([*map(repr, self.names)])}, and other records in exactly one"
            raise BadRecord(BAD_LABEL if applying else NO_LABEL, msg)
        return applying[0]

    def _several(self, value: Any, column: str) -> list[Any]:
        if self.kind == "numbers":
            return [_target(one, column) for one in (value if isinstance(value, list) else [value])]
        if isinstance(value, list):
            return [self._name(one, column) for one in value]
        if value is None or (isinstance(value, str) and not value.strip()):
            if value is None and len(self.columns) == 1:
                raise _no_label(column)
            return []
        if isinstance(value, str) and (choices := self._choices(value, column)) is not None:
            return choices
        if self.separator and isinstance(value, str):
            parts = [part.strip() for part in value.split(self.separator)]
            return [self._name(part, column) if self.whole else part for part in parts if part]
        return [self._name(value, column)]

    def _name(self, value: Any, column: str) -> str:
        if self.whole:
            number = number_of(value, holds_text=True)
            if number == "missing":
                raise _no_label(column)
            if isinstance(number, int):
                return self._numbered(number, column) if self.class_names else str(number)
        elif self.class_names and isinstance(value, int):
            return self._numbered(value, column)
        try:
            name = as_text(value)
        except ValueError:
            msg = f"column {column!r} holds {shown(value)}, which is not a class name"
            raise BadRecord(BAD_LABEL, msg) from None
        if not name or name.isspace() or (isinstance(value, float) and math.isnan(value)):
            raise _no_label(column)
        name = name.strip(BLANKS)  # ``cat `` after a comma is ``cat``
        if self.named_by and name not in self.class_names:
            msg = f"column {column!r} holds {shown(value)}, which is not the number of a class; correct it"
            raise BadRecord(BAD_LABEL, msg)
        return name

    def _numbered(self, number: int, column: str) -> str:
        if number == -1:
            msg = f"column {column!r} holds -1, Hugging Face's number for no label; give it one or leave it out"
            raise BadRecord(NO_LABEL, msg)
        if not 0 <= number < len(self.class_names) or not self.class_names[number]:
            named_classes = len([*filter(None, self.class_names)])
            msg = f"column {column!r} holds {number} where the file names {named_classes} classes"
            raise BadRecord(BAD_LABEL, msg)
        return self.class_names[number]


def choices_in(text: str) -> list[str] | None:
    """Return the labels of Label Studio's ``{"choices": ["rust", "dent"]}`` or of a list in JSON; None for others."""
    if not text.startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = found.get("choices") if isinstance(found, dict) and len(found) == 1 else found
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None


def _no_label(column: str) -> BadRecord:
    return BadRecord(NO_LABEL, f"column {column!r} is empty; give the image a label or leave it out")


def column_phrase(names: Sequence[str]) -> str:
    """Return the beginning of a sentence about what columns hold."""
    return f"column {names[0]!r} holds" if len(names) == 1 else f"columns {enumerated([*map(repr, names)])} hold"


def word_of(value: object) -> str:
    """Return a value as lower-case text; a list or an object as ``[``."""
    try:
        return as_text(value).strip().lower()
    except ValueError:
        return "["


def _indicator(value: Any, column: str, known: Mapping[str, bool]) -> bool:
    word = word_of(value)
    if word in known:
        return known[word]
    words = "-1 or 1" if known is SIGNED_INDICATORS else "0 or 1"
    msg = f"column {column!r} holds {shown(value)} where the table's first records have {words}"
    if word in UNCERTAIN:
        msg += f"; say what it means with {named('uncertain')}"
    raise BadRecord(BAD_LABEL, msg)


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
