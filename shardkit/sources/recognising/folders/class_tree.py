"""Decide how a tree of folders is read: where its splits, its labels and its unlabelled images are.

    cat/1.jpg                    labels
    Train_set/cat/1.jpg          splits, then labels; folders of the same names between them are skipped
    cat/train/1.jpg              labels, then splits
    flowers/rose/1.jpg           one folder around everything: the tree in it is read instead
    train/1.jpg                  no labels: see `flat_folders`

The first form that fits is taken. Whether it is the only one, `proving` finds out from all examples.
"""

from dataclasses import dataclass

from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.recognising.folders.class_folders import (
    ClassFolders,
    LabelRoot,
    innermost,
    label_folders,
    unlabelled_remark,
)
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, holds_image, image_names, listed
from shardkit.sources.recognising.folders.masks.instances import refuse_instances
from shardkit.sources.recognising.folders.split_folders import (
    is_of_project,
    is_unlabelled,
    mentioned_split,
    splits_of,
)
from shardkit.sources.walking import join
from shardkit.storage import Folder

_MAX_PROBED = 50  # folders that are searched for images: of more, all are classes
_MAX_LOOSE = 10  # images next to label folders, such as charts and screenshots, that are left out


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
    refuse_instances(folder, names, shown)
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
        raise RefusalError(problem, remedy=f"if these are the splits, give {printable(nested[0])}/ as SOURCE")
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
