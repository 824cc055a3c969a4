"""Refuse folders next to each other of which some have names of classes and others of splits, tests or a project.

cat/, dog/, docs/           docs/ is left out, or each folder is a class
pets/, pets-test-set/       splits, or pets-test-set/ is left out
train/, test/, more_cats/   splits without more_cats/, or classes
"""

from shardkit.errors import CallError
from shardkit.refusals import RefusalError
from shardkit.sources.folders.class_folders import label_folders
from shardkit.sources.folders.class_levels import inner_splits, trees_alone
from shardkit.sources.folders.first_images import has_images, holds_image, listed
from shardkit.sources.folders.source_place import FORCED, SourcePlace
from shardkit.sources.folders.split_folders import is_of_project, mentioned_split, mentions_split
from shardkit.storage import Folder

_FEW = 2  # ordinary folders next to one called "train": with more of them it is a class as they are


def refuse_others(folder: Folder, names: list[str], excluded: str | None, place: SourcePlace) -> None:
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
    shown = [name for name in others if holds_image(folder, name)] or others
    does = "does" if len(shown) == 1 else "do"
    problem = f"{place.shown}: {listed(shown)} next to {listed(rest)} {does} not look like {what}"
    changes = [place.without(others, f"without {listed(shown)}"), place.tree(FORCED, "each folder is a class")]
    if divided := [name for name in shown if inner_splits(folder, name, excluded)]:  # split-folders writes output/
        beside = tuple(name for name in names if name not in divided)
        changes = [*trees_alone(folder, divided, excluded, place, beside), *changes]
    if "split" in what and len(others) == len(rest) == 1 and (split := mentioned_split(others[0])):
        inner = [set(label_folders(folder, name, None)) for name in names]
        if len(inner[0] & inner[1]) > 1:
            rest_split = "test" if split == "train" else "train"
            splits = {name: split if name in others else rest_split for name in (*rest, *others)}
            meaning = f"{listed(rest)} is {rest_split}, {listed(others)} is {split}"
            changes = [*place.as_splits(splits, meaning), *changes]
    raise RefusalError(problem, changes)


def are_classes(folder: Folder, splits: list[str], ordinary: list[str]) -> bool:
    """Return whether the only folder with a split's name is a class: pictures of trains, never of tests."""
    is_train = [name.lower() for name in splits] == ["train"]
    return is_train and (len(ordinary) > _FEW or has_images(folder, splits[0]))


def refusal_of_mixture(
    folder: Folder, place: SourcePlace, splits: list[str], ordinary: list[str], excluded: str | None
) -> CallError:
    """Return the refusal of folders of which some have names of splits, with the commands that read a part of them."""
    are = "is" if len(ordinary) == 1 else "are"
    problem = f"{place.shown}: {listed(splits)} may be splits or classes: {listed(ordinary)} {are} next to them"
    commands = [place.tree(FORCED, "each folder is a class")]
    if len(ordinary) > 1:
        commands.insert(0, place.without(splits, f"{listed(ordinary)} are classes; {listed(splits)} left out"))
    if len(splits) > 1 or label_folders(folder, splits[0], excluded):
        commands.insert(0, place.without(ordinary, f"splits; {listed(ordinary)} left out"))
    if divided := [name for name in ordinary if inner_splits(folder, name, excluded)]:
        beside = tuple(name for name in (*splits, *ordinary) if name not in divided)
        commands = [*trees_alone(folder, divided, excluded, place, beside), *commands]
    return RefusalError(problem, commands)
