"""Decide how the labels of chosen columns are read: as classes, as several classes, or as numbers for regression."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.options.words import named
from shardkit.sources.engine.labels.numbers import Numbers, atoms, numbers_in
from shardkit.sources.engine.labels.profile import are_uncertain, decide_indicators, is_sure, profile_of, separator_in
from shardkit.sources.engine.labels.reading import Labels, choices_in, column_phrase
from shardkit.sources.formats.column_names import is_called_like_classes
from shardkit.sources.formats.tables.opening import Choice, readings_of_uncertain, refuse
from shardkit.sources.formats.tables.records import Record, TableFile
from shardkit.sources.formats.tables.text_files import names_image
from shardkit.sources.formats.tables.values import is_number, shown
from shardkit.sources.options import SourceOptions

# Yields all records of a source, with values of the given columns.
ReadAll = Callable[[frozenset[int]], Iterable[Record]]
_LIST = re.compile(r"\[.*\]|\{.*\}|\(.*\)", re.DOTALL)  # as str() of a list, set or tuple in a CSV file
FEW_CLASSES = 50  # more different whole numbers than this may be quantities, such as ages
_RECORDS_PER_CLASS = 10  # a column with a usual name for classes may have more of them: one per this many records
_MANY_RECORDS = 50  # records from which on labels that all differ are names of single images, or captions


def decide_labels(
    file: TableFile,
    prefix: Sequence[Record],
    columns: tuple[int, ...],
    options: SourceOptions,
    read_all: ReadAll,
    source: str,
) -> Labels:
    """Decide how labels are read, from the first records, and for whole numbers from all records."""
    names = tuple(file.columns[i] for i in columns)
    found = [[record.values[i] for record in prefix] for i in columns]
    present = [value for column in found for value in column if value is not None and value != "" and _is_label(value)]
    if present and all(isinstance(value, str) and names_image(value.strip()) for value in present):
        problem = f"{file.url}: {column_phrase(names)} names of images such as {shown(present[0])}, which are no labels"
        remedy = (
            f"if they are masks, give the folder of both with {named('layout', 'masks')}; else name the label's column"
        )
        raise DataError(f"{problem}; {remedy} with {named('label_columns')}")
    separator = options.label_separator
    if separator is not None and (not separator or options.label_type == "number"):
        msg = (
            f"{named('label_separator')} must not be empty and cannot be combined with {named('label_type', 'number')}"
        )
        raise CallError(msg)
    if separator is None and len(columns) == 1 and options.label_type == "auto":
        guess = separator_in(found[0], names[0])
        separator = guess if guess and is_sure(guess, found[0], names[0]) else None
    types = file.types(prefix, columns)
    # Columns of types that cannot be stored are not even read; a few odd values only reject their records.
    if not present and any(types[i] is None for i in columns):
        problem = f"{file.url}: {column_phrase(names)} neither text nor numbers"
        raise DataError(f"{problem}; name the label's column with {named('label_columns')}")
    if options.uncertain:
        if labels := decide_indicators(file, prefix, columns, options, read_all):
            return labels
        msg = (
            f"{file.url}: {column_phrase(names)} other values than 0, 1, -1 and blanks, which "
            f"{named('uncertain')} is for; name the columns of these with {named('label_columns')}"
        )
        raise CallError(msg)
    if options.label_type == "number":
        return _targets(columns, names, present)
    if len(columns) > 1:
        if options.label_type == "auto" and are_uncertain(prefix, columns):
            problem = f"{file.url}: {column_phrase(names)} 0, 1 and -1, which may mean several things"
            raise refuse(problem, source, readings_of_uncertain(names))
        if not separator and (labels := decide_indicators(file, prefix, columns, options, read_all)):
            return labels
        if options.label_type == "auto" and present and all(_is_number(value) for value in present):
            msg = (
                f"{file.url}: {column_phrase(names)} numbers other than 0 and 1; add "
                f"{named('label_type', 'number')} or class"
            )
            raise DataError(msg)
    has_choices = options.label_type == "auto" and any(isinstance(one, str) and choices_in(one) for one in present)
    several = len(columns) > 1 or separator is not None or has_choices or _are_lists(types[columns[0]], present)
    class_names = file.class_names(columns[0]) if len(columns) == 1 else ()
    if class_names:
        return Labels(columns, names, "classes" if several else "class", separator, class_names, 0)
    numbers = _numbers(file, prefix, columns, separator, read_all)
    is_one_list = several and len(columns) == 1 and not separator and any(present) and _hold_one_each(present)
    every = (one.values[columns[0]] for one in read_all(frozenset(columns)) if one.problem is None)
    if is_one_list and _hold_one_each(every):
        return Labels(columns, names, "class", None, (), 0)
    if several:
        if len(columns) == 1 and not separator and options.label_type == "auto" and _are_float_lists(present):
            return _targets(columns, names, present)
        lines = _lines(file, names, numbers, options) if numbers and numbers.are_whole else ()
        return Labels(columns, names, "classes", separator, lines, 0, whole=bool(lines))
    if options.label_type == "auto":
        if numbers and numbers.has_fractions and not numbers.has_names:
            return _targets(columns, names, present)
        _refuse_unclear(file, prefix, columns[0], numbers, source)
    if numbers is None or numbers.has_names or numbers.has_fractions:
        return Labels(columns, names, "class", None, (), 0)
    return Labels(columns, names, "class", None, _lines(file, names, numbers, options), 0, whole=True)


def _targets(columns: tuple[int, ...], names: tuple[str, ...], present: Sequence[Any]) -> Labels:
    width = max((len(value) if isinstance(value, list) else 1 for value in present), default=1) or 1
    return Labels(columns, names, "numbers", None, (), width if len(columns) == 1 else len(columns))


def _numbers(
    file: TableFile, prefix: Sequence[Record], columns: tuple[int, ...], separator: str | None, read_all: ReadAll
) -> Numbers | None:

    def values(records: Iterable[Record]) -> Iterator[Any]:
        good = (record.values for record in records if record.problem is None)
        single = atoms((one[i] for one in good for i in columns), separator)
        return (one for one in single if not isinstance(one, list | dict))

    first = numbers_in(values(prefix), holds_text=file.holds_text)
    if first.has_words:
        return None
    if first.has_fractions:
        return first
    # Fractions, decimal points and names may come late.
    return numbers_in(values(read_all(frozenset(columns))), holds_text=file.holds_text)


def _lines(file: TableFile, names: tuple[str, ...], numbers: Numbers, options: SourceOptions) -> tuple[str, ...]:
    """Return the names of whole numbers: the lines of `classes`; () if the numbers are names themselves."""
    classes = options.classes or ()
    if not classes or {str(number) for number in numbers.whole} <= set(classes):
        return ()
    low, high = min(numbers.whole), max(numbers.whole)
    if low >= 0 and high < len(classes):
        return classes
    problem = (
        f"{file.url}: {column_phrase(names)} integers from {low} to {high}, and {named('classes')} names "
        f"{len(classes)} "
        f"classes by line, from 0 to {len(classes) - 1}"
    )
    if (low, high) == (1, len(classes)):
        first, last = shown(classes[0]), shown(classes[-1])
        remedy = (
            f"if 1 is {first} and {high} is {last}, the table counts from 1: subtract 1 from its labels, or put a line "
            "for 0 above the first name (a class without images)"
        )
    else:
        remedy = "add the missing lines, or correct the labels"
    msg = f"{problem}; {remedy}"
    raise CallError(msg)


def _refuse_unclear(
    file: TableFile, prefix: Sequence[Record], column: int, numbers: Numbers | None, source: str
) -> None:
    name = file.columns[column]
    chosen = {"label_columns": (name,)}
    as_class = Choice({**chosen, "label_type": "class"}, "each value is a class")
    if numbers and numbers.are_whole:
        enough = numbers.num_present / _RECORDS_PER_CLASS if is_called_like_classes(name) else 0
        if len(numbers.whole) > max(FEW_CLASSES, enough):
            as_number = Choice({**chosen, "label_type": "number"}, "a quantity, for regression")
            problem = (
                f"{file.url}: column {name!r} holds {len(numbers.whole):,} different integers from "
                f"{min(numbers.whole):,} to {max(numbers.whole):,}, which may be classes or a quantity"
            )
            both = [as_class, as_number] if is_called_like_classes(name) else [as_number, as_class]
            raise refuse(problem, source, both)
        return
    profile = profile_of(file, prefix, column)
    if profile.num_present >= _MANY_RECORDS and profile.num_distinct == profile.num_present:
        number = f"{profile.num_present:,}"
        problem = f"{file.url}: column {name!r} holds a different label in each of the first {number} records"
        others = [
            Choice({"label_columns": (other,)}, f"the class is in column {other!r}")
            for i, other in enumerate(file.columns)
            if other and i != column and _repeats(file, prefix, i)
        ]
        raise refuse(problem, source, [*others[:3], as_class])
    values = [record.values[column] for record in prefix]
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    if texts and all(_LIST.fullmatch(text) for text in texts):
        problem = f"{file.url}: column {name!r} holds lists as text, such as {shown(texts[0])}"
        remedy = f"write them as lists into JSON Lines or Parquet, or as 'cat;dog' with {named('label_separator', ';')}"
        raise refuse(problem, source, [as_class._replace(meaning="each text is a class")], remedy=remedy)
    if separator := separator_in(values, name):
        example = shown(next(text for text in texts if separator in text))
        several = Choice({**chosen, "label_separator": separator}, f"several classes, separated by {separator!r}")
        problem = f"{file.url}: column {name!r} holds labels such as {example}: one class, or several"
        raise refuse(problem, source, [several, as_class])


def _repeats(file: TableFile, prefix: Sequence[Record], column: int) -> bool:
    profile = profile_of(file, prefix, column)
    return profile.repeats and profile.num_distinct > 1


def _hold_one_each(values: Iterable[Any]) -> bool:
    """Return whether all values that are not missing are lists of one text, or empty, as of a choice of one."""
    return all(
        isinstance(value, list) and len(value) <= 1 and all(isinstance(one, str) for one in value)
        for value in values
        if value is not None
    )


def _is_label(value: Any) -> bool:
    one_by_one = value if isinstance(value, list) else [value]
    return not any(isinstance(one, list | dict) for one in one_by_one)


def _are_lists(type_: pa.DataType | None, present: Sequence[Any]) -> bool:
    return any(isinstance(value, list) for value in present) or (type_ is not None and pa.types.is_list(type_))


def _are_float_lists(present: Sequence[Any]) -> bool:
    flat = [one for value in present for one in (value if isinstance(value, list) else [value])]
    return all(type(one) in {int, float} for one in flat) and float in map(type, flat)


def _is_number(value: Any) -> bool:
    return is_number(value) if isinstance(value, str) else isinstance(value, int | float)
