"""Enumerate how a source may be read, for a question: without odd folders, by other levels, columns and tables.

Each is a reading that the engine executes and that is planned before it is shown, so a bad one costs only time.
"""

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.naming import first_of, printable
from shardkit.sources.engine.splits import split_of_name
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, SPLIT_COLUMNS, named_like
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS, open_table_file
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.proving.class_names import is_made, odd_names, plain_name
from shardkit.sources.proving.file_forms import unlike_in_files
from shardkit.sources.proving.label_columns import is_other
from shardkit.sources.proving.mask_offers import instead_of_masks
from shardkit.sources.readings.values import (
    Annotation,
    Column,
    Images,
    Labels,
    Listed,
    Origin,
    Paired,
    PathPart,
    PathRegex,
    Reading,
)
from shardkit.sources.recognising.claims.collecting import NamingFile, naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames, plain_word
from shardkit.sources.recognising.folders.folder_names import parts_of_data, without_parts
from shardkit.sources.recognising.folders.masks.pairs import SAYS_MASKS
from shardkit.sources.recognising.folders.name_fields import form_of, guess_pattern
from shardkit.sources.recognising.folders.split_folders import are_splits, is_of_project, mentioned_split
from shardkit.sources.recognising.tables.places import naming_of
from shardkit.sources.walking import ending, files_below, is_image, join, parent_of, stem_of

_MAX_IMAGES = 20_000  # whose paths are looked at
_MAX_TABLES = 4
_MAX_SHOWN = 3
_MAX_LOOSE = 8  # images above folders of classes, such as contact sheets
_MIN_FIELDS = 3  # of names with a quantity: others are a word and a number of the image
_MAX_DIGITS = 5  # of a quantity
_FEW = 5  # records of a table of corrections
_SEPARATOR = re.compile(r"[ _.-]")
_MARKS = frozenset({"0", "1", "0.0", "1.0", "True", "False", "true", "false", "yes", "no", ""})
_UNCERTAIN = frozenset({"-1", "-1.0"})
_MINUS_ONE = {"negative": "; -1 is 0", "positive": "; -1 is 1", "drop": "; without images that have a -1"}
_OF_BOXES = re.compile(r"[xywh][0-9]?|(?:x|y|b?box)[_ -]?(?:min|max|cent(?:er|re)|[0-9])|width|height", re.IGNORECASE)
_NAMES = ("class", "label", "name", "categor", "legend", "klasse", "clase", "classe")  # of files with names of classes


@dataclass(frozen=True, slots=True)
class Offer:
    """A reading that may be meant."""

    reading: Reading
    meaning: str  # what it means, in a few words


def offers(
    opening: Opening,
    recognised: Reading | None,
    counts: Mapping[str, int] = MappingProxyType({}),
    *,
    lacks_annotations: bool = False,
) -> Iterator[Offer]:
    """Yield readings that may be meant, the likely ones first.

    Args:
        opening: The source.
        recognised: The reading that was found, if any.
        counts: Number of its images of each class.
        lacks_annotations: Whether some of its images have no annotation.
    """
    paths = [
        path
        for path, entry in itertools.islice(
            files_below(opening.folder, "", [opening.excluded] if opening.excluded else ()), _MAX_IMAGES
        )
        if is_image(entry.name)
    ]
    base = recognised or Reading()
    names = ImageNames(opening.folder, opening.excluded)
    files = _naming_files(opening, names)
    lists = _lists_of_splits(files)
    if recognised is not None:
        yield from _of_the_same(opening, recognised, paths)
        yield from _in_one_writing(recognised, counts)
        if recognised.boxes is not None and lacks_annotations:
            yield Offer(replace(recognised, without_annotation="ignore"), "without the images that have no annotation")
            negatives = replace(recognised, without_annotation="negative")
            yield Offer(negatives, "images without annotation have no objects")
    of_paths = itertools.chain(
        _without_labels(paths, base),
        _of_levels(paths, base) if opening.file is None and base.mask is None else (),
        _of_names(paths, base) if opening.file is None and base.boxes is None and base.mask is None else (),
    )
    others = itertools.chain(
        _of_tables(opening, files, names, base, paths),
        [Offer(replace(base, split=lists), _splits_said(lists))] if lists and base.label else (),
        (_with_lists(one, lists) for one in of_paths) if lists else of_paths,
    )
    # What has boxes is seldom meant to be read without.
    yield from (replace(one, meaning=f"{one.meaning}; without boxes") if base.boxes else one for one in others)


def _of_the_same(opening: Opening, reading: Reading, paths: list[str]) -> Iterator[Offer]:
    """Yield the reading without odd folders or rival files, with names for its numbers, or with other policies."""
    for name, origin in reading.facts():
        if isinstance(origin, Annotation):
            yield from _of_annotations(opening, reading, name, origin)
        elif isinstance(origin, Paired):
            yield from (Offer(*one) for one in instead_of_masks(opening, reading, origin, paths))
    label = reading.label
    if label is None or not isinstance(label.origin, PathPart):
        return
    inside, parts = _inside(reading, paths)
    root, index = reading.images.root, label.origin.path
    names = sorted({one[index] for one in parts if len(one) > index})
    deep = sorted({one[index + 1] for one in parts if len(one) > index + 1})
    start = (f"/{root}/" if root else "/") if index == 0 else ""

    def without(some: Sequence[str]) -> Offer:
        return Offer(_ignoring(reading, [f"{start}{name}/" for name in some]), f"without {_shown(some)}")

    if isinstance(reading.split, PathPart):
        yield from _of_splits(reading, reading.split, parts)
    if (odd := odd_names(names)) and len(odd) < len(names) - 1:
        yield without(odd)
        yield from (without([name]) for name in odd if 1 < len(odd) <= _MAX_SHOWN)
    nested = sorted(
        {one[index] for one in parts if len(one) > index + 1} - {one[index] for one in parts if len(one) == index + 1}
    )
    if 0 < len(nested) <= _MAX_SHOWN and len(nested) < len(names) - 1:
        yield without(nested)
    # Not if they are classes of a copy further down.
    if not {*deep} <= {*names} and any(len(one) == index + 1 for one in parts):
        inner = replace(reading, label=replace(label, origin=PathPart(-1)))
        yield Offer(inner, f"the class is the last folder: {_shown(deep)}")
    if 0 < len(deep) <= _MAX_SHOWN and any(len(one) == index + 1 for one in parts):
        yield Offer(_ignoring(reading, [f"{name}/" for name in deep]), f"without {_shown(deep)}")
    parts_of_names = {name: without_parts(name) for name in names}
    if all(parts_of_names.values()) and 1 < len({*parts_of_names.values()}) < len(names):
        splits = {name: mentioned_split(name) for name in names}
        split = PathPart(index, splits) if all(splits.values()) else reading.split
        named = replace(reading, label=replace(label, origin=PathPart(index, parts_of_names)), split=split)
        yield Offer(named, f"the classes are {_shown(sorted({*parts_of_names.values()}), '')}")
    if all(name.isdecimal() for name in names):
        for path in _files_of_names(opening):
            for first in (None, min(map(int, names))) if ending(path) == ".txt" else (None,):
                named = replace(reading, label=replace(label, names=path, first=first))
                yield Offer(named, f"{printable(path)} names the numbers")
    labels = [one[index] if len(one) > index else None for one in parts]
    unlike = unlike_in_files(labels, inside)
    if 0 < len(unlike) < len(names) - 1 and unlike != odd:
        yield without(unlike)


def _without_labels(paths: Sequence[str], base: Reading) -> Iterator[Offer]:
    """Yield the reading without labels if the folders that it takes for classes look like parts of the data."""
    if base.label is None or not isinstance(base.label.origin, PathPart):
        return
    index = base.label.origin.path
    names = sorted({one[index] for one in _inside(base, paths)[1] if len(one) > index})
    if why := parts_of_data(names):
        yield Offer(replace(base, label=None, split=None), f"images without labels: {_shown(names)} {why}")


def _inside(reading: Reading, paths: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the paths of the images below the reading's root, and their folders."""
    start = f"{reading.images.root}/" if reading.images.root else ""
    inside = [path.removeprefix(start) for path in paths if path.startswith(start)]
    return inside, [path.split("/")[:-1] for path in inside]


def _in_one_writing(reading: Reading, counts: Mapping[str, int]) -> Iterator[Offer]:
    """Yield the reading with one class for names in several writings, called as most of its images are."""
    label = reading.label
    if label is None or not isinstance(label.origin, PathPart | Column) or label.kind != "class":
        return
    written = {plain_name(name): name for name in sorted(counts, key=lambda name: (counts[name], name))}
    if twins := {name: usual for name in sorted(counts) if (usual := written[plain_name(name)]) != name}:
        joined = replace(reading, label=replace(label, origin=replace(label.origin, map=twins)))
        yield Offer(joined, f"{_shown([*twins], '')} read as {_shown([*dict.fromkeys(twins.values())], '')}")


def _of_splits(reading: Reading, split: PathPart, parts: Sequence[Sequence[str]]) -> Iterator[Offer]:
    """Yield the reading without the second folder of a split, and with it as the split that is missing."""
    names = sorted({one[split.path] for one in parts if len(one) > split.path})
    splits = {name: found for name in names if (found := split.map.get(name, split_of_name(name)))}
    for number, name in enumerate(splits):
        if split.path or splits[name] not in [*splits.values()][:number]:
            continue
        yield Offer(_ignoring(reading, [f"/{join(reading.images.root, name)}/"]), f"without {_shown([name])}")
        if missing := [one for one in ("validation", "test") if one not in splits.values()]:
            named = replace(reading, split=replace(split, map={**splits, name: missing[0]}))
            yield Offer(named, f"{_shown([name])} is {missing[0]}")


def _of_annotations(opening: Opening, reading: Reading, fact: str, origin: Annotation) -> Iterator[Offer]:
    """Yield each file of annotations alone, the files of another folder, and policies for images without any."""

    def with_files(files: tuple[str, ...]) -> Reading:
        other = replace(origin, files=files)
        if fact == "label" and reading.label is not None:
            return replace(reading, label=replace(reading.label, origin=other))
        return replace(reading, boxes=other) if fact == "boxes" else replace(reading, mask=other)

    if 1 < len(origin.files) <= _MAX_SHOWN:
        for path in origin.files:
            yield Offer(with_files((path,)), f"only {printable(path)}")
    if len(origin.files) == 1 and "*" in origin.files[0]:
        folder, kind = parent_of(origin.files[0]), ending(origin.files[0])
        walk = itertools.islice(files_below(opening.folder, ""), _MAX_IMAGES)
        others = {parent_of(path) for path, entry in walk if ending(entry.name) == kind} - {folder}
        for other in sorted(others)[:_MAX_SHOWN] if folder.strip("*/") else ():
            yield Offer(with_files((f"{other}/*{kind}",)), f"the annotations are those in {printable(other)}/")


def _ignoring(reading: Reading, globs: Sequence[str]) -> Reading:
    return replace(reading, ignore=tuple(dict.fromkeys((*reading.ignore, *globs))))


def _files_of_names(opening: Opening) -> list[str]:
    walk = itertools.islice(files_below(opening.folder, ""), _MAX_IMAGES)
    return [
        path
        for path, entry in walk
        if ending(entry.name) in {".json", ".txt"} and any(word in entry.name.lower() for word in _NAMES)
    ][:_MAX_SHOWN]


def _naming_files(opening: Opening, names: ImageNames) -> list[NamingFile]:
    """Return the tables and lists that name images."""
    try:
        files = naming_files(opening.folder, opening.excluded, names)
    except ShardkitError:
        return []
    return [one for one in files if one.file is not None and opening.file in {None, one.path}]


def _lists_of_splits(files: Sequence[NamingFile]) -> Listed | None:
    """Return the splits that lists of names are called like; the images in none of them are for training."""
    lists = {one.path: split for one in files if not one.others and (split := mentioned_split(one.path))}
    return Listed(lists, rest=None if "train" in lists.values() else "train") if lists else None


def _with_lists(offer: Offer, lists: Listed) -> Offer:
    """Return an offer with the splits of lists, if it has none."""
    if offer.reading.split is not None:
        return offer
    return Offer(replace(offer.reading, split=lists), f"{offer.meaning}; {_splits_said(lists)}")


def _splits_said(lists: Listed) -> str:
    others = f", all others are {lists.rest}" if lists.rest else ""
    return f"splits from {_shown([*lists.lists], '')}{others}"


def _of_tables(
    opening: Opening, files: Sequence[NamingFile], names: ImageNames, base: Reading, paths: Sequence[str]
) -> Iterator[Offer]:
    """Yield a reading for each column that may be the label of a table that names images; and for lists of classes."""
    found = [offer for one in files[:_MAX_TABLES] for offer in _of_table(opening, one, base, paths)]
    if opening.file is None:
        found += _of_folders(opening, {one.path for one in files}, names, base)
    yield from (offer for _, offer in sorted(found, key=lambda one: one[0]))
    of_classes = {one.path: stem_of(one.path) for one in files if not (one.others or mentioned_split(one.path))}
    if base.label is None and len({*of_classes.values()}) > 1:
        yield Offer(
            Reading(label=Labels(Listed(of_classes)), archives=base.archives),
            f"the classes are the names of {_shown([*of_classes], '')}, which list their images",
        )


def _of_table(
    opening: Opening, one: NamingFile, base: Reading, paths: Sequence[str]
) -> Iterator[tuple[tuple[int, ...], Offer]]:
    """Yield readings by the columns of a table, with their ranks."""
    titles = one.titles
    origin = Column((), (one.path,), (titles[one.column],), strip=naming_of(one.named).strip)
    split = _split_of(titles, origin)
    numbers = itertools.count()

    def offer(title: str, column: Column, where: str, oddness: int = 0, **label: Any) -> tuple[tuple[int, ...], Offer]:
        reading = Reading(Images(unnamed="ignore"), Labels(column, **label), split, archives=base.archives)
        return (_rank(title), oddness, next(numbers)), Offer(reading, f"the label is column {title!r} of {where}")

    where = printable(one.path)
    is_of_all = opening.file is not None or (one.is_whole and len({*one.named}) >= len(paths))
    marks = [
        title
        for i, title in enumerate(titles)
        if title and i != one.column and {str(row[i]) for row in one.rows} <= _MARKS | _UNCERTAIN
    ]
    chosen = tuple(title for title in marks if not is_other(title))
    if len(chosen) > 1 and (len(chosen) < len(marks) or base.label is None):
        marked = {str(row[titles.index(title)]) for title in chosen for row in one.rows}
        for minus_one, what in _MINUS_ONE.items() if marked & _UNCERTAIN else ((None, ""),):
            more = f"{where}, and {len(chosen) - 1} more{what}"
            yield offer(chosen[0], replace(origin, column=chosen), more, minus_one=minus_one)
    for i, title in enumerate(titles):
        values = [str(row[i]) for row in one.rows if row[i] not in (None, "")]
        if i == one.column or not title or named_like([title], SPLIT_COLUMNS) or _OF_BOXES.fullmatch(title):
            continue
        column = replace(origin, column=(title,))
        are_numbers = all(value.isdecimal() for value in values)
        if are_numbers and len({*values}) > _FEW:
            oddness = _oddness(values) if base.label is None else _FEW
            yield offer(title, column, f"{where}, a number for regression", oddness, kind="number")
        if not _may_divide(values):
            continue
        if are_numbers:
            for path in _files_of_names(opening):
                yield offer(
                    title, column, f"{where}; {printable(path)} names the numbers", _oddness(values), names=path
                )
        yield offer(title, column, where, _oddness(values))
        if not is_of_all and (rest := _folder_of_classes(base)) is not None:
            rank, found = offer(title, replace(column, rest=rest), f"{where}, for all other images it is their folder")
            folders = _split_level(_levels([path.split("/")[:-1] for path in paths]))
            yield rank, replace(found, reading=replace(found.reading, split=split or folders))
    for path, others in _tables_to_join(opening, one):
        for title, values in others.items():
            column = replace(origin, column=(title,), via=(path,))
            yield offer(title, column, f"{printable(path)}, joined to {where}", _oddness(values))


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
                    split = _split_of(columns, origin)
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
    return replace(base.label.origin, path=base.label.origin.path + _depth(base))


def _depth(base: Reading) -> int:
    return len(base.images.root.split("/")) if base.images.root else 0


def _rank(title: str) -> int:
    """Return how unlikely a column is the label, by its name."""
    if is_other(title):
        return 3
    return 0 if named_like([title], LABEL_COLUMNS) else 1 if named_like([title], LIKELY_LABEL_COLUMNS) else 2


def _split_of(titles: Sequence[str], origin: Column) -> Origin | None:
    found = named_like(titles, SPLIT_COLUMNS)
    return replace(origin, column=(titles[found[0]],)) if found else None


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


def _of_names(paths: list[str], base: Reading) -> Iterator[Offer]:
    """Yield readings by the names of files; without folders for testing if only the other files have labels."""
    tops = {path: path.partition("/")[0] for path in paths if "/" in path}
    tests = sorted({top for top in tops.values() if mentioned_split(top) == "test"})
    labelled = [path for path in paths if tops.get(path) not in tests]
    if (of_all := [*_of_these_names(paths, base)]) or not tests:
        yield from of_all
        return
    for offer in _of_these_names(labelled, base):
        reading = _ignoring(offer.reading, [f"/{name}/" for name in tests])
        yield Offer(reading, f"{offer.meaning}, without {_shown(tests)}")


def _of_these_names(paths: list[str], base: Reading) -> Iterator[Offer]:
    """Yield readings by the words and fields of files' names; fields may also be numbers, as ages are."""
    names = [posixpath.basename(path) for path in paths]
    split = _split_level(_levels([path.split("/")[:-1] for path in paths]))
    form = form_of(names)
    guess = guess_pattern(names)
    patterns = [guess] if guess else []
    if form is not None and form.num_fields >= _MIN_FIELDS:
        fields = [one.pattern for one in form.repeating_fields([*filter(form.fits, names)])]
        patterns += sorted(fields, key=lambda pattern: _oddness([_found(pattern, name) for name in names]))
    for pattern in patterns[:_MAX_SHOWN]:
        reading = Reading(label=Labels(PathRegex(pattern)), split=split, archives=base.archives)
        first = next(name for name in names if re.search(pattern, name))
        yield Offer(
            reading, f"the label is in the file name: {printable(first)} has the class {_found(pattern, first)!r}"
        )
    if form is None or form.num_fields < _MIN_FIELDS or len({*map(parent_of, paths)}) > 1:
        return
    for number in range(1, form.num_fields + 1):
        pattern = form.pattern(number)
        found = [text for name in names if (text := _found(pattern, name))]
        if len({*found}) > 2 and all(text.isdecimal() and len(text) <= _MAX_DIGITS for text in found):
            label = Labels(PathRegex(pattern), kind="number")
            yield Offer(Reading(label=label, archives=base.archives), f"numbers: field {number} of the names")


def _oddness(values: Sequence[str]) -> int:
    """Return how unlikely values are names of classes: words, those with digits or single letters, numbers."""
    if all(value.replace(".", "").isdecimal() for value in values if value):
        return 2
    return 0 if all(len(value) > 1 and not any(map(str.isdigit, value)) for value in values if value) else 1


def _found(pattern: str, name: str) -> str:
    match = re.search(pattern, name)
    return match[1] if match else ""


def _of_levels(paths: list[str], base: Reading) -> Iterator[Offer]:
    """Yield a reading for each level of folders, also without folders that hold none of the images, and in one part."""
    parts = [path.split("/")[:-1] for path in paths]
    at = _first_level(parts)
    tops = sorted({one[at] for one in parts if len(one) > at})
    names = {name for one in parts for name in one}
    loose = _loose(parts)
    if loose is not None:
        inside = [one for one in parts if len(one) > loose]
        few = sorted(path for path in paths if path.count("/") <= loose)
        how = f", without {_shown(few, '')}"
        yield from _of_view(inside, base, [f"/{path}" for path in few], how)
    odd = sorted(name for name in names if SAYS_MASKS.search(name) or is_of_project(name) or is_made(name))
    yield from _of_view(parts, base, [], "")
    if odd:
        inside = [one for one in parts if {*odd}.isdisjoint(one)]
        yield from _of_view(inside, base, [f"{name}/" for name in odd], f", without {_shown(odd)}")
    above = "/" + "".join(f"{name}/" for name in parts[0][:at]) if parts else "/"
    others = [name for name in tops if split_of_name(name) is None]
    if 0 < len(others) < len(tops) - 1:
        inside = [one for one in parts if len(one) > at and one[at] not in others]
        yield from _of_view(inside, base, [f"{above}{name}/" for name in others], f", without {_shown(others)}")
    if 1 < len(tops) <= _MAX_SHOWN:
        for top in sorted(tops, key=lambda name: (is_made(name), name)):
            others = [name for name in tops if name != top]
            globs = [f"{above}{name}/" for name in others]
            inside = [one for one in parts if len(one) > at and one[at] == top]
            yield from _of_view(inside, base, globs, f", only {printable(top)}/")


def _loose(parts: Sequence[Sequence[str]]) -> int | None:
    """Return the depth of the few images that lie above all others; None if there are none."""
    depths = sorted({len(one) for one in parts})
    if len(depths) < 2:
        return None
    num = sum(len(one) == depths[0] for one in parts)
    return depths[0] if num <= _MAX_LOOSE and num * _FEW <= len(parts) else None


def _first_level(parts: Sequence[Sequence[str]]) -> int:
    """Return the first level at which folders differ."""
    depth = min(map(len, parts), default=0)
    return next((i for i in range(depth) if len({one[i] for one in parts}) > 1), depth)


def _of_view(parts: Sequence[Sequence[str]], base: Reading, ignored: Sequence[str], how: str) -> Iterator[Offer]:
    many = _levels(parts)
    split = _split_level(many)
    label = base.label.origin.path if base.label and isinstance(base.label.origin, PathPart) else None
    root = _depth(base)
    for i, names in sorted(many.items(), reverse=True):
        is_split = split is not None and i == split.path
        if not is_split and not are_splits(names) and (label is None or i != label + root or ignored):
            ignore = tuple(dict.fromkeys((*base.ignore, *ignored)))
            reading = Reading(label=Labels(PathPart(i)), split=split, ignore=ignore, archives=base.archives)
            yield Offer(reading, f"the class is {_shown(names)}{how}")


def _levels(parts: Sequence[Sequence[str]]) -> dict[int, list[str]]:
    """Return the names of folders at each level that differ."""
    depth = min(map(len, parts), default=0)
    levels = {i: sorted({one[i] for one in parts}) for i in range(depth)}
    return {i: names for i, names in levels.items() if len(names) > 1}


def _split_level(levels: Mapping[int, Sequence[str]]) -> PathPart | None:
    """Return the splits that folders of the first such level mean."""
    found = ((i, _splits_among(names)) for i, names in levels.items())
    return next((PathPart(i, splits) for i, splits in found if splits), None)


def _splits_among(names: Sequence[str]) -> dict[str, str] | None:
    """Return the split of each name; one that is no word for a split is that which is missing."""
    found = {name: split_of_name(name) or mentioned_split(name) for name in names}
    known = {split for split in found.values() if split}
    unknown = [name for name, split in found.items() if not split]
    missing = [split for split in ("train", "test", "validation") if split not in known]
    if not known or len(unknown) > 1 or len(names) > _MAX_SHOWN + 1 or (unknown and not missing):
        return None
    return {name: split or missing[0] for name, split in found.items()}


def _shown(names: Sequence[str], end: str = "/") -> str:
    return first_of([f"{printable(name)}{end}" for name in names], _MAX_SHOWN)
