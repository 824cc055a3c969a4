"""Decide at which level of a tree the classes are; a tree in which two levels may be it is refused with both readings.

cat/images/1.jpg                       one folder in each: parts of the class
cat/2021-03-01/1.jpg                   days are no classes: parts of the class
foil/sample_a/1.jpg                    neither is a word that says nothing and a letter, if the upper folders say more
fish/ray/1.jpg, trees/oak/1.jpg        either level
amazon/mug/1.jpg, dslr/mug/1.jpg       either level; also amazon/ alone
big/train/cat/1.jpg, small/cat/1.jpg   big/ alone or small/ alone: no one level has the classes of both
tiles/tumour/1.jpg, slides/1.jpg       tiles/ alone, or the upper level
0/a/0a1b.jpg                           neither: the first characters of the files' names
"""

import itertools
import posixpath
from collections.abc import Mapping, Sequence

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.engine.split_words import split_of_name
from shardkit.sources.recognising.folders.class_folders import NamedFolder, label_folders
from shardkit.sources.recognising.folders.copies import refuse_versions
from shardkit.sources.recognising.folders.first_images import MAX_DEPTH, NUM_SAMPLED, has_images, holds_image, listed
from shardkit.sources.recognising.folders.no_classes import are_lettered, parts_of_data
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.sources.recognising.folders.split_folders import is_unlabelled, says_images, says_nothing, splits_of
from shardkit.sources.walking import join
from shardkit.storage import Folder


def refuse_unclear_level(
    folder: Folder, tops: list[str], excluded: str | None, place: SourcePlace, *, are_in_split: bool = False
) -> None:
    """Refuse a tree in which classes may be at several levels.

    With `are_in_split`, the folders are in a split's folder, so that no other can be read alone.
    """
    _refuse_prefixes(folder, tops, place)
    if not are_in_split:
        _refuse_inner_splits(folder, tops, excluded, place)
    inner = {top: label_folders(folder, top, excluded) for top in tops}
    if lower := _lower_levels(folder, tops, excluded):
        is_common = len(tops) > 1 and len(set.intersection(*map(set, inner.values()))) > 1
        if is_common and not are_in_split:
            refuse_versions(folder, tops, place)
        alone = [] if are_in_split else trees_alone(folder, tops, excluded, place)
        # Of folders with other names, the only one with several may be the dataset, next to Thumbnails/small/.
        raise _several_levels(place, tops, lower, alone if is_common or len(alone) == 1 else [])
    if not are_in_split:
        _refuse_uneven(folder, inner, excluded, place)


def are_initials(folder: Folder, names: list[str], excluded: str | None) -> bool:
    """Return whether folders have the first letters of the folders in them: a/abbey/ and b/barn/ of SUN397."""
    if len(names) < 2 or any(len(name) != 1 or not name.isalpha() for name in names):
        return False
    inner = {name: label_folders(folder, name, excluded) for name in names}
    begin = all(below and all(one.lower().startswith(name.lower()) for one in below) for name, below in inner.items())
    return begin and all(len(one) > 1 for below in inner.values() for one in below)


def _refuse_inner_splits(folder: Folder, tops: list[str], excluded: str | None, place: SourcePlace) -> None:
    """Refuse folders of which one has splits, in folders that unpacking adds: no level of the tree has the classes."""
    for top in tops:
        if inner := inner_splits(folder, top, excluded):
            problem = (
                f"{place.shown}: {listed([top])} has the splits {listed(inner)} in it, so {listed(tops)} are no classes"
            )
            if len(tops) > 1:
                problem += ", but a dataset each"
            raise RefusalError(problem, trees_alone(folder, tops, excluded, place))


def inner_splits(folder: Folder, top: str, excluded: str | None) -> list[str]:
    """Return the folders in a folder, or in the only folder in it, if all mean splits and there are several."""
    inner = label_folders(folder, innermost(folder, top, excluded), excluded)
    return inner if len(inner) > 1 and len(splits_of(inner)) == len(inner) else []


def refuse_inner_classes(folder: Folder, inner: dict[str, list[str]], excluded: str | None, place: SourcePlace) -> None:
    """Refuse folders of splits in which the same folders are again: pets/train/cat/ and pets/test/cat/."""
    for top, splits in inner.items():
        below = [set(label_folders(folder, join(top, name), excluded)) for name in splits]
        common = sorted(name for name in set.intersection(*below) if not says_nothing(name))
        if len(common) > 1 and not all(name.isdecimal() for name in common):
            problem = (
                f"{place.shown}: {listed([top])} has the splits {listed(splits)}, and each has {listed(common)}, "
                f"so {listed([*inner])} may be a dataset each"
            )
            raise RefusalError(problem, trees_alone(folder, [*inner], excluded, place))


def trees_alone(
    folder: Folder, tops: list[str], excluded: str | None, place: SourcePlace, beside: tuple[str, ...] = ()
) -> list[Change]:
    """Return the changes that read one of some folders alone: those that are trees of classes or splits themselves."""
    changes = []
    for top in tops:
        path = innermost(folder, top, excluded)
        inner = label_folders(folder, path, excluded)
        if len(inner) < 2 or has_images(folder, path):
            continue
        others = [one for one in (*tops, *beside) if one != top]
        meaning = f"only {printable(top)}/ is read, which holds {listed(inner)}"
        changes += place.inside([top], meaning)
        if place.in_archive and len(tops) < NUM_SAMPLED:  # these are all
            changes.append(place.without(others, meaning))
    return changes


def longer_names(classes: Mapping[str, Sequence[str]], place: SourcePlace) -> list[NamedFolder]:
    """Return the folders of splits that have longer names for the classes of others: train/cat_of_farms/, test/cat/.

    Each class that only one split has begins the name of one that only the other has.
    """
    found: dict[str, NamedFolder] = {}
    for short, long in itertools.permutations(classes, 2):
        only, others = ({*classes[one]} - {*classes[two]} for one, two in ((short, long), (long, short)))
        pairs = [(name, other) for other in sorted(others) for name in _beginnings(other) if name in only]
        if only and len(pairs) == len(only) == len({name for name, _ in pairs}):
            name, other = (printable(join(above, one)) for above, one in zip((short, long), pairs[0], strict=True))
            if len(pairs) == 1:
                problem = f"{place.shown}: {name}/ and {other}/ may be one class under two names"
                raise RefusalError(problem, remedy="give the folders of a class one name in all splits")
            found |= {path: NamedFolder(path, None, one) for one, last in pairs for path in [join(long, last)]}
    return list(found.values())


def _beginnings(name: str) -> list[str]:
    return [name[:i] for i, character in enumerate(name) if not character.isalnum()]


def innermost(folder: Folder, path: str, excluded: str | None, *, of_split: bool = False) -> str:
    """Return the first folder in a folder that holds images or several folders.

    Args:
        folder: Root of the tree.
        path: The folder.
        excluded: Path of the output; None for none.
        of_split: Whether the folder is a split's: then the only folder in it may be a class, and is passed only if its
            name says that it is none, as in train/train/ and train/images/.
    """
    for _ in range(MAX_DEPTH):
        names = label_folders(folder, path, excluded)
        if len(names) != 1 or has_images(folder, path):
            break
        if of_split and not _is_wrapper(names[0], posixpath.basename(path)):
            break
        path = join(path, names[0])
    return path


def _is_wrapper(name: str, outer: str) -> bool:
    is_same = name.lower() == outer.lower() or split_of_name(name) == split_of_name(outer) is not None
    return is_same or says_nothing(name) or is_unlabelled(name)


def _refuse_prefixes(folder: Folder, tops: list[str], place: SourcePlace) -> None:
    """Refuse 0/a/, 1/f/, …: images spread over folders by the first characters of their names."""
    inner = [name for path in tops for name in label_folders(folder, path, None)]
    names = [*(posixpath.basename(path) for path in tops), *inner]
    if not inner or len(tops) < 2 or any(len(name) > 1 for name in names):
        return
    if any(holds_image(folder, path) for path in tops):
        first = join(tops[0], inner[0])
        problem = (
            f"{place.shown}: {printable(first)}/ and the like look like the first characters of the files' names, not "
            "like classes"
        )
        remedy = "if a table has the labels, write the images' paths into it, such as 0/a/0a1b.jpg"
        raise RefusalError(problem, [place.whole({"unlabelled": True}, "images without labels")], remedy=remedy)


def _lower_levels(folder: Folder, tops: list[str], excluded: str | None) -> dict[int, list[str]]:
    """Return the names of folders at each lower level that may be the classes, by level; {} if the upper ones are.

    They are if images lie in them, or if each has one inner folder only: both levels then divide the images alike.
    """
    found: dict[int, list[str]] = {}
    say_much = not any(says_nothing(name) or says_images(name) for name in map(posixpath.basename, tops))
    is_divided, paths = False, tops
    for level in range(2, MAX_DEPTH + 2):
        inner = {path: label_folders(folder, path, excluded) for path in paths}
        if not paths or not all(inner.values()) or any(has_images(folder, path) for path in paths):
            break
        is_divided = is_divided or any(len(names) > 1 for names in inner.values())
        names = sorted({name for below in inner.values() for name in below})
        if is_divided and _may_be_classes(names, inner) and not (say_much and are_lettered(names)):
            found[level] = names
        paths = [join(path, name) for path, below in inner.items() for name in below[:NUM_SAMPLED]]
    return found


def _several_levels(
    place: SourcePlace, tops: list[str], lower: dict[int, list[str]], others: list[Change]
) -> CallError:
    folders = " and ".join(listed(names) for names in lower.values())
    num = "two" if len(lower) == 1 else "several"
    problem = (
        f"{place.shown}: {listed(tops)} hold folders such as {folders}; either of the {num} levels may be the class"
    )
    changes = [
        place.tree({"class_level": level}, f"{listed(names)} are classes, in every folder")
        for level, names in lower.items()
    ]
    upper = [] if parts_of_data(tops) else [place.tree(FORCED, f"{listed(tops)} are classes")]
    return RefusalError(problem, [changes[0], *upper, *changes[1:], *others])


def _may_be_classes(names: list[str], inner: dict[str, list[str]]) -> bool:
    """Return whether folders of a lower level may be classes: dates are none, and names that all upper folders have."""
    if parts_of_data(names):
        return False
    repeat = len(inner) > 1 and len({tuple(below) for below in inner.values()}) == 1
    return len(names) > 1 and (repeat or len([name for name in names if not says_nothing(name)]) > 1)


def _refuse_uneven(folder: Folder, inner: dict[str, list[str]], excluded: str | None, place: SourcePlace) -> None:
    """Refuse folders of images next to a folder in which folders divide the images."""
    flat = [top for top, names in inner.items() if not names and has_images(folder, top)]
    deep = [
        top
        for top, names in inner.items()
        if not has_images(folder, top)
        and len([name for name in names if holds_image(folder, join(top, name))]) > 1
        and _may_be_classes([name for name in names if not name.isdecimal()], {})
    ]
    if not flat or not deep:
        return
    problem = (
        f"{place.shown}: {listed(deep)} {'holds' if len(deep) == 1 else 'hold'} folders such as "
        f"{listed(inner[deep[0]])}, and {listed(flat)} only images, so the class may be at either level"
    )
    changes = trees_alone(folder, deep, excluded, place)
    if not all(map(says_images, inner)):
        changes.append(place.tree(FORCED, "each folder at the top is a class"))
    raise RefusalError(problem, changes)
