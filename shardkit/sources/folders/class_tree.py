"""Decide how a tree of folders is read: where its splits, its labels and its unlabelled images are.

    cat/1.jpg                    labels
    Train_set/cat/1.jpg          splits, then labels; folders of the same names between them are skipped
    cat/train/1.jpg              labels, then splits
    flowers/rose/1.jpg           one folder around everything: the tree in it is read instead
    train/1.jpg                  no labels: see `flat_folders`

A tree that can be read in two ways is refused with a command for each. Only the folders of the first levels are listed,
and of the label folders the first few.
"""

import posixpath
import re
from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.folders.annotated_data_check import adjacent_masks, find_annotated_data
from shardkit.sources.folders.class_folders import ClassFolders, LabelRoot, label_folders, read_as_classes
from shardkit.sources.folders.copies import copies_among, is_same_tree
from shardkit.sources.folders.masks.pairs import find_pairs
from shardkit.sources.folders.paired_folders import are_paired
from shardkit.sources.folders.source_place import SourcePlace
from shardkit.sources.folders.split_folders import (
    is_of_project,
    is_unlabelled,
    mentioned_split,
    mentions_split,
    mix_splits,
    says_nothing,
    splits_of,
)
from shardkit.sources.listing import ending
from shardkit.sources.walking import children, join
from shardkit.storage import Folder

_MAX_DEPTH = 4  # levels that are searched for a folder's first image, and folders between a split and its labels
_NUM_SAMPLED = 3  # label folders that are looked into
_FEW = 2  # ordinary folders next to one called "train": with more of them it is a class as they are
_SHOWN = 3  # folders named in a message
# Cameras' folders (DCF 2.0, 3.2.3: 100APPLE), years, months and days.
_CAMERA_FOLDER = re.compile(r"[1-9][0-9]{2}[A-Z0-9_]{5}|(?:19|20)[0-9]{2}(?:[-_.]?[01][0-9](?:[-_.]?[0-3][0-9])?)?")
_RANGE_STEP = 100  # folders 00000/, 01000/, 02000/ divide images by their numbers
_CLASS_FOLDERS = {"layout": "class-folders"}


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A folder that holds nothing but one folder, in which the source is.

    Attributes:
        name: The inner folder.
    """

    name: str


@dataclass(frozen=True, slots=True)
class FlatFolders:
    """Folders of images without label folders.

    Attributes:
        roots: The folders and their splits.
        left_out: Other folders, which have no labels.
    """

    roots: tuple[LabelRoot, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copies:
    """Folders that repeat what is next to them, file by file: the tree is read without them.

    Attributes:
        names: The folders.
    """

    names: tuple[str, ...]


def read_tree(
    folder: Folder, excluded: str | None, place: SourcePlace
) -> ClassFolders | FlatFolders | Wrapper | Copies:
    """Decide how a tree is read that no other layout recognises.

    Args:
        folder: Root of the tree.
        excluded: Path below it that is not listed; None for none.
        place: The tree's place in the source.

    Raises:
        CallError: The tree can be read in several ways; the message has the commands.
    """
    names = label_folders(folder, "", excluded)
    if not names:
        return FlatFolders((LabelRoot("", None),))
    splits = splits_of(names)
    _refuse_annotated(folder, names, splits, excluded, place)
    ordinary = [name for name in names if name not in splits and not is_unlabelled(name)]
    if splits and ordinary:
        # Folders such as docs/ hold no images; class folders do.
        ordinary = [name for name in ordinary if _holds_image(folder, name)]
    if splits and not ordinary:
        unused = tuple(name for name in names if name not in splits and not is_unlabelled(name))
        unlabelled = [name for name in names if is_unlabelled(name) and name not in splits]
        return _below_splits(folder, excluded, place, splits, unlabelled, unused)
    if splits and not _are_classes(folder, list(splits), ordinary):
        copies = copies_among(folder, names)
        if ordinary == [*copies] and all(is_same_tree(folder, *one) for one in copies.items()):
            return Copies(tuple(copies))
        raise _mixed_level(folder, place, list(splits), ordinary, excluded)
    if len(names) == 1 and not splits:
        return _one_folder(folder, names[0], place)
    return _labels(folder, names, excluded, place, list(splits))


def _below_splits(
    folder: Folder,
    excluded: str | None,
    place: SourcePlace,
    splits: dict[str, str],
    unlabelled: list[str],
    unused: tuple[str, ...],
) -> ClassFolders | FlatFolders | Wrapper:
    roots = [LabelRoot(_innermost(folder, name, excluded), split) for name, split in splits.items()]
    inner = {root: label_folders(folder, root.path, excluded) for root in roots}
    labelled = tuple(root for root in roots if inner[root])
    if len(roots) == 1 and labelled and splits_of(inner[roots[0]]).keys() == set(inner[roots[0]]):
        is_alone = not unlabelled and not unused and not _has_images(folder, "")
        if is_alone and not _has_images(folder, roots[0].path):
            return Wrapper(roots[0].path)  # train/{train,test}/…
    nested = [root.path for root in labelled if len(splits_of(inner[root])) > 1]
    if nested:
        problem = f"{place.shown}: {_listed(nested)} itself contains split folders: {_listed(inner[labelled[0]])}"
        raise RefusalError(problem, [*place.inside(nested, "the splits are in this folder"), _forced(place)])
    flat = [root for root in roots if not inner[root]]
    if not labelled:
        return FlatFolders(tuple(flat), tuple(unlabelled))
    with_images = [root for root in flat if _holds_image(folder, root.path)]
    if no_labels := [root.path for root in with_images if root.split == "train"]:
        problem = (
            f"{place.shown}: {_listed(no_labels)} has images and no label folders, unlike {_listed([labelled[0].path])}"
        )
        commands = [
            place.without(no_labels, f"without {_listed(no_labels)}"),
            place.whole({"unlabelled": True}, "all images, without labels"),
        ]
        raise RefusalError(problem, commands)
    for root in labelled:
        sampled = [join(root.path, name) for name in inner[root] if not is_unlabelled(name)][:_NUM_SAMPLED]
        _refuse_prefixes(folder, sampled, place)
        if lower := _lower_levels(folder, sampled, excluded):
            raise _several_levels(place, sampled, lower, [])
    left_out = (*unlabelled, *(root.path for root in with_images))
    remark = "".join(f"; note: {printable(path)}/ is left out, as images without labels" for path in left_out)
    return ClassFolders(folder, labelled, excluded, remark, left_out, unused, skips_unlabelled=True)


def _innermost(folder: Folder, path: str, excluded: str | None) -> str:
    """Return the folder that holds a split's labels: train/ or, as archives are unpacked, train/train/."""
    for _ in range(_MAX_DEPTH):
        names = label_folders(folder, path, excluded)
        outer = posixpath.basename(path)
        if len(names) != 1 or _has_images(folder, path):
            return path
        same = names[0].lower() == outer.lower() or splits_of([names[0]]).values() == splits_of([outer]).values()
        if not (same or says_nothing(names[0]) or is_unlabelled(names[0])):
            return path
        path = join(path, names[0])
    return path


def _one_folder(folder: Folder, name: str, place: SourcePlace) -> FlatFolders | Wrapper:
    loose = [one.name for one in children(folder) if not one.is_folder and ending(one.name) in IMAGE_ENDINGS]
    kinds = sorted({posixpath.splitext(path)[1] for path in loose})  # globs distinguish .jpg and .JPG
    if kinds and not _has_images(folder, name):
        problem = f"{place.shown}: there are images next to the only folder, {printable(name)}/"
        inner = place.without([f"*{kind}" for kind in kinds], f"only the images in {printable(name)}/", files=True)
        raise RefusalError(
            problem, [inner, place.whole({"unlabelled": True}, "all images, without labels"), _forced(place)]
        )
    if kinds:
        return FlatFolders((LabelRoot("", None), LabelRoot(name, None)))
    return FlatFolders((LabelRoot(name, None),)) if _has_images(folder, name) else Wrapper(name)


def _labels(
    folder: Folder, names: list[str], excluded: str | None, place: SourcePlace, as_labels: list[str]
) -> ClassFolders | FlatFolders | Copies:
    if mix_splits(names):
        problem = (
            f"{place.shown}: folder names contain a split and another word ({_listed(names)}), so the class is unclear"
        )
        raise RefusalError(problem, [_forced(place)])
    are_dates = all(map(_CAMERA_FOLDER.fullmatch, names))
    if are_dates or _are_ranges(names):
        what = "camera folders or dates" if are_dates else "ranges of numbers"
        problem = f"{place.shown}: {_listed(names)} look like {what}, not like classes"
        raise RefusalError(problem, [place.whole({"unlabelled": True}, "images without labels"), _forced(place)])
    if are_paired(folder, names):
        problem = (
            f"{place.shown}: {_listed(names)} hold images of the same names that show the same, so they are no classes"
        )
        raise RefusalError(problem, [*place.inside(names, "only these images"), _forced(place)])
    _refuse_others(folder, names, place)
    if copies := copies_among(folder, names):
        if len(copies) < len(names) and all(is_same_tree(folder, *one) for one in copies.items()):
            return Copies(tuple(copies))
        problem = f"{place.shown}: {_listed([*copies])} may be a copy of what is next to it, with other files"
        if len(copies) > 1:
            problem = f"{place.shown}: {_listed([*copies])} may be copies of what is next to them, with other files"
        without = place.without([*copies], f"without {_listed([*copies])}, a copy")
        raise RefusalError(problem, [without, _forced(place)])
    remark = read_as_classes(as_labels, names)
    left_out = [name for name in names if is_unlabelled(name)]
    remark += "".join(f"; note: {printable(name)}/ is left out, as images without labels" for name in left_out)
    sampled = [name for name in names if name not in left_out][:_NUM_SAMPLED]
    inner = {name: label_folders(folder, name, excluded) for name in sampled}
    without_images = all(inner[name] and not _has_images(folder, name) for name in sampled)
    if without_images and all(splits_of(below).keys() == set(below) for below in inner.values()):
        return ClassFolders(folder, excluded=excluded, remark=remark, splits_below=True, skips_unlabelled=True)
    if split_up := [name for name, below in inner.items() if len(set(splits_of(below).values())) > 1]:
        problem = (
            f"{place.shown}: {_listed(split_up)} {'contains' if len(split_up) == 1 else 'contain'} split folders "
            f"({_listed(inner[split_up[0]])}), but other class folders do not"
        )
        raise RefusalError(problem, [_forced(place, "each folder is a class; the splits in it are mixed")])
    _refuse_prefixes(folder, sampled, place)
    if lower := _lower_levels(folder, sampled, excluded):
        is_common = len(set.intersection(*map(set, inner.values()))) > 1
        inside = place.inside(sampled[:1], f"{_listed(inner[sampled[0]])} are classes, and only {sampled[0]} is read")
        raise _several_levels(place, sampled, lower, inside if is_common else [])
    if without_images and sampled:
        first = sampled[0]
        remark += f"; note: folders in a class, such as {printable(join(first, inner[first][0]))}/, are parts of it"
    return ClassFolders(folder, excluded=excluded, remark=remark, skips_unlabelled=True)


def _refuse_prefixes(folder: Folder, tops: list[str], place: SourcePlace) -> None:
    """Refuse 0/a/, 1/f/, …: images spread over folders by the first characters of their names.

    Raises:
        RefusalError: The folders, and those in them, have names of one character.
    """
    inner = [name for path in tops for name in label_folders(folder, path, None)]
    names = [*(posixpath.basename(path) for path in tops), *inner]
    if not inner or len(tops) < 2 or any(len(name) > 1 for name in names):
        return
    if any(_holds_image(folder, path) for path in tops):
        first = join(tops[0], inner[0])
        problem = (
            f"{place.shown}: {printable(first)}/ and the like look like the first characters of the files' names, not "
            "like classes"
        )
        remedy = "if a table has the labels, write the images' paths into it, such as 0/a/0a1b.jpg"
        changes = [place.whole({"unlabelled": True}, "images without labels"), _forced(place)]
        raise RefusalError(problem, changes, remedy=remedy)


def _lower_levels(folder: Folder, tops: list[str], excluded: str | None) -> dict[int, list[str]]:
    """Return the names of folders at each lower level that may be the classes, by level; {} if the upper ones are.

    They are if images lie in them, or if each has one inner folder only: both levels then divide the images alike.

    Args:
        folder: Root of the tree.
        tops: The first few folders of the upper level, which is 1.
        excluded: Path of the output; None for none.
    """
    found: dict[int, list[str]] = {}
    is_divided, paths = False, tops
    for level in range(2, _MAX_DEPTH + 2):
        inner = {path: label_folders(folder, path, excluded) for path in paths}
        if not paths or not all(inner.values()) or any(_has_images(folder, path) for path in paths):
            break
        is_divided = is_divided or any(len(names) > 1 for names in inner.values())
        names = sorted({name for below in inner.values() for name in below})
        if is_divided and len([name for name in names if not says_nothing(name)]) > 1:
            found[level] = names
        paths = [join(path, name) for path, below in inner.items() for name in below[:_NUM_SAMPLED]]
    return found


def _several_levels(
    place: SourcePlace, tops: list[str], lower: dict[int, list[str]], others: list[Change]
) -> CallError:
    folders = " and ".join(_listed(names) for names in lower.values())
    num = "two" if len(lower) == 1 else "several"
    problem = (
        f"{place.shown}: {_listed(tops)} hold folders such as {folders}; either of the {num} levels may be the class"
    )
    changes = [
        place.tree({"class_level": level}, f"{_listed(names)} are classes, in every folder")
        for level, names in lower.items()
    ]
    return RefusalError(problem, [*changes, _forced(place, f"{_listed(tops)} are classes"), *others])


def _are_ranges(names: list[str]) -> bool:
    """Return whether folders are called by the number of their first image: ``00000``, ``01000``, ``02000``."""
    are_padded = len({len(name) for name in names}) == 1 and any(name.startswith("0") for name in names)
    return len(names) > 1 and are_padded and all(name.isdecimal() and int(name) % _RANGE_STEP == 0 for name in names)


def _refuse_others(folder: Folder, names: list[str], place: SourcePlace) -> None:
    """Refuse folders of a project, such as docs/, and of test images, next to folders with classes.

    Raises:
        RefusalError: There are some; the changes leave them out.
    """
    others, what = [name for name in names if is_of_project(name)], "a class"
    if not others and len(names) <= _FEW:
        others, what = [name for name in names if mentions_split(name)], "a class, but like a split"
    rest = [name for name in names if name not in others]
    if not others or not rest:
        return
    shown = [name for name in others if _holds_image(folder, name)] or others
    does = "does" if len(shown) == 1 else "do"
    problem = f"{place.shown}: {_listed(shown)} next to {_listed(rest)} {does} not look like {what}"
    changes = [place.without(others, f"without {_listed(shown)}"), _forced(place)]
    if "split" in what and len(others) == len(rest) == 1 and (split := mentioned_split(others[0])):
        inner = [set(label_folders(folder, name, None)) for name in names]
        if len(inner[0] & inner[1]) > 1:
            rest_split = "test" if split == "train" else "train"
            splits = {name: split if name in others else rest_split for name in (*rest, *others)}
            meaning = f"{_listed(rest)} is {rest_split}, {_listed(others)} is {split}"
            changes = [*place.as_splits(splits, meaning), *changes]
    raise RefusalError(problem, changes)


def _are_classes(folder: Folder, splits: list[str], ordinary: list[str]) -> bool:
    """Return whether the only folder with a split's name is a class: pictures of trains, never of tests."""
    is_train = [name.lower() for name in splits] == ["train"]
    return is_train and (len(ordinary) > _FEW or _has_images(folder, splits[0]))


def _mixed_level(
    folder: Folder, place: SourcePlace, splits: list[str], ordinary: list[str], excluded: str | None
) -> CallError:
    are = "is" if len(ordinary) == 1 else "are"
    problem = f"{place.shown}: {_listed(splits)} may be splits or classes: {_listed(ordinary)} {are} next to them"
    commands = [_forced(place)]
    if len(ordinary) > 1:
        commands.insert(0, place.without(splits, f"{_listed(ordinary)} are classes; {_listed(splits)} left out"))
    if len(splits) > 1 or label_folders(folder, splits[0], excluded):
        commands.insert(0, place.without(ordinary, f"splits; {_listed(ordinary)} left out"))
    return RefusalError(problem, commands)


def _refuse_annotated(
    folder: Folder, names: list[str], splits: dict[str, str], excluded: str | None, place: SourcePlace
) -> None:
    """Refuse a tree that looks like annotated images.

    Raises:
        CallError: It does; the message has the command that reads it as class folders.
    """
    below = [(name, label_folders(folder, name, excluded)) for name in splits]
    # In GTSRB, Final_Training/Images/ has the classes.
    inside = {name: label_folders(folder, _innermost(folder, name, excluded), excluded) for name in splits}
    below = [(name, inside[name] if len(inside[name]) > 1 else inner) for name, inner in below]
    # Test images without labels may be in test/images/.
    labels = [(name, inner) for name, inner in below if splits[name] != "test" or len(inner) > 1]
    if not splits and len(names) == 1:
        return  # the only folder, such as images/, is no class
    if sign := find_annotated_data(folder, [*labels, ("", names)]):
        problem = (
            f"{place.shown}: this looks like annotated images (found {sign}), but no layout matches, such as COCO "
            "(annotations/*.json), Pascal VOC (Annotations/*.xml next to JPEGImages/), YOLO (images/ next to labels/ "
            "and classes.txt) or masks (masks/ next to images/)"
        )
        remedy = "arrange the files like one of the layouts in `shardkit help layouts`"
        changes: list[Change] = []
        if any(part.masks for part in find_pairs(folder, is_explicit=True)):
            changes.append(place.tree({"layout": "masks"}, "images with their masks, without classes of images"))
        if hidden := _named_masks(folder, names):
            changes.append(place.whole({"ignore": (f"{hidden}/",)}, f"each folder is a class, without {hidden}/"))
        raise RefusalError(problem, [*changes, _forced(place)], remedy=remedy)
    for path in [join(name, inner[0]) for name, inner in labels if inner] or names[:_NUM_SAMPLED]:
        if found := adjacent_masks([one.name for one in children(folder, path) if ending(one.name) in IMAGE_ENDINGS]):
            problem = (
                f"{place.shown}: {printable(found[0])} in {printable(path)}/ is a mask of the image next to it by its "
                "name, and would be an image of a class; masks are read from a folder of their own"
            )
            without = place.whole({"ignore": (found[1],)}, "each folder is a class, without the masks")
            raise RefusalError(problem, [without, _forced(place, "each folder is a class, and masks are images")])


def _named_masks(folder: Folder, names: list[str]) -> str | None:
    """Return the name of folders of masks in the first label folders; None if one of them has none."""
    inner = [set(label_folders(folder, name, None)) for name in names[:_NUM_SAMPLED]]
    return next((name for name in sorted(set.intersection(*inner)) if name.lower() in {"mask", "masks"}), None)


def _has_images(folder: Folder, path: str) -> bool:
    return any(not one.is_folder and ending(one.name) in IMAGE_ENDINGS for one in children(folder, path))


def _holds_image(folder: Folder, path: str, depth: int = _MAX_DEPTH) -> bool:
    """Return whether a folder, or the first few folders in it, hold an image."""
    if _has_images(folder, path):
        return True
    inner = [one.name for one in children(folder, path) if one.is_folder]
    return depth > 0 and any(_holds_image(folder, join(path, name), depth - 1) for name in inner[:_NUM_SAMPLED])


def _forced(place: SourcePlace, meaning: str = "each folder is a class") -> Change:
    return place.tree(_CLASS_FOLDERS, meaning)


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"{printable(name)}/" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
