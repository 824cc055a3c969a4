"""Decide how a tree of folders is read: where its splits, its labels and its unlabelled images are.

    cat/1.jpg                    labels
    Train_set/cat/1.jpg          splits, then labels; folders of the same names between them are skipped
    cat/train/1.jpg              labels, then splits
    flowers/rose/1.jpg           one folder around everything: the tree in it is read instead
    train/1.jpg                  no labels: see `unmarked_folders`

The first form that fits is taken. Whether it is the only one, `proving` finds out from all examples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.options import Opening
from shardkit.sources.recognising.folders.class_folders import (
    ClassFolders,
    LabelRoot,
    innermost,
    label_folders,
    unlabelled_remark,
)
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, holds_image, image_names, listed
from shardkit.sources.recognising.folders.split_folders import (
    is_of_project,
    is_unlabelled,
    mentioned_split,
    splits_of,
)
from shardkit.sources.walking import children, folders_in, is_image, join
from shardkit.storage import Folder

_MAX_PROBED = 50  # folders that are searched for images: of more, all are classes
_MAX_LOOSE = 10  # images next to label folders, such as charts and screenshots, that are left out
_IMAGES = re.compile("images?", re.IGNORECASE)
_MASKS = re.compile("masks?", re.IGNORECASE)
_NUM_SAMPLED = 8  # folders
MERGED = "merged"  # folder that the program writes
_PROGRAM = f"""\
from pathlib import Path
import numpy as np
from PIL import Image
folders = sorted(Path().glob('*/%(masks)s'))
for name in ('images', 'masks'):
    Path({MERGED!r}, name).mkdir(parents=True)
for folder in folders:
    [path] = (folder.parent / '%(images)s').iterdir()
    masks = [np.asarray(Image.open(one).convert('L')) > 0 for one in folder.iterdir()]
    Path({MERGED!r}, 'images', folder.parent.name + path.suffix).write_bytes(path.read_bytes())
    Image.fromarray(np.any(masks, 0).astype('uint8')).save(Path({MERGED!r}, 'masks', folder.parent.name + '.png'))
"""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A folder that holds nothing but one folder, in which the source is."""

    name: str  # the inner folder


@dataclass(frozen=True, slots=True)
class FlatFolders:
    """Folders of images without label folders."""

    roots: tuple[LabelRoot, ...]  # the folders and their splits
    left_out: tuple[str, ...] = ()  # other folders, which have no labels


@dataclass(frozen=True, slots=True)
class Without:
    """Folders and files that are left out: the tree is read without them."""

    paths: tuple[str, ...]  # the folders and files; those of folders end in a slash
    why: str  # why, as the end of a sentence with them


def read_tree(folder: Folder, excluded: str | None, shown: str) -> ClassFolders | FlatFolders | Wrapper | Without:
    """Decide how a tree is read that no other layout recognises; messages show it so."""
    names = label_folders(folder, "", excluded)
    if len(names) <= _MAX_PROBED:
        names = [name for name in names if holds_image(folder, name)] or names
    if not names:
        return FlatFolders((LabelRoot("", None),))
    splits = splits_of(names)
    _refuse_instances(folder, names, shown)
    ordinary = [name for name in names if name not in splits and not is_unlabelled(name)]
    of_project = [name for name in ordinary if is_of_project(name)]
    rest = [name for name in names if name not in of_project]
    is_plain = of_project and rest and not any(_has_classes(folder, name, excluded) for name in of_project)
    if is_plain and (splits.keys() == {*rest} or (len(rest) == 1 and _has_classes(folder, rest[0], excluded))):
        why = "is no class by its name and is" if len(of_project) == 1 else "are no classes by their names and are"
        return Without(tuple(f"{name}/" for name in of_project), f"{why} not read")
    tests = [name for name in ordinary if mentioned_split(name) == "test" and not label_folders(folder, name, excluded)]
    if splits and {*tests} == {*ordinary}:
        unlabelled = [name for name in names if is_unlabelled(name) and name not in splits]
        return _below_splits(folder, excluded, shown, splits, [*unlabelled, *tests])
    if len(names) == 1 and not splits:
        return _one_folder(folder, names[0], excluded)
    return _labels(folder, names, excluded)


def _has_classes(folder: Folder, name: str, excluded: str | None) -> bool:
    return len(label_folders(folder, innermost(folder, name, excluded), excluded)) > 1


def _below_splits(
    folder: Folder, excluded: str | None, shown: str, splits: dict[str, str], unlabelled: list[str]
) -> ClassFolders | FlatFolders | Wrapper:
    roots = [LabelRoot(innermost(folder, name, excluded, of_split=True), split) for name, split in splits.items()]
    inner = {root: label_folders(folder, root.path, excluded) for root in roots}
    labelled = tuple(root for root in roots if inner[root])
    if not labelled:
        return FlatFolders(tuple(roots), tuple(unlabelled))
    if nested := [root.path for root in labelled if len(splits_of(inner[root])) > 1]:
        is_alone = len(roots) == 1 and not unlabelled and not has_images(folder, "")
        if is_alone and not has_images(folder, nested[0]):
            return Wrapper(nested[0])
        problem = f"{shown}: {listed(nested)} itself contains split folders: {listed(inner[labelled[0]])}"
        place = "that folder, unpacked," if Opening(folder).is_in_archive else printable(join(shown, nested[0]))
        raise RefusalError(problem, remedy=f"if these are the splits, give {place} as SOURCE")
    flat = [root for root in roots if not inner[root] and holds_image(folder, root.path)]
    if no_labels := [root.path for root in flat if root.split == "train"]:
        problem = f"{shown}: {listed(no_labels)} has images and no label folders, unlike {listed([labelled[0].path])}"
        raise RefusalError(problem, remedy=f"sort its images into folders, or leave it out with {named('ignore')}")
    left_out = (*unlabelled, *(root.path for root in flat))
    return ClassFolders(folder, labelled, excluded, unlabelled_remark(left_out), left_out)


def _one_folder(folder: Folder, name: str, excluded: str | None) -> FlatFolders | Wrapper:
    if image_names(folder, ""):
        return FlatFolders((LabelRoot("", None), LabelRoot(name, None)))
    is_flat = has_images(folder, name) and not _loose_images(folder, name, label_folders(folder, name, excluded))
    return FlatFolders((LabelRoot(name, None),)) if is_flat else Wrapper(name)


def _loose_images(folder: Folder, path: str, names: list[str]) -> list[str]:
    """Return the images next to label folders: none if they are many, which somebody may have to sort."""
    loose = image_names(folder, path)
    if len(names) < 2 or len(loose) > _MAX_LOOSE:
        return []
    labelled = sum(len(image_names(folder, join(path, name))) for name in names[:NUM_SAMPLED])
    return loose if len(loose) < labelled else []


def _labels(folder: Folder, names: list[str], excluded: str | None) -> ClassFolders | Without:
    if loose := _loose_images(folder, "", names):
        be, are = ("is an image", "is") if len(loose) == 1 else ("are images", "are")
        return Without(tuple(loose), f"{be} next to the classes and {are} not read")
    inner = {name: label_folders(folder, name, excluded) for name in names[:NUM_SAMPLED]}
    splits_below = all(
        below and not has_images(folder, name) and splits_of(below).keys() == {*below} for name, below in inner.items()
    )
    return ClassFolders(folder, excluded=excluded, splits_below=splits_below)


def _refuse_instances(folder: Folder, names: Sequence[str], shown: str) -> None:
    """Refuse folders that each hold one image and a mask for each object in it."""
    found = [_pair(folder, name) for name in names[:_NUM_SAMPLED]]
    if not found or None in found or len(set(found)) > 1 or found[0] is None:
        return
    images, masks = found[0]
    several = any(_num_images(folder, join(name, masks)) > 1 for name in names[:_NUM_SAMPLED])
    if not several or any(_num_images(folder, join(name, images)) != 1 for name in names[:_NUM_SAMPLED]):
        return
    of_each = f"one image and a mask for each object in {masks}/"
    problem = f"{shown}: each folder, such as {printable(names[0])}/, has {of_each}"
    is_packed = Opening(folder).is_in_archive
    first = "unpack the archives, then " if is_packed else ""
    given = f"the folder {MERGED}" if is_packed else join(shown, MERGED)
    remedy = (
        f"{first}merge the masks of an image into one of class numbers: run the program below in this folder, and give "
        f"{given} as SOURCE (class 1 is any object; the objects are not told apart)"
    )
    program = _PROGRAM % {"images": images, "masks": masks}
    raise RefusalError(problem, remedy=remedy, appendix=f"python - <<'END'\n{program}END")


def _pair(folder: Folder, name: str) -> tuple[str, str] | None:
    inner = folders_in(folder, name)
    images = [one for one in inner if _IMAGES.fullmatch(one)]
    masks = [one for one in inner if _MASKS.fullmatch(one)]
    return (images[0], masks[0]) if len(images) == len(masks) == 1 else None


def _num_images(folder: Folder, path: str) -> int:
    return sum(is_image(one.name) for one in children(folder, path) if not one.is_folder)
