"""Values of a table's columns: which type a column has, and whether a value fits it.

Missing values: in a column of texts '', in a list column the empty list, in a float32 column NaN. There is none for
int64, so a column of integers with a missing value among the first 1,000 is carried as text; where the first one comes
later, its record is rejected.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from shardkit.sources.table_records import BadRecord, shown

LARGEST_FLOAT32 = 3.4028235677973366e38  # halfway to what would round to infinity (IEEE 754)
_INT64 = range(-(2**63), 2**63)
# 007 is a name, not a number: written back as 7 it would be another one.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE
)


def type_of_texts(texts: Sequence[str]) -> pa.DataType:
    """int64, float32 or string, whatever fits all texts."""
    present = [text for text in texts if text]
    if not present:
        return pa.string()
    if all(_INTEGER.fullmatch(text) and int(text) in _INT64 for text in present):
        return pa.int64() if len(present) == len(texts) else pa.string()
    # Integers too large for int64 are identifiers; as floats they would run into each other.
    numbers = all(_NUMBER.fullmatch(text) and not (text.isdecimal() and int(text) not in _INT64) for text in present)
    return pa.float32() if numbers else pa.string()


def type_of_values(values: Sequence[Any]) -> pa.DataType | None:
    """The type of JSON values; None where there is none for all of them, as for objects."""
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {list}:
        flat = [one for value in present for one in value]
        # Not by asking for the type of these: they may be nested deeper than functions can call themselves.
        inner = None if {type(one) for one in flat} & {list, dict} else type_of_values(flat)
        return None if inner is None else pa.list_(inner)
    if kinds & {list, dict}:
        return None
    if kinds <= {int, bool} and kinds:
        fits = all(value in _INT64 for value in present)
        return pa.int64() if fits and len(present) == len(values) else pa.string()
    if kinds <= {int, float} and kinds:
        return pa.float32()
    return pa.string()


def with_missing(type_: pa.DataType | None) -> pa.DataType | None:
    """The type that a column of this one is carried in where values are missing."""
    return pa.string() if type_ is not None and pa.types.is_integer(type_) else type_


def is_fraction(text: str) -> bool:
    """Whether a text is a number with a decimal point or an exponent."""
    return is_number(text) and any(char in text for char in ".eE") and text[-1] not in "fFyY"


def is_number(text: str) -> bool:
    """Whether a text is a decimal number, nan or inf."""
    return _NUMBER.fullmatch(text) is not None


def as_text(value: Any) -> str:
    """Text, and numbers and truth values as JSON writes them; '' for None.

    Raises:
        ValueError: a list or an object.
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError


def as_float(value: Any) -> float:
    """A number, or a text of one, that float32 can hold; NaN and infinities too.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str) and not is_number(value):
        raise ValueError
    if not isinstance(value, str | int | float):
        raise ValueError
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError from error
    if math.isfinite(number) and abs(number) >= LARGEST_FLOAT32:
        raise ValueError
    return number


def _integer_of_text(value: Any) -> int:
    if not _INTEGER.fullmatch(value):
        raise ValueError
    return _integer(int(value))


def _integer(value: Any) -> int:
    if not isinstance(value, int) or value not in _INT64:
        raise ValueError
    return int(value)


def _float_of_value(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, str | bool):
        raise ValueError
    return as_float(value)


def _float_of_text(value: Any) -> float:
    return as_float(value) if value else math.nan


Reading = Callable[[Any], Any]


def reading(type_: pa.DataType, *, holds_text: bool) -> Reading:
    """The function that turns a table's value into one of the column's type, or raises ValueError."""
    if pa.types.is_list(type_):
        inner = reading(type_.value_type, holds_text=False)

        def read_list(value: Any) -> list[Any]:
            if value is None:
                return []
            if not isinstance(value, list):
                raise ValueError
            return [inner(one) for one in value]

        return read_list
    if pa.types.is_integer(type_):
        return _integer_of_text if holds_text else _integer
    if pa.types.is_floating(type_):
        return _float_of_text if holds_text else _float_of_value
    return as_text


def unfit(name: str, value: Any, type_: pa.DataType) -> BadRecord:
    """What is said of a value that the column's reading refuses."""
    found = "nothing" if value is None or value == "" else f"{shown(value)}"
    return BadRecord(
        "bad_value", f"column {name!r} holds {found} where the table's first records have {describe_type(type_)}"
    )


def describe_type(type_: pa.DataType) -> str:
    """A type in one word or three."""
    return f"lists of {type_.value_type}" if pa.types.is_list(type_) else str(type_)
