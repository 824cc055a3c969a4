"""Enumerate how a source may be read, for a question: without odd folders, by other levels, columns and tables.

Each is a reading that the engine executes and that is planned before it is shown, so a bad one costs only time.
"""

import contextlib
import glob
import itertools
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from shardkit.errors import ShardkitError
from shardkit.naming import printable
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.engine.splits import split_of_name, split_of_word, words_of
from shardkit.sources.formats.box_tables.columns import FIRST_SIDE, BoxForm
from shardkit.sources.formats.class_names import numbered_names
from shardkit.sources.formats.vendors.formats import VENDORS
from shardkit.sources.options import Opening
from shardkit.sources.proving.class_names import is_made, is_sheet, odd_names, plain_name
from shardkit.sources.proving.evidence import Evidence
from shardkit.sources.proving.file_forms import unlike_in_files, views_of
from shardkit.sources.proving.image_contents import copied_classes, copies_apart
from shardkit.sources.proving.label_columns import missing_numbers
from shardkit.sources.proving.mask_offers import instead_of_masks
from shardkit.sources.proving.path_offers import Offer, first_names, folders_inside, ignoring, of_levels, of_names
from shardkit.sources.proving.table_offers import (
    files_of_names,
    lists_of_splits,
    of_tables,
    split_meant,
    splits_said,
    tables_that_name,
    with_lists,
)
from shardkit.sources.proving.words import UNSAID
from shardkit.sources.readings.values import (
    Annotation,
    Column,
    Paired,
    PathPart,
    PathRegex,
    Reading,
)
from shardkit.sources.recognising.archives_in_folders import archive_names
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.detection.of_many_images import other_fields
from shardkit.sources.recognising.folders.folder_names import original_of, parts_of_data, without_parts
from shardkit.sources.recognising.folders.split_folders import mentioned_split
from shardkit.sources.walking import ending, files_below, is_image, join, parent_of

_MAX_IMAGES = 20_000  # whose paths are looked at
_MAX_SHOWN = 3
_MAX_TEXT = 1 << 16  # bytes of a text that may name numbers
_FIRST_WORD = re.compile(r"^([^\W\d_]+)[ ._-]")  # of a name


def offers(opening: Opening, recognised: Reading | None = None, found: Evidence | None = None) -> Iterator[Offer]:
    """Yield readings that may be meant, the likely ones first; with what is known of the one that was recognised."""
    paths = [
        path
        for path, entry in itertools.islice(
            files_below(opening.folder, "", [opening.excluded] if opening.excluded else ()), _MAX_IMAGES
        )
        if is_image(entry.name)
    ]
    base = recognised or Reading(archives=tuple(f"/{path}" for path in archive_names(opening.folder)))
    names = ImageNames(opening.folder, opening.excluded)
    files = tables_that_name(opening, names)
    lists = lists_of_splits(files)
    if recognised is not None and found is not None:
        if copied := [*copied_classes(found)]:
            yield replace(_without_classes(recognised, copied), is_whole=True)
        yield from _of_the_same(opening, recognised, paths)
        yield from _in_one_writing(recognised, found.counts)
        yield from _without_missing(recognised, found)
        yield from _of_short_splits(recognised, {*filter(None, found.splits)})
        if recognised.boxes is not None or recognised.mask is not None:
            yield from _of_policies(recognised, found)
    has_copies = found is not None and next(copies_apart(found), None) is not None
    of_paths = itertools.chain(
        _without_labels(paths, base),
        of_levels(paths, base, has_copies=has_copies) if opening.file is None and base.mask is None else (),
        of_names(paths, base) if opening.file is None and base.boxes is None and base.mask is None else (),
    )
    others = itertools.chain(
        of_tables(opening, files, names, base, paths),
        [Offer(replace(base, split=lists), splits_said(lists))] if lists and base.label else (),
        (with_lists(one, lists) for one in of_paths) if lists else of_paths,
    )
    # What has boxes is seldom meant to be read without.
    yield from (replace(one, meaning=f"{one.meaning}; without boxes") if base.boxes else one for one in others)


def _of_policies(reading: Reading, found: Evidence) -> Iterator[Offer]:
    """Yield what images without annotation may be: some of those beside annotated ones, or in other folders."""
    negative = replace(reading, without_annotation="negative")
    if found.rejected[NO_LABEL]:
        yield Offer(replace(reading, without_annotation="ignore"), "without the images that have no annotation")
        if reading.boxes is not None:
            yield Offer(negative, "images without annotation have no objects")
    if reading.boxes is not None and any(phrase.endswith("no annotation names") for phrase in found.skipped):
        of_all = replace(negative, images=replace(reading.images, unnamed="reject"))
        yield Offer(of_all, "images without annotation have no objects, nor have those in other folders")


def _without_classes(reading: Reading, names: Sequence[str]) -> Offer:
    """Return the reading without the folders of some classes."""
    label = reading.label.origin if reading.label else None
    root = reading.images.root
    start = (f"/{root}/" if root else "/") if isinstance(label, PathPart) and label.path == 0 else ""
    return Offer(ignoring(reading, [f"{start}{name}/" for name in names]), f"without {first_names(names)}")


def _of_the_same(opening: Opening, reading: Reading, paths: list[str]) -> Iterator[Offer]:
    """Yield the reading without odd folders or rival files, with names for its numbers, or with other policies."""
    for name, origin in reading.facts():
        if isinstance(origin, Annotation) and name != "split":
            yield from _of_annotations(opening, reading, origin)
        elif isinstance(origin, Paired):
            yield from instead_of_masks(opening, reading, origin, paths)
    label = reading.label
    if label is None or not isinstance(label.origin, PathPart):
        return
    inside, parts = folders_inside(reading, paths)
    index = label.origin.path
    names = sorted({one[index] for one in parts if len(one) > index})
    deep = sorted({one[index + 1] for one in parts if len(one) > index + 1})
    without = partial(_without_classes, reading)
    if isinstance(reading.split, PathPart):
        yield from _of_splits(reading, reading.split, parts)
    elif reading.split is None:
        yield from _of_first_words(reading, inside)
    for globs in filter(None, (_globs_of_made(inside), _globs_of_first_words(inside))):
        yield Offer(ignoring(reading, globs), f"without {first_names(globs, '')}", is_whole=True)
    views = views_of(inside)
    for view in views if len(views) <= _MAX_SHOWN else ():
        globs = [f"*{other}.*" for other in views if other != view]
        yield Offer(ignoring(reading, globs), f"only files that end with {printable(view)}")
    if (odd := odd_names(names)) and len(odd) < len(names) - 1:
        yield replace(without(odd), is_whole=True)
        yield from (without([name]) for name in odd if 1 < len(odd) <= _MAX_SHOWN)
    nested = sorted(
        {one[index] for one in parts if len(one) > index + 1} - {one[index] for one in parts if len(one) == index + 1}
    )
    if 0 < len(nested) <= _MAX_SHOWN and len(nested) < len(names) - 1:
        yield without(nested)
    # Not if they are classes of a copy further down.
    if not {*deep} <= {*names} and any(len(one) == index + 1 for one in parts):
        inner = replace(reading, label=replace(label, origin=PathPart(-1)))
        yield Offer(inner, f"the class is the last folder: {first_names(deep)}")
    if 0 < len(deep) <= _MAX_SHOWN and any(len(one) == index + 1 for one in parts):
        yield Offer(ignoring(reading, [f"{name}/" for name in deep]), f"without {first_names(deep)}")
    parts_of_names = {name: without_parts(name) for name in names}
    if all(parts_of_names.values()) and 1 < len({*parts_of_names.values()}) < len(names):
        splits = {name: mentioned_split(name) for name in names}
        split = PathPart(index, splits) if all(splits.values()) else reading.split
        named = replace(reading, label=replace(label, origin=PathPart(index, parts_of_names)), split=split)
        yield Offer(named, f"the classes are {first_names(sorted({*parts_of_names.values()}), '')}")
    if all(name.isdecimal() for name in names):
        yield Offer(replace(reading, label=replace(label, kind="number")), "a number for regression")
        for path in dict.fromkeys((*files_of_names(opening), *_files_of_numbers(opening, {*map(int, names)}))):
            for first in (None, min(map(int, names))) if ending(path) == ".txt" else (None,):
                named = replace(reading, label=replace(label, names=path, first=first))
                yield Offer(named, f"{printable(path)} names the numbers")
    labels = [one[index] if len(one) > index else None for one in parts]
    unlike = unlike_in_files(labels, inside)
    if 0 < len(unlike) < len(names) - 1 and unlike != odd:
        yield without(unlike)


def _globs_of_first_words(paths: Sequence[str]) -> list[str]:
    """Return globs of files whose names begin with a word for a copy or a crop; none if many words or all files do."""
    matches = [_FIRST_WORD.match(posixpath.basename(path)) for path in paths]
    words = Counter(match[1] for match in matches if match and is_made(match[1].lower()))
    return [f"{word}*" for word in sorted(words)] if 0 < len(words) <= _MAX_SHOWN and words.total() < len(paths) else []


def _globs_of_made(paths: Sequence[str]) -> list[str]:
    """Return globs of files that are called like sheets of images or copies, or alike in most folders; none if many."""
    folders = {parent_of(path) for path in paths}
    counts = Counter(map(posixpath.basename, paths))
    often = {name for name, num in counts.items() if num > _MAX_SHOWN and 2 * num >= len(folders)}
    alike = {name for name in often if not any(map(str.isdigit, name))}  # numbers may start again in each folder
    globs = {glob.escape(name) for name in alike} if len(alike) * 2 < len(counts) else set[str]()
    for path in paths:
        stem, end = posixpath.splitext(posixpath.basename(path))
        if (of := original_of(stem)) and not any(map(stem[len(of) :].__contains__, "*?[")):
            globs.add(f"*{stem[len(of) :]}.*")
        elif is_sheet(stem):
            globs.add(f"{stem}{end}")
    return sorted(globs) if len(globs) <= _MAX_SHOWN else []


def _without_labels(paths: Sequence[str], base: Reading) -> Iterator[Offer]:
    """Yield the reading without labels if the folders that it takes for classes look like parts of the data."""
    if base.label is None or not isinstance(base.label.origin, PathPart):
        return
    index = base.label.origin.path
    names = sorted({one[index] for one in folders_inside(base, paths)[1] if len(one) > index})
    if why := parts_of_data(names):
        yield Offer(replace(base, label=None, split=None), f"images without labels: {first_names(names)} {why}")


def _in_one_writing(reading: Reading, counts: Mapping[str, int]) -> Iterator[Offer]:
    """Yield the reading with one class for names in several writings, called as most of its images are."""
    label = reading.label
    if label is None or not isinstance(label.origin, PathPart | Column) or label.kind != "class":
        return
    written = {_plain_name(name): name for name in sorted(counts, key=lambda name: (counts[name], name))}
    if twins := {name: usual for name in sorted(counts) if (usual := written[_plain_name(name)]) != name}:
        joined = replace(reading, label=replace(label, origin=replace(label.origin, map=twins)))
        yield Offer(joined, f"{first_names([*twins], '')} read as {first_names([*dict.fromkeys(twins.values())], '')}")


def _of_short_splits(reading: Reading, names: set[str]) -> Iterator[Offer]:
    """Yield the reading with the splits that unusual words of a column may mean."""
    splits = {name: split_meant(name) for name in sorted(names)}
    if isinstance(reading.split, Column) and all(splits.values()) and any(one != of for one, of in splits.items()):
        said = ", ".join(f"{name} is {of}" for name, of in splits.items())
        yield Offer(replace(reading, split=replace(reading.split, map=splits)), said)


def _without_missing(reading: Reading, found: Evidence) -> Iterator[Offer]:
    """Yield the reading without the images whose number stands for none."""
    label = reading.label
    if label is not None and isinstance(label.origin, Column) and (missing := missing_numbers(found)):
        texts = [f"{number:g}" for number in missing]
        none = replace(label.origin, map={**label.origin.map, **dict.fromkeys(texts)})
        yield Offer(
            replace(reading, label=replace(label, origin=none)), f"{' and '.join(texts)} is no value", is_whole=True
        )


def _plain_name(name: str) -> str:
    """Return a name as it is compared with others, without words that no class is called: ``good`` of ``good_new``."""
    words = [word for word in words_of(name) if word not in UNSAID]
    return plain_name(" ".join(words)) or plain_name(name)


def _files_of_numbers(opening: Opening, numbers: set[int]) -> Iterator[str]:
    """Yield the texts whose lines have each of some numbers, before or after a name."""
    for path, entry in itertools.islice(files_below(opening.folder, ""), _MAX_IMAGES):
        if ending(entry.name) == ".txt" and 0 <= entry.num_bytes <= _MAX_TEXT:
            with contextlib.suppress(ShardkitError):
                if numbers <= numbered_names(opening.folder, path).keys():
                    yield path


def _of_first_words(reading: Reading, paths: Sequence[str]) -> Iterator[Offer]:
    """Yield the reading with the splits that the names of files begin with."""
    words = {name: _FIRST_WORD.match(name) for name in map(posixpath.basename, paths)}
    splits = {match[1]: split_of_word(match[1].lower()) for match in words.values() if match}
    if all(words.values()) and all(splits.values()) and len({*splits.values()}) > 1:
        split = PathRegex(_FIRST_WORD.pattern, map=dict(splits))
        yield Offer(replace(reading, split=split), f"the split is in the file name: {first_names([*splits], '')}")


def _of_splits(reading: Reading, split: PathPart, parts: Sequence[Sequence[str]]) -> Iterator[Offer]:
    """Yield the reading without the second folder of a split, and with it as the split that is missing."""
    names = sorted({one[split.path] for one in parts if len(one) > split.path})
    splits = {name: found for name in names if (found := split.map.get(name, split_of_name(name)))}
    for number, name in enumerate(splits):
        if split.path or splits[name] not in [*splits.values()][:number]:
            continue
        yield Offer(ignoring(reading, [f"/{join(reading.images.root, name)}/"]), f"without {first_names([name])}")
        if missing := [one for one in ("validation", "test") if one not in splits.values()]:
            named = replace(reading, split=replace(split, map={**splits, name: missing[0]}))
            yield Offer(named, f"{first_names([name])} is {missing[0]}")


def _of_annotations(opening: Opening, reading: Reading, origin: Annotation) -> Iterator[Offer]:
    """Yield each file of annotations alone, and other meanings of its numbers and fields."""

    def with_other(**changes: Any) -> Reading:
        """Return the reading with another origin in place of this one, for each fact that comes from it."""
        return reading.mapped(lambda one: replace(origin, **changes) if one == origin else one)

    if 1 < len(origin.files) <= _MAX_SHOWN:
        for path in origin.files:
            yield Offer(with_other(files=(path,)), f"only {printable(path)}")
    form = origin.options.get("form")
    if form == BoxForm.CORNERS.value and FIRST_SIDE in origin.options.get("x", ""):  # there is no header
        sizes = with_other(options={**origin.options, "form": BoxForm.SIZE.value})
        yield Offer(sizes, "the numbers are a corner, width and height")
    if form == BoxForm.SIZE.value:
        centres = with_other(options={**origin.options, "form": BoxForm.CENTRE.value})
        yield Offer(centres, "the numbers are the middle, width and height")
    vendor = next((one for one in VENDORS if one.title == form), None)
    if vendor is not None and "class" in origin.options:
        for name in other_fields(opening.folder, origin.files[0], vendor, origin.options["class"]):
            yield Offer(with_other(options={**origin.options, "class": name}), f"the class is {name!r}")
