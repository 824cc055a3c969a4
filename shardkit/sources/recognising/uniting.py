"""Read folders that are each a complete dataset of boxes or masks as one source, if the tree around them is none.

    train/annotations/…  test/annotations/…             two exports of COCO, by their folders' names
    train=COCO1 test=COCO2                              the same, with splits that the user gives
    VOCtrainval.tar  VOCtest.tar, VOCdevkit/ in each    their own lists give the splits

A layout that sees split folders itself keeps the tree: it may know files that are for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shardkit.errors import CallError, DataError
from shardkit.layouts import Layout, layout_of_title
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.columns import MASK_PATH, OBJECTS
from shardkit.sources.context import Opening
from shardkit.sources.listing import Source
from shardkit.sources.recognising.folders.first_images import MAX_DEPTH
from shardkit.sources.recognising.folders.split_folders import may_mean_split, splits_of
from shardkit.sources.recognising.only_folders import is_text, only_folder
from shardkit.sources.recognising.united_source import Member, UnitedSource
from shardkit.sources.recognising.unmarked_tables import IsReadWithout
from shardkit.sources.walking import children
from shardkit.storage import Folder

_MAX_MEMBERS = 50
_SCRIPTS = (".bat", ".ipynb", ".py", ".sh")  # such as download.sh
_Open = Callable[[Opening], Source]


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder that may be a complete dataset; see Member."""

    name: str
    split: str | None
    needs_splits: bool


def whole_or_united(opening: Opening, open_folder: _Open, recognise: Callable[[Folder], Layout | None]) -> Source:
    """Open a folder as one source, or the folders in it as one each."""
    around = unwrapped(opening)
    places = _places(around)
    try:
        source = open_folder(opening)
    except (CallError, DataError):
        if places and (members := _members(around, places, open_folder)):
            return _united(around, members)
        raise
    if opening.options.layout is not None:
        return source
    if not places:
        return source
    # A layout that sees split folders reads only those of its own kind.
    layouts = {recognise(around.below(place.name).folder) for place in places}
    are_others = None not in layouts and layouts != {layout_of_title(source.layout)}
    members = _members(around, places, open_folder) if are_others else None
    return _united(around, members) if members else source


def unwrapped(opening: Opening) -> Opening:
    """Return the first folder that holds more than one folder, texts aside."""
    for _ in range(MAX_DEPTH):
        if (name := only_folder(opening.folder)) is None or name == opening.excluded:
            break
        opening = opening.below(name)
    return opening


def _places(opening: Opening) -> list[_Place]:
    """Return the folders that may each be a dataset; none unless all other files are texts or scripts."""
    entries = [one for one in children(opening.folder) if one.name != opening.excluded]
    names = [one.name for one in entries if one.is_folder]
    files = [one.name for one in entries if not one.is_folder]
    if not 1 < len(names) <= _MAX_MEMBERS or not all(is_text(name) or name.endswith(_SCRIPTS) for name in files):
        return []
    splits = splits_of(names)
    if len(splits) == len(names):
        return [_Place(name, splits[name], needs_splits=False) for name in names]
    may_mean = list(map(may_mean_split, names))
    if all(may_mean) or sorted(at for at, _ in opening.given) == sorted(names):
        return [_Place(name, None, needs_splits=any(may_mean)) for name in names]
    return []


def is_annotated(source: Source) -> bool:
    """Return whether the images of a source have boxes or masks."""
    return not {OBJECTS, MASK_PATH.name}.isdisjoint(source.schema.names)


def _members(opening: Opening, places: Sequence[_Place], open_folder: _Open) -> list[Member] | None:
    """Return the folders as sources; None if one of them is no dataset of boxes or masks."""
    root = opening.folder.url.rstrip("/")
    members = []
    for place in places:
        try:
            source = open_folder(opening.below(place.name))
        except (CallError, DataError, IsReadWithout):
            return None
        url = source.folder.url.rstrip("/")
        if not is_annotated(source) or not url.startswith(f"{root}/"):
            return None
        members.append(Member(place.name, url[len(root) + 1 :], place.split, place.needs_splits, source))
    return members


def _united(opening: Opening, members: Sequence[Member]) -> UnitedSource:
    """Return several sources as one."""
    for other in members[1:]:
        _refuse_different(opening, members[0], other)
    united = UnitedSource(opening.folder, tuple(members))
    if MASK_PATH.name in united.schema.names or opening.options.classes is None:
        longest = max(members, key=_num_classes)
        for one in members:
            _refuse_other_classes(opening, one, longest)
    return united


def _refuse_different(opening: Opening, one: Member, other: Member) -> None:
    names = f"{printable(one.name)}/ and {printable(other.name)}/"
    if one.source.layout != other.source.layout:
        problem = f"{names} are different layouts, {one.source.layout} and {other.source.layout}"
    elif not one.source.schema.equals(other.source.schema):
        problem = f"{names} have different columns"
    else:
        return
    raise RefusalError(f"{opening.url}: {problem}", remedy="convert each of them into a dataset of its own")


def _num_classes(member: Member) -> int:
    return len(member.source.classes or ())


def _refuse_other_classes(opening: Opening, one: Member, longest: Member) -> None:
    """Refuse a list of classes that the longest one does not begin with: a number would mean two classes."""
    some, every = one.source.classes, longest.source.classes
    if some == every or (some is not None and every is not None and every[: len(some)] == some):
        return
    if some is None or every is None:
        without, other = (one, longest) if some is None else (longest, one)
        what = f"{printable(other.name)}/ names its classes and {printable(without.name)}/ does not"
    else:
        number = next(i for i, name in enumerate(some) if every[i] != name)
        what = f"class {number} is {some[number]!r} in {printable(one.name)}/ and {every[number]!r} in "
        what += f"{printable(longest.name)}/"
    remedy = "make the files that name the classes agree"
    if MASK_PATH.name not in one.source.schema.names:
        remedy += f", or give one list of all classes with {named('classes')}"
    raise RefusalError(f"{opening.url}: {what}", remedy=remedy)
