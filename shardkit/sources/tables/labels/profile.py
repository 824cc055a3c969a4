"""Judge from the first records whether a column holds classes, numbers, or something else."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.sources.tables.formats.records import Record, TableFile
from shardkit.sources.tables.formats.values import as_text
from shardkit.sources.tables.labels.numbers import Numbers, atoms, numbers_in

FEW_RECORDS = 20  # of fewer records all classes may differ
MAX_REPEATED = 0.95  # share of different values among the records above which they are names of single images
_SEPARATORS = ("|", ";", ",", " ")
_TAGS = re.compile(r"(?:tags|keywords|attributes|findings?)(?:[ _-]?labels)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Profile:
    """What the first records hold in a column.

    Attributes:
        num_present: Number of values that are not missing.
        num_distinct: Number of different values.
        has_lists: Whether some value is a list.
        has_objects: Whether some value is an object or a list of lists.
        numbers: What the values are as numbers.
    """

    num_present: int
    num_distinct: int
    has_lists: bool
    has_objects: bool
    numbers: Numbers

    @property
    def repeats(self) -> bool:
        """Whether values repeat as classes do, or there are too few records to tell."""
        if not self.num_present or self.has_objects:
            return False
        return self.num_present < FEW_RECORDS or self.num_distinct <= MAX_REPEATED * self.num_present

    @property
    def may_be_label(self) -> bool:
        """Whether the column may hold labels: values repeat, or are numbers with fractions."""
        return self.repeats or (self.numbers.has_fractions and not self.numbers.has_names)


def profile_of(file: TableFile, prefix: Sequence[Record], column: int) -> Profile:
    """Return what the first records hold in a column."""
    values = [record.values[column] for record in prefix]
    single = list(atoms(values, None))
    texts = [text for one in single if (text := _text(one)) is not None]
    counts = Counter(text for text in texts if text.strip())
    numbers = numbers_in((one for one in single if not isinstance(one, list | dict)), holds_text=file.holds_text)
    has_lists = any(isinstance(value, list) for value in values)
    return Profile(sum(counts.values()), len(counts), has_lists, len(texts) < len(single), numbers)


def _text(value: Any) -> str | None:
    try:
        return as_text(value)
    except ValueError:
        return None


def separator_in(values: Sequence[Any], column: str) -> str | None:
    """Return the separator if texts look like several class names each, such as ``scab rust``; else None.

    They do if splitting gives fewer different names than there are texts. Commas and blanks are common inside names, so
    that some text has to be one of the names alone; not in a column with a name such as ``tags``, whose words repeat.
    """
    are_tags = _TAGS.search(column) is not None
    texts = {value.strip() for value in values if isinstance(value, str) and value.strip()}
    for separator in _SEPARATORS:
        several = {text for text in texts if separator in text}
        parts = {part.strip() for text in several for part in text.split(separator)} - {""}
        alone = texts - several
        is_clear = separator in "|;" or alone & parts
        if len(several) > 1 and is_clear and len(alone | parts) < len(texts):
            return separator
        num_parts = sum(len(text.split(separator)) for text in several)
        if are_tags and several and (separator in "|;" or len(parts) < num_parts):
            return separator
    return None
