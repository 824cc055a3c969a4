"""Recognise columns that say whether the class of their name applies to an image, and one-hot columns among them."""

from collections.abc import Callable, Iterable, Sequence

from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.formats.records import Record, TableFile
from shardkit.sources.tables.formats.values import as_text
from shardkit.sources.tables.labels.reading import INDICATORS, SIGNED_INDICATORS, Labels

_TRUE = {word for word, applies in INDICATORS.items() if applies}


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

    Args:
        file: The table.
        prefix: Its first records.
        columns: The columns.
        options: Options of the source.
        read_all: Yields all records.
    """
    words = {word for i in columns for word in words_of(prefix, i)}
    if not words - {""} or not any(words <= known.keys() for known in (INDICATORS, SIGNED_INDICATORS)):
        return None
    signed = not words <= INDICATORS.keys()
    names = tuple(file.columns[i] for i in columns)
    may_be_one_hot = options.label_type == "class" or not options.label_columns
    is_one_hot = may_be_one_hot and have_one_each(prefix, columns)
    if is_one_hot:
        is_one_hot = have_one_each(read_all(frozenset(columns)), columns)
    return Labels(columns, names, "one-hot" if is_one_hot else "indicators", None, (), 0, signed=signed)


def indicator_columns(prefix: Sequence[Record], columns: Iterable[int]) -> tuple[int, ...]:
    """Return the columns that hold only 0 and 1, or only -1 and 1, in every one of the first records."""
    found = {i: words_of(prefix, i) for i in columns}
    plain = tuple(i for i, words in found.items() if words and words <= INDICATORS.keys() - {""})
    signed = tuple(i for i, words in found.items() if words and words <= SIGNED_INDICATORS.keys())
    # A column of ones only is both.
    return signed if len(signed) > len(plain) else plain


def words_of(records: Iterable[Record], column: int) -> set[str]:
    """Return the different values of a column as lower-case text; lists and objects as the text ``[``."""
    return {_word(record.values[column]) for record in records if record.problem is None}


def _word(value: object) -> str:
    try:
        return as_text(value).strip().lower()
    except ValueError:
        return "["


def have_one_each(records: Iterable[Record], columns: tuple[int, ...]) -> bool:
    """Return whether exactly one of the columns applies in every record."""
    return all(
        sum(_word(record.values[i]) in _TRUE for i in columns) == 1 for record in records if record.problem is None
    )
