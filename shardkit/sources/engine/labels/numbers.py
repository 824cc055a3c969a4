"""Find out whether the values of a label column are whole numbers, fractions or names."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from shardkit.sources.formats.tables.values import is_number

MAX_DISTINCT = 100_000  # whole numbers that are counted: this many are no classes
_CHUNK_VALUES = 8192  # values of which each different one is looked at once
_LARGEST_EXACT = 2**53  # whole numbers above are not exact as float64
# Spellings of a missing value by pandas, R, SQL and Excel. They count as missing only between numbers.
_BLANKS = frozenset({"", "nan", "na", "n/a", "<na>", "#n/a", "null", "none", "nil", "?", "-"})


@dataclass(slots=True)
class Numbers:
    """What the values of a column are."""

    num_present: int = 0
    whole: set[int] = field(default_factory=set)  # different whole numbers, at most MAX_DISTINCT
    has_fractions: bool = False  # whether some value is a number that is not whole
    has_points: bool = False  # whether some text has a decimal point
    has_exponents: bool = False  # whether some text is a whole number with an exponent, or the code of a part: 10E2
    # Whether some value is neither a number nor missing; then the other attributes are incomplete
    has_words: bool = False

    @property
    def has_names(self) -> bool:
        """Whether some value is a name; 10E2 is one unless the column has decimal points or fractions."""
        return self.has_words or (self.has_exponents and not self.has_points and not self.has_fractions)

    @property
    def are_whole(self) -> bool:
        """Whether every value that is not missing is a whole number, and there is one."""
        return bool(self.whole) and not self.has_fractions and not self.has_names


Number = int | Literal["missing", "fraction", "name"]


def numbers_in(values: Iterable[Any], *, holds_text: bool) -> Numbers:
    """Look at values until one is no number."""
    found = Numbers()
    remaining = iter(values)
    while not found.has_words and (chunk := list(islice(remaining, _CHUNK_VALUES))):
        for value, count in _counted(chunk):
            number = number_of(value, holds_text=holds_text)
            if number == "missing":
                continue
            found.num_present += count
            if isinstance(value, str):
                found.has_points |= "." in value
                found.has_exponents |= isinstance(number, int) and "e" in value.lower()
            if number == "name":
                found.has_words = True
            elif number == "fraction":
                found.has_fractions = True
            elif len(found.whole) < MAX_DISTINCT:
                found.whole.add(number)
    return found


def _counted(chunk: list[Any]) -> Iterable[tuple[Any, int]]:
    counts: dict[tuple[type, Any], int] = {}
    try:
        for value in chunk:
            key = type(value), value  # 1 and True are equal
            counts[key] = counts.get(key, 0) + 1
    except TypeError:  # a list or an object
        return [(value, 1) for value in chunk]
    return [(value, count) for (_, value), count in counts.items()]


def number_of(value: Any, *, holds_text: bool) -> Number:
    """Return a whole number, or what the value is instead: "missing", "fraction" (also inf) or "name"."""
    if isinstance(value, str):
        if not holds_text:
            return "name" if value.strip() else "missing"
        if value.isdecimal() and value.isascii() and (value == "0" or value[0] != "0"):
            return int(value) if len(value) < 20 else "name"  # longer ones are identifiers
        if value.strip().lower() in _BLANKS:
            return "missing"
        if not is_number(value):
            return "name"
        value = float(value)
    if value is None:
        return "missing"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "name"
    if isinstance(value, int):
        return value
    if math.isnan(value):
        return "missing"
    return int(value) if abs(value) < _LARGEST_EXACT and value.is_integer() else "fraction"


def atoms(values: Iterable[Any], separator: str | None) -> Iterator[Any]:
    """Yield single labels: the elements of lists, and the parts of separated texts."""
    for value in values:
        if isinstance(value, list):
            yield from value
        elif separator and isinstance(value, str):
            yield from (part.strip() for part in value.split(separator))
        else:
            yield value
