"""Find splits, and appended images, whose classes are those of the others under other names.

Trained on 'cat' and 'dog' and evaluated on '0' and '1', a model of four classes is right in no image and
nothing fails. So these stop the conversion: names that differ only in writing, the same numbers counted from another
start, and splits that have less than half of their classes in common with train. A split that lacks some of train's
classes, or has a few more, as in tests with unknown classes, is usual and warns (`classes.check_counts`). New classes
of appended images are usual, too, unless they are numbers where the dataset has names.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shardkit.conversion.planning.checks.finding import EXAMPLES_SHOWN, Finding, some
from shardkit.conversion.planning.labels import labels_and_rows, sorted_names
from shardkit.conversion.planning.splits.grouping import group_codes
from shardkit.hashing import COLUMN_BLOCK
from shardkit.layouts import LAYOUTS
from shardkit.naming import first_of, split_order
from shardkit.options.call import Change
from shardkit.sources.readings.text import to_data
from shardkit.sources.readings.values import Column, Origin, PathPart, PathRegex, Reading

_NUMBERED = re.compile(r"(.*?)0*([0-9]{1,15})")
_BETWEEN_WORDS = re.compile(r"(?<=\w)[\s._-]+(?=\w)|_")
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_BACKGROUND = re.compile(r"_*(background|bg|none|void|unlabel+ed|ignored?|unused|dummy)_*", re.IGNORECASE)
_MOST_RENAMED = 20  # classes in a command

# Split and class, and two keys that have them: the first and the last in the order of the listing.
LabelPlaces = Mapping[tuple[str | None, str], tuple[str, str]]


def label_places(table: pa.Table) -> LabelPlaces:
    """Return which classes the images of a listing or an inventory have in each split."""
    parts = [_block_places(table.slice(start, COLUMN_BLOCK)) for start in range(0, len(table), COLUMN_BLOCK)]
    return joined_places(parts)


def _block_places(table: pa.Table) -> LabelPlaces:
    names, rows = labels_and_rows(table)
    name_of, split_of = group_codes(names), group_codes(table["split"])[rows]
    labelled = np.flatnonzero(name_of >= 0)
    combined = (name_of * (split_of.max(initial=0) + 2) + split_of)[labelled]
    _, first = np.unique(combined, return_index=True)
    _, from_end = np.unique(combined[::-1], return_index=True)
    ends = labelled[np.stack([first, len(combined) - 1 - from_end])]
    first_keys, last_keys = (table["key"].take(pa.array(rows[end])).to_pylist() for end in ends)
    splits = table["split"].take(pa.array(rows[ends[0]])).to_pylist()
    places = zip(splits, names.take(pa.array(ends[0])).to_pylist(), strict=True)
    return dict(zip(places, zip(first_keys, last_keys, strict=True), strict=True))


def joined_places(parts: Sequence[LabelPlaces]) -> LabelPlaces:
    """Return the places of several parts of a listing."""
    joined: dict[tuple[str | None, str], tuple[str, str]] = {}
    for part in parts:
        for place, (first, last) in part.items():
            known = joined.get(place, (first, last))
            joined[place] = min(first, known[0]), max(last, known[1])
    return joined


def check_split_classes(
    places: LabelPlaces,
    classes: Sequence[str],
    earlier: Sequence[str] = (),
    reading: Reading | None = None,
) -> Iterator[Finding]:
    """Yield the findings that the classes of a source are not the same in all of its splits.

    With `earlier`, the classes of the dataset that the images are appended to, each split is compared with these.
    """
    found: dict[str | None, set[str]] = {}
    for split, name in places:
        found.setdefault(split, set()).add(name)
    if earlier:  # a delivery may have a class in one split only
        compared = [_compare({*earlier}, names, classes, "", split or "") for split, names in found.items()]
        if differing := [one for one in compared if one is not None and one.is_renamed]:
            yield _finding(differing, places, reading)
        return
    reference, *others = split_order({split for split in found if split is not None}) or [""]
    compared = [_compare(found[reference], found[split], classes, reference, split) for split in others]
    if differing := [one for one in compared if one is not None]:
        yield _finding(differing, places, reading)


def check_class_numbers(places: LabelPlaces, given: Sequence[str] | None, layout: str) -> Iterator[Finding]:
    """Yield the finding that class numbers, which `given` names, count from 1 where the format counts from 0."""
    if layout != LAYOUTS["yolo"].title or given is None or len(given) < 3 or _BACKGROUND.fullmatch(given[0]):
        return
    if {name for _, name in places} != {*given[1:]}:
        return
    meant = ", ".join(f"{number} is {name!r}" for number, name in [*enumerate(given[:-1], 1)][:3])
    yield Finding(
        "class_numbers_from_one",
        "stops",
        f"no label has the class number 0, and each of the other {len(given) - 1:,} occurs: they may be counted from "
        f"1, so that {meant}",
        remedy="subtract 1 from the numbers in the label files",
    )


@dataclass(frozen=True, slots=True)
class _Difference:
    """How the classes of a split differ from those of the reference."""

    split: str  # name of the split whose folders or labels would get the reference's names; '' for images without one
    sentence: str  # what differs
    names: Mapping[str, str]  # the reference's name of each class of the split, where it is known
    is_renamed: bool = True  # whether both are the same classes under other names


def _compare(
    known: AbstractSet[str], found: AbstractSet[str], classes: Sequence[str], reference: str, split: str
) -> _Difference | None:
    """Return how the classes of a split ('' for none) differ from those of train or a dataset (''); None if usual."""
    new = found - known
    if not new or not known:
        return None
    who, whose = f"the split {split!r}" if split else "SOURCE", repr(reference) if reference else "the dataset"
    if names := _counted_from_another_start(known, found):
        ranges = [f"{min(names_, key=_number)!r} to {max(names_, key=_number)!r}" for names_ in (found, known)]
        return _Difference(split, f"{who} has the classes {ranges[0]}, and {whose} has {ranges[1]}", names)
    if names := _written_otherwise(known - found, new):
        sentence = f"{who} has {some([*names])}, and {whose} has {some([*names.values()])}: they differ only in writing"
        return _Difference(split, sentence, names)
    if 2 * len(found & known) >= len(found):
        return None
    num_common = len(found & known)
    sentence = (
        f"{f'only {num_common} of the {len(found):,} classes' if num_common else 'none of the classes'} of {who} is a "
        f"class of {whose}: not {some(sorted_names(new))}; {whose} has {some(sorted_names(known - found))}"
    )
    for numbers, words, of in ((found, known, split), (known, found, reference))[: 2 if reference else 1]:
        if names := _numbers_of_names(numbers, words, classes):
            return _Difference(of, sentence, names)
    is_number = [{name.isdecimal() for name in names} for names in (found, known)]
    return _Difference(split, sentence, {}, is_renamed=is_number in ([{True}, {False}], [{False}, {True}]))


def _number(name: str) -> int:
    matched = _NUMBERED.fullmatch(name)
    return int(matched[2]) if matched else 0


def _counted_from_another_start(known: AbstractSet[str], found: AbstractSet[str]) -> dict[str, str]:
    """Return the known name of each class if both are numbers, of which one starts one later and ends one later."""
    prefixes = {matched[1] if (matched := _NUMBERED.fullmatch(name)) else None for name in known | found}
    of_number = {_number(name): name for name in known}
    numbers = sorted(map(_number, found))
    step = min(of_number) - numbers[0]
    if len(prefixes) > 1 or None in prefixes or abs(step) != 1 or max(of_number) - numbers[-1] != step:
        return {}
    if len(found) < 2 or not {number + step for number in numbers} <= of_number.keys():
        return {}
    return {name: of_number[_number(name) + step] for name in sorted(found, key=_number)}


def _written_otherwise(free: AbstractSet[str], new: AbstractSet[str]) -> dict[str, str]:
    """Return the known name of each new class that differs from it only in writing, or by a plural."""
    for normal in (_plain, _singular):
        of_normal: dict[str, list[str]] = {}
        for name in free:
            of_normal.setdefault(normal(name), []).append(name)
        alike = {name: of_normal.get(normal(name), []) for name in sorted_names(new)}
        names = {name: known[0] for name, known in alike.items() if len(known) == 1}
        if names and len({*names.values()}) == len(names):
            return names
    return {}


def _plain(name: str) -> str:
    letters = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    folded = _BETWEEN_WORDS.sub("", letters.casefold().strip())
    return _LEADING_ZEROS.sub("", folded)


def _singular(name: str) -> str:
    return _plain(name).removesuffix("s")


def _numbers_of_names(numbers: AbstractSet[str], words: AbstractSet[str], classes: Sequence[str]) -> dict[str, str]:
    """Return the name of each number if the numbers are the positions of the names, from 0 or 1."""
    if len(numbers) != len(words) or not all(map(str.isdecimal, numbers)) or any(map(str.isdecimal, words)):
        return {}
    positions = sorted(map(int, numbers))
    if positions[0] > 1 or positions[-1] - positions[0] != len(numbers) - 1:
        return {}
    ordered = [name for name in classes if name in words]
    return dict(zip(sorted(numbers, key=int), ordered, strict=True)) if len(ordered) == len(words) else {}


def _finding(differing: Sequence[_Difference], places: LabelPlaces, reading: Reading | None) -> Finding:
    meant = [f"{old!r} is {new!r}" for one in differing for old, new in one.names.items()]
    changes: tuple[Change, ...] = ()
    if all(one.names for one in differing) and len(meant) <= _MOST_RENAMED:
        names = {(one.split or None, old): new for one in differing for old, new in one.names.items()}
        if renamed := _renamed(reading, names, places):
            written = json.dumps(to_data(renamed), ensure_ascii=False)
            changes = (Change(first_of(meant, EXAMPLES_SHOWN), {"reading": written}),)
    sentences = "; ".join(one.sentence for one in differing)
    return Finding(
        "other_class_names",
        "stops",
        sentences + (f"; perhaps {first_of(meant, EXAMPLES_SHOWN)}" if meant else ""),
        remedy="give a class the same name in all images, in the folders or files that name it",
        changes=changes,
    )


def _renamed(
    reading: Reading | None, names: Mapping[tuple[str | None, str], str], places: LabelPlaces
) -> Reading | None:
    """Return a reading with other names of the classes of some splits; None if its label cannot have any."""
    label = reading.label if reading is not None else None
    if reading is None or label is None or label.names or not isinstance(label.origin, PathPart | PathRegex | Column):
        return None
    origin: Origin | None = label.origin
    meant: dict[str, set[str]] = {}
    for split, name in places:
        meant.setdefault(name, set()).add(names.get((split, name), name))
    if all(len(some) == 1 for some in meant.values()):
        one_of = {name: new for name, (new,) in meant.items()}
        known = {raw: value and one_of.get(value, value) for raw, value in label.origin.map.items()}
        others = {name: new for name, new in one_of.items() if name != new and name not in label.origin.map.values()}
        origin = replace(label.origin, map=dict(sorted({**others, **known}.items())))
    else:
        origin = _by_whole_paths(label.origin, names, places)
    return None if origin is None else replace(reading, label=replace(label, origin=origin))


def _by_whole_paths(
    origin: Origin, names: Mapping[tuple[str | None, str], str], places: LabelPlaces
) -> PathRegex | None:
    """Return the classes by the paths of their folders, for numbers that mean another class in each split."""
    if not isinstance(origin, PathPart) or origin.map:
        return None
    classes: dict[str, str | None] = {}
    for (split, name), keys in places.items():
        ways = {tuple(key.split("/")[:-1][: origin.path + 1 or None]) for key in keys}
        if len(ways) > 1:  # a class has several folders
            return None
        classes["/".join(ways.pop())] = names.get((split, name), name)
    depths = {path.count("/") for path in classes}
    return (
        PathRegex(f"^((?:[^/]+/){{{depths.pop()}}}[^/]+)/", of="path", map=dict(sorted(classes.items())))
        if len(depths) == 1
        else None
    )
