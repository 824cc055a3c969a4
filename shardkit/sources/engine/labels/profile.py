"""Judge from the first records whether a column holds classes, numbers, or something else.

Columns of 0 and 1 say whether the class of their name applies to an image; among them are one-hot columns.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.sources.engine.labels.numbers import Numbers, atoms, numbers_in
from shardkit.sources.engine.labels.reading import CROSSES, INDICATORS, SIGNED_INDICATORS, UNCERTAIN, Labels, word_of
from shardkit.sources.formats.tables.records import Record, TableFile
from shardkit.sources.formats.tables.text_files import names_image
from shardkit.sources.formats.tables.values import as_text
from shardkit.sources.options import SourceOptions

FEW_RECORDS = 20  # of fewer records all classes may differ
MAX_REPEATED = 0.95  # share of different values among the records above which they are names of single images
_SEPARATORS = ("|", ";", ",", " ")
_TAGS = re.compile(r"(?:tags|keywords|attributes|findings?)(?:[ _-]?labels)?$", re.IGNORECASE)
_SEVERAL = re.compile(r"(?:^|[ _-])(?:labels|classes|categories|genres)$", re.IGNORECASE)
# A date of digits, with or without a time; a year alone may be a class.
_DATE = re.compile(
    r"(?:[0-9]{4}[-./:][0-9]{1,2}[-./:][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2,4})"
    r"(?:[T ,]+[0-9:.,+Z -]*(?:[AP]M)?)?",
    re.IGNORECASE,
)
_LINK = re.compile("https?://", re.IGNORECASE)
_TRUE = {word for word, applies in INDICATORS.items() if applies}


@dataclass(frozen=True, slots=True)
class Profile:
    """What the first records hold in a column."""

    num_present: int
    num_distinct: int
    has_objects: bool  # whether some value is an object or a list of lists
    numbers: Numbers  # what the values are as numbers

    @property
    def repeats(self) -> bool:
        """Whether values repeat as classes do, or there are too few records to tell."""
        if not self.num_present or self.has_objects:
            return False
        return self.num_present < FEW_RECORDS or self.num_distinct <= MAX_REPEATED * self.num_present

    @property
    def may_be_label(self) -> bool:
        return self.repeats or (self.numbers.has_fractions and not self.numbers.has_names)


def are_of_single_images(values: Iterable[Any]) -> bool:
    """Return whether all values that are not missing are names of images, such as masks, or dates, or links."""
    texts = [str(value).strip() for value in values if value not in (None, "")]
    return bool(texts) and any(all(map(is_one, texts)) for is_one in (names_image, _DATE.fullmatch, _LINK.match))


def profile_of(file: TableFile, prefix: Sequence[Record], column: int) -> Profile:
    """Return what the first records hold in a column."""
    values = [record.values[column] for record in prefix]
    single = list(atoms(values, None))
    texts = [text for one in single if (text := _text(one)) is not None]
    counts = Counter(text for text in texts if text.strip())
    numbers = numbers_in((one for one in single if not isinstance(one, list | dict)), holds_text=file.holds_text)
    return Profile(sum(counts.values()), len(counts), len(texts) < len(single), numbers)


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
        if alone & parts and (separator in "|;" or (separator == " " and _SEVERAL.search(column))):
            return separator
        num_parts = sum(len(text.split(separator)) for text in several)
        if are_tags and several and (separator in "|;" or len(parts) < num_parts):
            return separator
    return None


def is_sure(separator: str, values: Sequence[Any], column: str) -> bool:
    """Return whether texts with a separator are several classes: no class is called ``cat|dog``, and tags are several.

    A column in the plural holds several classes if splitting gives fewer names than there are texts: the class
    ``hockey`` next to ``field hockey`` is no part of it.
    """
    if separator in "|;" or _TAGS.search(column) is not None:
        return True
    texts = {value.strip() for value in values if isinstance(value, str) and value.strip()}
    parts = {part for text in texts for part in text.split(separator)}
    return separator == " " and _SEVERAL.search(column) is not None and len(parts) < len(texts)


def decide_indicators(
    file: TableFile,
    prefix: Sequence[Record],
    columns: tuple[int, ...],
    options: SourceOptions,
    read_all: Callable[[frozenset[int]], Iterable[Record]],
) -> Labels | None:
    """Return how columns of 0 and 1 (or -1 and 1) are read; None if they hold other values.

    Columns that the user names give several classes per image; those that shardkit finds, and columns with
    `label_type="class"`, give one class if every record has exactly one 1.
    """
    words = {word for i in columns for word in words_of(prefix, i)}
    names = tuple(file.columns[i] for i in columns)
    if options.uncertain and words - {""} and words <= INDICATORS.keys() | UNCERTAIN:
        return Labels(columns, names, "indicators", None, (), 0, uncertain=options.uncertain)
    if not words - {""} or not any(words <= known.keys() for known in (INDICATORS, SIGNED_INDICATORS)):
        return None
    signed = not words <= INDICATORS.keys()
    may_be_one_hot = options.label_type == "class" or not options.label_columns
    is_one_hot = may_be_one_hot and have_one_each(prefix, columns)
    if is_one_hot:
        is_one_hot = have_one_each(read_all(frozenset(columns)), columns)
    return Labels(columns, names, "one-hot" if is_one_hot else "indicators", None, (), 0, signed=signed)


def indicator_columns(prefix: Sequence[Record], columns: Iterable[int]) -> tuple[int, ...]:
    """Return the columns that hold only 0 and 1, or only -1 and 1, in every one of the first records."""
    found = {i: words_of(prefix, i) for i in columns}
    plain = tuple(
        i
        for i, words in found.items()
        if words and (words <= INDICATORS.keys() - {""} or set() < words - {""} <= CROSSES)
    )
    signed = tuple(i for i, words in found.items() if words and words <= SIGNED_INDICATORS.keys())
    # A column of ones only is both.
    return signed if len(signed) > len(plain) else plain


def are_uncertain(prefix: Sequence[Record], columns: Iterable[int]) -> bool:
    """Return whether columns of 0 and 1 hold -1, too, in some of the first records."""
    words = {word for i in columns for word in words_of(prefix, i)}
    return bool(words & UNCERTAIN) and words <= INDICATORS.keys() | UNCERTAIN and not words <= SIGNED_INDICATORS.keys()


def words_of(records: Iterable[Record], column: int) -> set[str]:
    """Return the different values of a column as lower-case text; lists and objects as the text ``[``."""
    return {word_of(record.values[column]) for record in records if record.problem is None}


def have_one_each(records: Iterable[Record], columns: tuple[int, ...]) -> bool:
    """Return whether exactly one of the columns applies in every record."""
    return all(
        sum(word_of(record.values[i]) in _TRUE for i in columns) == 1 for record in records if record.problem is None
    )
