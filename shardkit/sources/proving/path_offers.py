"""Offer readings by folders and names of files."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shardkit.naming import first_of, printable
from shardkit.sources.engine.splits import split_of_name, words_of
from shardkit.sources.proving.class_names import DRAWN, is_unsaid
from shardkit.sources.proving.words import UNSAID
from shardkit.sources.readings.values import (
    Labels,
    PathPart,
    PathRegex,
    Reading,
)
from shardkit.sources.recognising.folders.masks.pairs import SAYS_MASKS
from shardkit.sources.recognising.folders.name_fields import form_of, guess_pattern
from shardkit.sources.recognising.folders.split_folders import are_splits, is_of_project, mentioned_split
from shardkit.sources.walking import parent_of

_MAX_SHOWN = 3
_MAX_LOOSE = 8  # images above folders of classes, such as contact sheets
_MIN_FIELDS = 3  # of names with a quantity: others are a word and a number of the image
_ORIGINAL = frozenset({"orig", "original", "originals", "raw"})
_RESULTS = frozenset({"predicted", "prediction", "predictions", "pred", "preds", "inference", "model", "mini", "tiny"})
_MORE = UNSAID | {"additional", "extra", "more"}
_MAX_DIGITS = 5  # of a quantity
_FEW = 5  # records of a table of corrections


@dataclass(frozen=True, slots=True)
class Offer:
    """A reading that may be meant."""

    reading: Reading
    meaning: str  # what it means, in a few words
    is_whole: bool = False  # see Change


def folders_inside(reading: Reading, paths: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the paths of the images below the reading's root, and their folders."""
    start = f"{reading.images.root}/" if reading.images.root else ""
    inside = [path.removeprefix(start) for path in paths if path.startswith(start)]
    return inside, [path.split("/")[:-1] for path in inside]


def of_names(paths: list[str], base: Reading) -> Iterator[Offer]:
    """Yield readings by the names of files; without folders for testing if only the other files have labels."""
    at = _first_level([path.split("/")[:-1] for path in paths])
    tops = {path: "/".join(path.split("/")[: at + 1]) for path in paths if path.count("/") > at}
    tests = sorted({top for top in tops.values() if mentioned_split(top) == "test"})
    labelled = [path for path in paths if tops.get(path) not in tests]
    if (of_all := [*_of_these_names(paths, base)]) or not tests:
        yield from of_all
        return
    for offer in _of_these_names(labelled, base):
        reading = ignoring(offer.reading, [f"/{name}/" for name in tests])
        yield Offer(reading, f"{offer.meaning}, without {first_names(tests)}")


def _of_these_names(paths: list[str], base: Reading) -> Iterator[Offer]:
    """Yield readings by the words and fields of files' names; fields may also be numbers, as ages are."""
    names = [posixpath.basename(path) for path in paths]
    split = split_level(levels([path.split("/")[:-1] for path in paths]))
    form = form_of(names)
    guess = guess_pattern(names)
    patterns = [guess] if guess else []
    if form is not None and form.num_fields >= _MIN_FIELDS:
        fields = [one.pattern for one in form.repeating_fields([*filter(form.fits, names)])]
        patterns += sorted(fields, key=lambda pattern: oddness([_found(pattern, name) for name in names]))
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


def oddness(values: Sequence[str]) -> int:
    """Return how unlikely values are names of classes: words, those with digits or single letters, numbers."""
    if all(value.replace(".", "").isdecimal() for value in values if value):
        return 2
    return 0 if all(len(value) > 1 and not any(map(str.isdigit, value)) for value in values if value) else 1


def _found(pattern: str, name: str) -> str:
    match = re.search(pattern, name)
    return match[1] if match else ""


def of_levels(paths: list[str], base: Reading, *, has_copies: bool) -> Iterator[Offer]:
    """Yield a reading for each level of folders, also without folders that hold none of the images, and in one part.

    With copies in two folders, these are hardly splits, and one of them may be all that is wanted.
    """
    parts = [path.split("/")[:-1] for path in paths]
    at = _first_level(parts)
    tops = sorted({one[at] for one in parts if len(one) > at})
    names = {name for one in parts for name in one}
    loose = _loose(parts)
    if loose is not None:
        inside = [one for one in parts if len(one) > loose]
        few = sorted(path for path in paths if path.count("/") <= loose)
        how = f", without {first_names(few, '')}"
        yield from _of_view(inside, base, [f"/{path}" for path in few], how)
    odd = sorted(name for name in names if is_beside(name))
    odd = [name for name in odd if _ORIGINAL.isdisjoint(words_of(name))] or odd  # beside what is made of them
    if not has_copies and not odd:
        yield from _of_folders_alike(parts, base)
    yield from _of_view(parts, base, [], "")
    for some in _together(odd, parts):
        inside = [one for one in parts if {*some}.isdisjoint(one)]
        without = _of_view(inside, base, [f"{name}/" for name in some], f", without {first_names(some)}")
        yield from (replace(one, is_whole=True) for one in without)
    above = "/" + "".join(f"{name}/" for name in parts[0][:at]) if parts else "/"
    others = [name for name in tops if split_of_name(name) is None]
    if 0 < len(others) < len(tops) - 1:
        inside = [one for one in parts if len(one) > at and one[at] not in others]
        without = _of_view(inside, base, [f"{above}{name}/" for name in others], f", without {first_names(others)}")
        yield from (replace(one, is_whole=has_copies) for one in without)
    if 1 < len(tops) <= _MAX_SHOWN or has_copies:
        newest_first = tops[::-1]
        ordered = sorted(newest_first, key=lambda name: (is_beside(name), any(map(str.isdigit, name))))
        for top in ordered[:_MAX_SHOWN]:
            others = [name for name in tops if name != top]
            globs = [f"{above}{name}/" for name in others]
            inside = [one for one in parts if len(one) > at and one[at] == top]
            only = _of_view(inside, base, globs, f", only {printable(top)}/")
            yield from (replace(one, is_whole=has_copies and split_of_name(top) is None) for one in only)


def _together(names: Sequence[str], parts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return folders to leave out at once: first those of the highest level, if they are at several, then all."""
    at = {name: min(one.index(name) for one in parts if name in one) for name in names}
    highest = [name for name in names if at[name] == min(at.values())]
    return [some for some in ([highest] if len(highest) < len(names) else []) + [[*names]] if some]


def is_beside(name: str) -> bool:
    """Return whether a folder is called like masks, results or what nobody wants to learn from."""
    words = DRAWN | _RESULTS
    return (
        bool(SAYS_MASKS.search(name)) or is_of_project(name) or is_unsaid(name) or not words.isdisjoint(words_of(name))
    )


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


def _of_folders_alike(parts: Sequence[Sequence[str]], base: Reading) -> Iterator[Offer]:
    """Yield a reading with folders of the same classes as splits, if no folder is called like one."""
    many = levels(parts)
    if split_level(many) is None and (split := _level_alike(parts, many)):
        deepest = max(many)
        label = Labels(PathPart(deepest))
        said = ", ".join(f"{printable(name)}/ is {of}" for name, of in split.map.items())
        reading = Reading(label=label, split=split, ignore=base.ignore, archives=base.archives)
        yield Offer(reading, f"the class is {first_names(many[deepest])}; {said}")


def _of_view(parts: Sequence[Sequence[str]], base: Reading, ignored: Sequence[str], how: str) -> Iterator[Offer]:
    many = levels(parts)
    split = split_level(many)
    label = base.label.origin.path if base.label and isinstance(base.label.origin, PathPart) else None
    root = depth_of(base)
    for i, names in sorted(many.items(), reverse=True):
        is_split = split is not None and i == split.path
        if not is_split and not are_splits(names) and (label is None or i != label + root or ignored):
            ignore = tuple(dict.fromkeys((*base.ignore, *ignored)))
            reading = Reading(label=Labels(PathPart(i)), split=split, ignore=ignore, archives=base.archives)
            yield Offer(reading, f"the class is {first_names(names)}{how}")
            others = (
                [name for name in split.map if not _split_of(name) and _says_more(name)] if split is not None else []
            )
            if split is not None and others and "train" not in {split.map[name] for name in others}:
                trained = replace(split, map={**split.map, **dict.fromkeys(others, "train")})
                what = f"the class is {first_names(names)}, and {first_names(others)} is for training{how}"
                yield Offer(replace(reading, split=trained), what)


def depth_of(base: Reading) -> int:
    """Return the number of folders around what a reading reads."""
    return len(base.images.root.split("/")) if base.images.root else 0


def levels(parts: Sequence[Sequence[str]]) -> dict[int, list[str]]:
    """Return the names of folders at each level that differ."""
    depth = min(map(len, parts), default=0)
    levels = {i: sorted({one[i] for one in parts}) for i in range(depth)}
    return {i: names for i, names in levels.items() if len(names) > 1}


def split_level(levels: Mapping[int, Sequence[str]]) -> PathPart | None:
    """Return the splits that folders of the first such level mean."""
    found = ((i, _splits_among(names)) for i, names in levels.items())
    return next((PathPart(i, splits) for i, splits in found if splits), None)


def _level_alike(parts: Sequence[Sequence[str]], many: Mapping[int, Sequence[str]]) -> PathPart | None:
    """Return the splits that two or three folders of the same classes may mean: the largest is for training."""
    deepest = max(many, default=0)
    for i, names in many.items():
        inside = {name: {one[deepest] for one in parts if one[i] == name} for name in names}
        if i == deepest or len(names) > _MAX_SHOWN or any(one != inside[names[0]] for one in inside.values()):
            continue
        counts = Counter(one[i] for one in parts)
        ordered = sorted(names, key=lambda name: (-counts[name], name))
        if counts[ordered[0]] > counts[ordered[1]]:
            found = ("train", "test") if len(names) == 2 else ("train", "validation", "test")
            return PathPart(i, dict(zip(ordered, found, strict=True)))
    return None


def _splits_among(names: Sequence[str]) -> dict[str, str] | None:
    """Return the split of each name; one that is no word for a split is that which is missing."""
    found = {name: _split_of(name) for name in names}
    known = {split for split in found.values() if split}
    unknown = [name for name, split in found.items() if not split]
    missing = [split for split in ("train", "test", "validation") if split not in known]
    if not known or len(unknown) > 1 or len(names) > _MAX_SHOWN + 1 or (unknown and not missing):
        return None
    return {name: split or missing[0] for name, split in found.items()}


def ignoring(reading: Reading, globs: Sequence[str]) -> Reading:
    """Return a reading that leaves out more files."""
    return replace(reading, ignore=tuple(dict.fromkeys((*reading.ignore, *globs))))


def _says_more(name: str) -> bool:
    """Return whether a folder is called like images that came later."""
    return not _MORE.isdisjoint(words_of(name))


def _split_of(name: str) -> str | None:
    return split_of_name(name) or mentioned_split(name)


def first_names(names: Sequence[str], end: str = "/") -> str:
    """Return the first few names for a message: of folders, or with another end."""
    return first_of([f"{printable(name)}{end}" for name in names], _MAX_SHOWN)
