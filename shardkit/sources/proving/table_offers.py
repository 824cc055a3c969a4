"""Offer readings by the tables and lists that name images, folders, or beginnings of names."""

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.naming import printable
from shardkit.sources.engine.splits import split_of_name, split_of_word, words_of
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, SPLIT_COLUMNS, named_like
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS, open_table_file
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.proving.label_columns import is_other
from shardkit.sources.proving.path_offers import (
    Offer,
    depth_of,
    first_names,
    ignoring,
    is_beside,
    levels,
    oddness,
    split_level,
)
from shardkit.sources.readings.values import (
    Column,
    Images,
    Labels,
    Listed,
    PathPart,
    Reading,
)
from shardkit.sources.recognising.claims.collecting import NamingFile, naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames, plain_word
from shardkit.sources.recognising.folders.split_folders import mentioned_split
from shardkit.sources.recognising.tables.places import naming_of
from shardkit.sources.walking import ending, files_below, parent_of, stem_of

_MAX_IMAGES = 20_000  # whose paths are looked at
_MAX_TABLES = 4
_MAX_SHOWN = 3
_FEW = 5  # records of a table of corrections
_SEPARATOR = re.compile(r"[ _.-]")
_MARKS = frozenset({"0", "1", "0.0", "1.0", "True", "False", "true", "false", "yes", "no", ""})
_SAYS_YES = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}
_UNCERTAIN = frozenset({"-1", "-1.0"})
_MINUS_ONE = {"negative": "; -1 is 0", "positive": "; -1 is 1", "drop": "; without images that have a -1"}
_OF_BOXES = re.compile(r"[xywh][0-9]?|(?:x|y|b?box)[_ -]?(?:min|max|cent(?:er|re)|[0-9])|width|height", re.IGNORECASE)
_NAMES = ("class", "label", "name", "categor", "legend", "klasse", "clase", "classe")  # of files with names of classes


def tables_that_name(opening: Opening, names: ImageNames) -> list[NamingFile]:
    """Return the tables and lists that name images."""
    try:
        files = naming_files(opening.folder, opening.excluded, names)
    except ShardkitError:
        return []
    return [one for one in files if one.file is not None and opening.file in {None, one.path}]


def lists_of_splits(files: Sequence[NamingFile]) -> Listed | None:
    """Return the splits that lists of names are called like; the images in none of them are for training."""
    lists = {one.path: split for one in files if not one.others and (split := mentioned_split(one.path))}
    return Listed(lists, rest=None if "train" in lists.values() else "train") if lists else None


def with_lists(offer: Offer, lists: Listed) -> Offer:
    """Return an offer with the splits of lists, if it has none."""
    if offer.reading.split is not None:
        return offer
    return Offer(replace(offer.reading, split=lists), f"{offer.meaning}; {splits_said(lists)}")


def splits_said(lists: Listed) -> str:
    """Return what lists give, for a message."""
    others = f", all others are {lists.rest}" if lists.rest else ""
    return f"splits from {first_names([*lists.lists], '')}{others}"


def of_tables(
    opening: Opening, files: Sequence[NamingFile], names: ImageNames, base: Reading, paths: Sequence[str]
) -> Iterator[Offer]:
    """Yield a reading for each column that may be the label of a table that names images; and for lists of classes."""
    found = []
    for one in files[:_MAX_TABLES]:
        key = (*_folder_column(one), one.titles[one.column])
        folders = _folders_of_same_names(one) if len(key) == 1 else []
        for rank, whole in _of_table(opening, one, key, base, paths):
            found += [(rank, offer) for offer in [*_only_in(whole, folders)] or [whole]]
    if opening.file is None:
        found += _of_folders(opening, {one.path for one in files}, names, base)
    yield from (offer for _, offer in sorted(found, key=lambda one: one[0]))
    of_classes = {one.path: stem_of(one.path) for one in files if not (one.others or mentioned_split(one.path))}
    if base.label is None and len({*of_classes.values()}) > 1:
        yield Offer(
            Reading(label=Labels(Listed(of_classes)), archives=base.archives),
            f"the classes are the names of {first_names([*of_classes], '')}, which list their images",
        )


def _folder_column(one: NamingFile) -> tuple[str, ...]:
    """Return the column with the folders of images whose names are in several; () for none."""
    if all(len(found.paths) == 1 for found in one.found.values()):
        return ()
    for i, title in enumerate(one.titles):
        ends = (f"/{one.rows[n][i]}/{one.rows[n][one.column]}" for n in one.found)
        places = zip(ends, one.found.values(), strict=True)
        if i != one.column and all(any(f"/{path}".endswith(end) for path in found.paths) for end, found in places):
            return (title,)
    return ()


def _folders_of_same_names(one: NamingFile) -> list[str]:
    """Return the few folders that have images of the same names, the likely ones first; none if there are many."""
    folders = {parent_of(path) for found in one.named.values() if len(found.paths) > 1 for path in found.paths}
    ordered = sorted(folders, key=lambda name: (is_beside(posixpath.basename(name)), name))
    return ordered if len(ordered) <= _MAX_SHOWN else []


def _only_in(offer: Offer, folders: Sequence[str]) -> Iterator[Offer]:
    """Yield an offer for each of some folders, without the others; none for a single one."""
    for folder in folders if len(folders) > 1 else ():
        others = [f"/{other}/" for other in sorted(folders) if other != folder]
        yield Offer(ignoring(offer.reading, others), f"{offer.meaning}, only {printable(folder)}/", is_whole=True)


def _of_table(
    opening: Opening, one: NamingFile, key: tuple[str, ...], base: Reading, paths: Sequence[str]
) -> Iterator[tuple[tuple[int, ...], Offer]]:
    """Yield readings by the columns of a table, with their ranks; the images are named by one or two columns."""
    titles = one.titles
    origin = Column((), (one.path,), key, strip=naming_of(one.named).strip if len(key) == 1 else ())
    split = _split_of(titles, origin, one.rows)
    numbers = itertools.count()

    def offer(title: str, column: Column, where: str, unlikely: int = 0, **label: Any) -> tuple[tuple[int, ...], Offer]:
        reading = Reading(Images(unnamed="ignore"), Labels(column, **label), split, archives=base.archives)
        what = f"the label is column {title!r} of {where}"
        return (_rank(title), unlikely, next(numbers)), Offer(reading, what, is_whole=num_named >= num_plain)

    where, num_named = printable(one.path), len({*one.named}) if one.is_whole else 0
    num_plain = sum(not any(map(is_beside, path.split("/")[:-1])) for path in paths)  # beside them may be masks of them
    known = base.label.origin if base.label else None
    recognised = known.column if isinstance(known, Column) and one.path in known.files else ()
    is_of_all = opening.file is not None or num_named >= len(paths)
    rest = None if is_of_all else _folder_of_classes(base)
    parts = [path.split("/")[:-1] for path in paths] if rest is not None else []
    names_of_folders, folders = {name for some in parts for name in some}, split_level(levels(parts))
    marks = [
        title
        for i, title in enumerate(titles)
        if title and i != one.column and {str(row[i]) for row in one.rows} <= _MARKS | _UNCERTAIN
    ]
    chosen = tuple(title for title in marks if not is_other(title))
    if len(chosen) > 1 and {*chosen} != {*recognised}:
        marked = {str(row[titles.index(title)]) for title in chosen for row in one.rows}
        for minus_one, what in _MINUS_ONE.items() if marked & _UNCERTAIN else ((None, ""),):
            more = f"{where}, and {len(chosen) - 1} more{what}"
            yield offer(chosen[0], replace(origin, column=chosen), more, minus_one=minus_one)
    for i, title in enumerate(titles):
        values = [str(row[i]) for row in one.rows if row[i] not in (None, "")]
        is_split = bool(named_like([title], SPLIT_COLUMNS)) or (split is not None and split.column == (title,))
        if i == one.column or not title or is_split or _OF_BOXES.fullmatch(title):
            continue
        column = replace(origin, column=(title,))
        are_numbers = all(value.isdecimal() for value in values)
        if are_numbers and (len({*values}) > _FEW or title in recognised):
            unlikely = oddness(values) if base.label is None and not _may_divide(values) else _FEW
            yield offer(title, column, f"{where}, a number for regression", unlikely, kind="number")
        if not _may_divide(values):
            continue
        if are_numbers:
            for path, first in itertools.product(files_of_names(opening), (None, 0, min(map(int, values)))):
                if first is None or ending(path) == ".txt":
                    what = f"{where}; {printable(path)} names the numbers{'' if first is None else f' from {first} on'}"
                    yield offer(title, column, what, oddness(values), names=path, first=first)
        yield offer(title, column, where, oddness(values))
        if rest is not None and not names_of_folders.isdisjoint(values):
            rank, found = offer(title, replace(column, rest=rest), f"{where}, for all other images it is their folder")
            yield rank, replace(found, reading=replace(found.reading, split=split or folders))
    for path, others in _tables_to_join(opening, one):
        for title, values in others.items():
            column = replace(origin, column=(title,), via=(path,))
            yield offer(title, column, f"{printable(path)}, joined to {where}", oddness(values))


def _of_folders(
    opening: Opening, naming: set[str], names: ImageNames, base: Reading
) -> Iterator[tuple[tuple[int, ...], Offer]]:
    """Yield readings by tables that name folders or the beginnings of names, such as one row for each patient."""
    starts = {_SEPARATOR.split(posixpath.basename(path))[0] for path in itertools.islice(names.paths(), _MAX_IMAGES)}
    for path, columns, rows in _other_tables(opening, naming):
        for at, key in enumerate(columns):
            texts = {str(row[at]) for row in rows if row[at] not in (None, "")}
            num_named = sum(plain_word(text) in names.folder_names or text in starts for text in texts)
            if not key or not texts or num_named * 2 < len(texts):
                continue
            origin = Column((), (path,), (key,), match="start")
            for number, title in enumerate(columns):
                if number != at and title and _may_divide([str(row[number]) for row in rows]):
                    split = _split_of(columns, origin, rows)
                    reading = Reading(Images(unnamed="ignore"), Labels(replace(origin, column=(title,))), split)
                    meaning = f"the label is column {title!r} of {printable(path)}, a row for each folder"
                    yield (_rank(title), 0, number), Offer(replace(reading, archives=base.archives), meaning)


def _other_tables(opening: Opening, naming: set[str]) -> Iterator[tuple[str, Sequence[str], list[Sequence[Any]]]]:
    """Yield path, columns and first records of the tables that name no image."""
    for path, entry in itertools.islice(files_below(opening.folder, ""), _MAX_IMAGES):
        if ending(entry.name) not in TABLE_ENDINGS or path in naming:
            continue
        try:
            file = open_table_file(opening.folder, path, SourceOptions())
            rows = [record.values for record in itertools.islice(file.all_records(), 200) if record.problem is None]
        except ShardkitError:
            continue
        yield path, file.columns, rows


def _folder_of_classes(base: Reading) -> PathPart | None:
    """Return where the label is in paths from SOURCE, if folders may be classes."""
    if base.label is None or (isinstance(base.label.origin, Column) and base.label.origin.rest is None):
        return PathPart(-1)
    if not isinstance(base.label.origin, PathPart):
        return None
    return replace(base.label.origin, path=base.label.origin.path + depth_of(base))


def _rank(title: str) -> int:
    """Return how unlikely a column is the label, by its name."""
    if is_other(title):
        return 3
    return 0 if named_like([title], LABEL_COLUMNS) else 1 if named_like([title], LIKELY_LABEL_COLUMNS) else 2


def _split_of(titles: Sequence[str], origin: Column, rows: Sequence[Sequence[Any]]) -> Column | None:
    """Return the column of splits, by its name or by its values."""
    if found := named_like(titles, SPLIT_COLUMNS):
        return replace(origin, column=(titles[found[0]],))
    for i, title in enumerate(titles):
        values = sorted({str(row[i]) for row in rows})
        splits = {value: split_meant(value) for value in values}
        if named := next(filter(None, map(split_of_word, words_of(title))), None):  # is_test
            splits = {value: named if _SAYS_YES.get(value.lower()) else "train" for value in values}
            splits = splits if {value.lower() for value in values} <= _SAYS_YES.keys() else {}
        if len({*splits.values()}) > 1 and all(splits.values()):
            return replace(origin, column=(title,), map=splits)
    return None


def split_meant(text: str) -> str | None:
    """Return the split that a text is a word for, or the only one that it begins: ``tr`` for train."""
    begun = [one for one in ("train", "validation", "test") if len(text) > 1 and one.startswith(text.lower())]
    return split_of_name(text) or (begun[0] if len(begun) == 1 else None)


def _may_divide(values: Sequence[str]) -> bool:
    """Return whether values repeat, or are numbers with decimals."""
    num = len({*values})
    return 1 < num <= max(len(values) / 2, _FEW) or (num > 1 and all("." in one or "," in one for one in values))


def _tables_to_join(opening: Opening, one: NamingFile) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield tables that name no image and share a column with one that does, and their other columns that vary."""
    titles = {*one.titles}
    for path, columns, rows in _other_tables(opening, {one.path}):
        common = [title for title in columns if title in titles]
        if len(common) == 1 and common[0] != one.titles[one.column]:
            others = {title: i for i, title in enumerate(columns) if title not in {"", *common}}
            found = {title: [str(row[i]) for row in rows] for title, i in others.items()}
            yield path, {title: values for title, values in found.items() if len({*values}) > 1}


def files_of_names(opening: Opening) -> list[str]:
    """Return the first few files that are called like names of classes."""
    walk = itertools.islice(files_below(opening.folder, ""), _MAX_IMAGES)
    return [
        path
        for path, entry in walk
        if ending(entry.name) in {".json", ".txt"} and any(word in entry.name.lower() for word in _NAMES)
    ][:_MAX_SHOWN]
