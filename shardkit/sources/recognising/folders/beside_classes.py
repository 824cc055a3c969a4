"""Decide about what lies next to classes and splits: folders of a project, other test images, charts.

data/cat/1.jpg, docs/figure.png           docs/ is left out
pets/cat/1.jpg, pets_testset/cat/2.jpg    pets/ is train, and pets_testset/ test
pets/cat/1.jpg, pets_testset/2.jpg        pets_testset/ is left out
TEST/cat/1.jpg, TEST_SIMPLE/cat/2.jpg     both are test, if TEST_SIMPLE/ is no copy
cat/1.jpg, confusion.png                  confusion.png is left out
cat/1.jpg, dog/2.jpg, test/3.jpg          test/ is left out
photos/cat/1.jpg, slides/thumbs/1.jpg     slides/ is left out
pets/cat/1.jpg, output/train/cat/1.jpg    pets/ is left out, if output/ has all of its images
"""

from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.refusals import RefusalError
from shardkit.sources.file_names import ending
from shardkit.sources.recognising.folders.class_folders import ClassFolders, LabelRoot, label_folders
from shardkit.sources.recognising.folders.class_levels import inner_splits, innermost, trees_alone
from shardkit.sources.recognising.folders.copies import is_same_tree
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, holds_image, listed
from shardkit.sources.recognising.folders.mixed_folders import FEW
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.sources.recognising.folders.split_folders import (
    is_left_behind,
    is_of_project,
    mentioned_split,
    mentions_split,
    says_images,
    says_nothing,
)
from shardkit.sources.walking import children, is_image, join
from shardkit.storage import Folder

_MAX_LOOSE = 10  # images next to label folders, such as charts and screenshots, that are left out


@dataclass(frozen=True, slots=True)
class Without:
    """Folders and files that are left out: the tree is read without them.

    Attributes:
        paths: The folders and files; those of folders end in a slash.
        why: Why, as the end of a sentence with them.
    """

    paths: tuple[str, ...]
    why: str


def reading_without(names: list[str], one: str, several: str) -> Without:
    """Return a tree without some folders, and the reason in the words for one or for several."""
    return Without(tuple(f"{name}/" for name in names), f"{one if len(names) == 1 else several} not read")


def without_repeated(names: list[str]) -> Without:
    """Return a tree without folders that repeat others."""
    return reading_without(names, "repeats files next to it and is", "repeat files next to them and are")


def few_loose_images(folder: Folder, path: str, names: list[str]) -> list[str]:
    """Return the images next to label folders: none if they are many, which somebody may have to sort."""
    loose = [one.name for one in children(folder, path) if not one.is_folder and ending(one.name) in IMAGE_ENDINGS]
    if len(names) < 2 or len(loose) > _MAX_LOOSE:
        return []
    below = (one.name for name in names[:NUM_SAMPLED] for one in children(folder, join(path, name)))
    labelled = sum(map(is_image, below))
    return loose if len(loose) < labelled else []


def decide_about_others(
    folder: Folder, names: list[str], excluded: str | None, place: SourcePlace
) -> ClassFolders | Without | None:
    """Decide about folders of a project, such as docs/, and of test images, next to folders with classes.

    None if there are no such folders.
    """
    others = [name for name in names if is_of_project(name) and (holds_image(folder, name) or not is_left_behind(name))]
    what = "a class"
    if not others and len(names) <= FEW:
        others, what = [name for name in names if mentions_split(name)], "a class, but like a split"
    rest = [name for name in names if name not in others]
    if not others or not rest:
        return None
    inner = {name: label_folders(folder, innermost(folder, name, excluded), excluded) for name in names}
    if len(rest) == 1 and len(inner[rest[0]]) > 1 and not any(len(inner[name]) > 1 for name in others):
        if "split" not in what:
            return reading_without(others, "is no class by its name and is", "are no classes by their names and are")
        if mentioned_split(others[0]) == "test":
            return reading_without(others, "holds test images without labels and is", "")
    if len(others) == len(rest) == 1 and _divides(folder, others[0], rest[0], excluded):
        return reading_without(rest, f"holds the images that {printable(others[0])}/ has in splits and is", "")
    if "split" in what and len(others) == len(rest) == 1 and (split := mentioned_split(others[0])):
        one, other = rest[0], others[0]
        if len(inner[one]) > 1 and inner[one] == inner[other] and not is_same_tree(folder, other, one):
            splits = {one: "test" if split == "train" else "train", other: split}
            roots = [LabelRoot(innermost(folder, name, excluded), splits[name]) for name in names]
            remark = (
                f"; note: {printable(one)}/ is read as {splits[one]}, because {printable(other)}/ has the same classes"
            )
            return ClassFolders(folder, tuple(roots), excluded, remark, skips_unlabelled=True)
    shown = [name for name in others if holds_image(folder, name)] or others
    does = "does" if len(shown) == 1 else "do"
    problem = f"{place.shown}: {listed(shown)} next to {listed(rest)} {does} not look like {what}"
    changes = [place.without(others, f"without {listed(shown)}")]
    if all(has_images(folder, name) for name in rest):  # others are trees of classes
        changes.append(place.tree(FORCED, "each folder is a class"))
    if divided := [name for name in shown if inner_splits(folder, name, excluded)]:  # split-folders writes output/
        beside = tuple(name for name in names if name not in divided)
        changes = trees_alone(folder, divided, excluded, place, beside)
    is_pair = "split" in what and len(others) == len(rest) == 1
    if is_pair and (split := mentioned_split(others[0])) and len({*inner[rest[0]]} & {*inner[others[0]]}) > 1:
        rest_split = "test" if split == "train" else "train"
        splits = {rest[0]: rest_split, others[0]: split}
        changes = [*place.as_splits(splits, f"{listed(rest)} is {rest_split}, {listed(others)} is {split}"), *changes]
    raise RefusalError(problem, changes)


def _divides(folder: Folder, output: str, source: str, excluded: str | None) -> bool:
    """Return whether a folder has the images of another one in splits, as split-folders writes them.

    The first few images of the first class are looked up by name and size.
    """
    splits = [join(innermost(folder, output, excluded), name) for name in inner_splits(folder, output, excluded)]
    above = innermost(folder, source, excluded)
    classes = label_folders(folder, above, excluded)
    if not splits or len(classes) < 2 or any(label_folders(folder, path, excluded) != classes for path in splits):
        return False
    found, wanted = (
        {
            (one.name, one.num_bytes)
            for path in paths
            for one in children(folder, join(path, classes[0]))
            if is_image(one.name)
        }
        for paths in (splits, [above])
    )
    return bool(wanted) and found == wanted


def without_classes(folder: Folder, names: list[str], excluded: str | None) -> list[str]:
    """Return the folders next to the only one with classes, which is called by what it holds, such as Photos/.

    Photos/tumour/1.jpg and slides/thumbnails/1.jpg: one folder in another one divides no images.
    """
    inner = {name: label_folders(folder, name, excluded) for name in names}
    deep = [name for name in names if len(inner[name]) > 1 and not has_images(folder, name)]
    others = [name for name in names if name not in deep]
    if len(deep) != 1 or not (says_images(deep[0]) and says_nothing(deep[0])):
        return []
    return [] if any(has_images(folder, name) for name in others) else others


def unlabelled_next_to_classes(
    folder: Folder, splits: dict[str, str], ordinary: list[str], excluded: str | None
) -> bool:
    """Return whether folders of splits hold test images without labels next to classes, or to the folder of these."""

    def inner(name: str, *, of_split: bool) -> list[str]:
        return label_folders(folder, innermost(folder, name, excluded, of_split=of_split), excluded)

    if any(split == "train" or inner(name, of_split=True) for name, split in splits.items()):
        return False
    if len(ordinary) == 1:
        return len(inner(ordinary[0], of_split=False)) > 1
    return all(has_images(folder, name) for name in ordinary)


def other_test_sets(
    folder: Folder, splits: dict[str, str], ordinary: list[str], excluded: str | None
) -> tuple[dict[str, str], list[str]]:
    """Return other test images next to splits with classes, by their split, and those without labels.

    TEST_SIMPLE/ is a test set if it has the folders of TEST/ and is no copy of it; test_others/ has no labels if it has
    no folders. Nothing is returned unless it accounts for all folders.
    """
    inner = {
        name: label_folders(folder, innermost(folder, name, excluded, of_split=name in splits), excluded)
        for name in (*splits, *ordinary)
    }
    more, others = dict[str, str](), []
    for name in ordinary:
        split = mentioned_split(name)
        same = [one for one in splits if splits[one] == split and len(inner[one]) > 1]
        if not same or (inner[name] and set(inner[name]) != set(inner[same[0]])):
            if not is_of_project(name) or inner[name]:
                return {}, []
            others.append(name)
        elif not inner[name]:
            others.append(name)
        elif not is_same_tree(folder, name, same[0]):
            more[name] = split or ""
        else:
            return {}, []
    is_test = all(split != "train" for split in more.values())
    return (more, others) if is_test and any(len(inner[one]) > 1 for one in splits) else ({}, [])
