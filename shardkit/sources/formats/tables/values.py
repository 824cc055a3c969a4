"""Types of a table's columns, and conversion of values to them.

The type is the narrowest of int64, float32 and string that fits every record of the table, so that no image is rejected
because of a column that only becomes a feature. A missing value is '' in a column of texts, [] in a column of
lists, and NaN in a float32 column. int64 has no missing value, so integers with missing values become text.
"""

import math
import re
import reprlib
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

import pyarrow as pa

from shardkit.reject_reasons import BAD_VALUE
from shardkit.sources.listing import BadRecord

LARGEST_FLOAT32 = 3.4028235677973366e38  # halfway to what would round to infinity (IEEE 754)
BLANKS = " \t"  # around a separator they are no part of a name
_INT64 = range(-(2**63), 2**63)
# 007 is a name and not a number: as an integer it would become 7.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE
)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100


def shown(value: object) -> str:
    """Return a value for a message: shortened, on one line, whatever it is and however deeply it is nested."""
    return _SHORT.repr(value)


def kind_of_text(text: str) -> str:
    """Return the kind of a field of a text file, in one word: see ``type_of_kinds``."""
    if not text:
        return "missing"
    if _INTEGER.fullmatch(text) and int(text) in _INT64:
        return "integer"
    # Integers too large for int64 are identifiers; as floats, different ones would become equal.
    return "number" if not text.isdecimal() and _fits_float32(text) else "text"


def kinds_of_value(value: Any) -> set[str]:
    """Return the kind of a value; for a list ``[``, and the kind of each element with ``[`` before it."""
    if not isinstance(value, list):
        return {_kind(value)}
    # Not recursive: lists may be nested deeper than Python's recursion limit.
    return {"[", *("[object" if isinstance(one, list) else f"[{_kind(one)}" for one in value)}


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int) and value in _INT64:
        return "integer"
    if isinstance(value, int | float) and _fits_float32(value):
        return "number" if isinstance(value, float) else "large"
    return "text" if isinstance(value, str | int | float) else "object"


def _fits_float32(value: Any) -> bool:
    try:
        as_float(value)
    except ValueError:
        return False
    return True


def type_of_kinds(kinds: AbstractSet[str]) -> pa.DataType | None:
    """Return the type of a column with these kinds of values; None if no type fits all of them, such as objects."""
    present = kinds - {"missing"}
    if "[" in present:
        inner = {kind[1:] for kind in present} - {""}
        several = all(kind.startswith("[") for kind in present) and "object" not in inner
        return pa.list_(type_of_kinds(inner)) if several else None
    if "object" in present:
        return None
    if present and present <= {"integer", "truth"}:
        return pa.int64() if present == kinds else pa.string()
    return pa.float32() if "number" in present and present <= {"integer", "large", "number"} else pa.string()


def widened(type_: pa.DataType | None, kinds: AbstractSet[str]) -> pa.DataType | None:
    """Return the type for a column that is declared with a type and holds these kinds of values."""
    if type_ is None:
        return None
    if pa.types.is_list(type_):
        return pa.list_(widened(type_.value_type, {kind[1:] for kind in kinds if kind.startswith("[")} - {""}))
    if pa.types.is_integer(type_):
        return type_ if kinds <= {"integer", "truth"} else pa.string()
    return pa.string() if pa.types.is_floating(type_) and "text" in kinds else type_


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number, nan or inf."""
    return _NUMBER.fullmatch(text) is not None


def as_text(value: Any) -> str:
    """Return text as it is, numbers and booleans as JSON writes them, and '' for None."""
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
    """Return a number that float32 can hold, from a number or text; NaN and infinities are allowed."""
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


Converter = Callable[[Any], Any]


def converter(type_: pa.DataType, *, holds_text: bool) -> Converter:
    """Return the function that converts a table's value to the column's type, or raises ValueError."""
    if pa.types.is_list(type_):
        inner = converter(type_.value_type, holds_text=False)

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


def unfit_value(name: str, value: Any, type_: pa.DataType) -> BadRecord:
    """Return the error for a value that the column's conversion refuses."""
    found = "nothing" if value is None or value == "" else f"{shown(value)}"
    return BadRecord(BAD_VALUE, f"column {name!r} holds {found} where the table has {describe_type(type_)}")


def describe_type(type_: pa.DataType) -> str:
    """Return the name of a type for messages."""
    return f"lists of {type_.value_type}" if pa.types.is_list(type_) else str(type_)
