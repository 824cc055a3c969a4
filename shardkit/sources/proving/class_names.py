"""Doubts about the names of classes: parts of the data, copies, what is unsorted, and names unlike the others."""

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from shardkit.errors import ShardkitError
from shardkit.naming import first_of, printable, split_of_folder
from shardkit.sources.engine.splits import words_of
from shardkit.sources.formats.registry import FORMATS
from shardkit.sources.formats.yolo import class_files_in, read_class_file
from shardkit.sources.proving.evidence import Evidence, are_single
from shardkit.sources.proving.image_contents import num_beyond
from shardkit.sources.proving.words import MADE, SHEETS, UNSAID
from shardkit.sources.readings.values import PathPart
from shardkit.sources.recognising.folders.folder_names import copies_by_name, original_of, parts_of_data
from shardkit.sources.recognising.folders.split_folders import (
    is_of_project,
    is_unlabelled,
    mentions_split,
    says_images,
    says_nothing,
)
from shardkit.sources.walking import parent_of

_NUMBERED = re.compile(r"^[0-9]+[ _.-]+[^\W\d_]|\([0-9]+\)$")  # 04_transistor, Ditylum (6)
_NO_CLASS = "called like images without a class"
_FEW_OBJECTS = 10  # one in so many is no accident
_FEW_EMPTY = 5  # one in so many images without an object may be work that is not done
_MIN_EMPTY = 3
_MIN_BEYOND = 3
_NO_OBJECT = re.compile(
    r"[^\w\s]+|ignored?|(?:don.?t|do not)[ _]?care|unknown|unsure|uncertain|unlabell?ed|todo|tbd", re.IGNORECASE
)
_PADDED = 4  # digits of numbers of parts, such as 00000, 00001
_DIGITS = re.compile(r"[0-9]+")
_QUANTITY = re.compile(r"[-+]?[0-9]+(?:[.,](?P<fraction>[0-9]+))? *(?P<unit>\D*)")
_PLURAL = re.compile(r"(?<=[a-z]{3})(?:e?s|e?n|e)$")  # dogs, classes, Tulpe, Tulpen
DRAWN = frozenset({"mask", "masks", "gt", "groundtruth", "segmentation", "annotation", "annotations", "labels"})


def doubts_about_names(found: Evidence) -> Iterator[str]:
    """Yield why names may not be those of classes."""
    names = sorted(found.counts)
    if found.options.classes:  # the user has named them
        return
    are_numbers = len(names) > 1 and all(name.isdecimal() for name in names)
    are_padded = len({*map(len, names)}) == 1 and len(names[0]) >= _PADDED and names[0][0] == "0"
    if are_numbers and (are_padded or (len(names) > 2 and not _are_in_a_row(names))):
        yield f"{_shown(names)} may be numbers, and no names"
    quantities = [*map(_QUANTITY.fullmatch, names)]
    units = {one["unit"] for one in quantities if one}
    if all(quantities) and len(units) == 1 and any(one["fraction"] for one in quantities if one):
        yield f"{_shown(names)} may be quantities, and no names"
    if what := parts_of_data(names):
        yield f"{_shown(names)} {what}"
    said = set[str]()
    are_folders = found.reading.label is not None and isinstance(found.reading.label.origin, PathPart)
    for what, odd in _odd(names):
        if more := [name for name in odd if name not in said] if are_folders or what == _NO_CLASS else []:
            yield f"{_shown(more)} {'is' if len(more) == 1 else 'are'} {what}"
            said.update(more)
    if twins := _twins(found):
        yield f"{_shown(twins)} may be one class"
    rests = {_DIGITS.sub("", name) for name in names}
    if all(map(_DIGITS.search, names)) and 1 < len(rests) <= len(names) / 2:
        yield f"{_shown(names)} are numbered, and what is beside the numbers repeats"


def _twins(found: Evidence) -> list[str]:
    """Return names that differ in writing only, and are in one split; others are for the check of splits' classes."""
    pairs = sorted({*zip(found.labels, found.splits, strict=True)}, key=str)
    names = [(name, split) for name, split in pairs if name is not None and len(name) > 1]
    counts = Counter((plain_name(name), split) for name, split in names)
    return sorted({name for name, split in names if counts[plain_name(name), split] > 1})


def doubts_about_objects(found: Evidence) -> Iterator[str]:
    """Yield why the boxes of a source, or the names of their classes, may mean something else."""
    if found.num_beyond * _FEW_OBJECTS > found.objects.total():
        yield f"{found.num_beyond:,} of {found.objects.total():,} boxes reach beyond their images"
    num, total = num_beyond(found)
    if num >= _MIN_BEYOND and num * _FEW_OBJECTS > total:
        yield f"{num:,} of the first {total:,} boxes reach beyond their images: they may not be what their columns say"
    if are_single(found.objects):
        yield "most classes have one object"
    # An empty file of an image is there on purpose; a list of all images also has those that nobody has looked at.
    boxes, num = found.reading.boxes, found.num_empty
    are_many = num >= _MIN_EMPTY and _FEW_EMPTY * num >= len(found.keys)
    if boxes is not None and boxes.format in FORMATS and are_many:
        yield (
            f"{num:,} of {len(found.keys):,} images have a record without objects; remove the records of those that "
            "nobody has looked at yet"
        )
    if odd := sorted(name for name in found.objects if _NO_OBJECT.fullmatch(name)):
        yield f"{_shown(odd)} {'is' if len(odd) == 1 else 'are'} called like objects without a class"
    yield from _other_names(found)
    counts = Counter(map(plain_name, found.objects))
    if twins := sorted(name for name in found.objects if counts[plain_name(name)] > 1):
        yield f"{_shown(twins)} may be one class"


def _other_names(found: Evidence) -> Iterator[str]:
    """Yield that a list of names next to the boxes is not that of the reading."""
    boxes = found.reading.boxes
    if boxes is None or not boxes.names:
        return
    names, _ = read_class_file(found.tree, boxes.names)
    places = (parent_of(glob.partition("*")[0]) for glob in boxes.files)
    for path in class_files_in(found.tree, itertools.chain(("", found.reading.images.root), places)):
        with contextlib.suppress(ShardkitError):
            other, _ = read_class_file(found.tree, path)
            if any(names.get(number) != name for number, name in other.items()):
                yield f"{printable(path)} names other classes than {printable(boxes.names)}"


def plain_name(name: str) -> str:
    """Return a name without case, marks and the ending of a plural."""
    words = words_of(name)
    return " ".join([*words[:-1], *(_PLURAL.sub("", word) for word in words[-1:])])


def _are_in_a_row(names: Sequence[str]) -> bool:
    numbers = [*map(int, names)]
    return max(numbers) - min(numbers) < 2 * len(numbers)


def odd_names(names: Sequence[str]) -> list[str]:
    """Return the names that may not be those of classes."""
    return next((odd for _, odd in _odd(names)), [])


def _odd(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield names that may not be those of classes, and why."""
    for what, odd in (
        ("called like copies of others", [*copies_by_name(names), *filter(original_of, names)]),
        (
            _NO_CLASS,
            [name for name in names if is_unlabelled(name) or _has(name, UNSAID)],
        ),
        ("called like what is made of images", [*filter(is_made, names)]),
        (
            "called by a word that says nothing about images",
            [name for name in names if len(name) > 1 and _says_nothing(name)],
        ),
        ("called like splits", [name for name in names if mentions_split(name) or split_of_folder(name)]),
        ("called like masks", [name for name in names if not DRAWN.isdisjoint(words_of(name))]),
        ("written unlike the others", _unlike(names)),
    ):
        if odd:
            yield what, sorted({*odd})


def _says_nothing(name: str) -> bool:
    return says_nothing(name) or says_images(name) or is_of_project(name)


def is_sheet(name: str) -> bool:
    """Return whether all words of a name say that it is several images in one: ``_contact_sheet``, not ``copy``."""
    words = {*words_of(name)}
    return not SHEETS.isdisjoint(words) and words <= MADE


def is_unsaid(name: str) -> bool:
    """Return whether a name says that nobody has said what is in the images, or that they are no photographs."""
    return _has(name, UNSAID) or is_made(name)


def is_made(name: str) -> bool:
    """Return whether a name says that the images are made of others, or are no photographs."""
    return _has(name, MADE)


def _has(name: str, words: frozenset[str]) -> bool:
    is_mark = words is UNSAID and not any(map(str.isalnum, name)) and name.isascii()  # a question mark, a dash
    parts = words_of(name)  # "weiss nicht" is one word of the list
    return is_mark or not words.isdisjoint([*parts, "".join(parts), name.lower()])


def _shown(names: Sequence[str]) -> str:
    return first_of([printable(name) for name in names], 3)


def _unlike(names: Sequence[str]) -> list[str]:
    """Return the few names whose form is not that of the others."""
    forms = {name: _form(name) for name in names}
    counts = Counter(forms.values())
    if len(counts) < 2 or len(names) < 2:
        return []
    form, num = counts.most_common(1)[0]
    odd = [name for name in names if forms[name] != form]
    return odd if len(odd) <= max(1, len(names) // 3) and num > len(odd) else []


def _form(name: str) -> tuple[bool, bool]:
    """Return how a name is written: with a number before or a count behind it, with a leading mark."""
    return _NUMBERED.search(name) is not None, not name[:1].isalnum()
