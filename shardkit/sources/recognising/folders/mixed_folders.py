"""Refuse folders next to each other of which some have names of classes and others of splits.

train/, test/, more_cats/   splits without more_cats/
train/, cat/, dog/          train/ may be a class, if it holds images itself
"""

from shardkit.errors import CallError
from shardkit.refusals import RefusalError
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.folders.class_levels import inner_splits, trees_alone
from shardkit.sources.recognising.folders.first_images import has_images, listed
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.storage import Folder

FEW = 2  # ordinary folders next to one called "train": with more of them it is a class as they are


def are_classes(folder: Folder, splits: list[str], ordinary: list[str]) -> bool:
    """Return whether the only folder with a split's name is a class: pictures of trains, never of tests."""
    is_train = [name.lower() for name in splits] == ["train"]
    return is_train and (len(ordinary) > FEW or has_images(folder, splits[0]))


def refusal_of_mixture(
    folder: Folder, place: SourcePlace, splits: list[str], ordinary: list[str], excluded: str | None
) -> CallError:
    """Return the refusal of folders of which some have names of splits, with the commands that read a part of them."""
    are = "is" if len(ordinary) == 1 else "are"
    problem = f"{place.shown}: {listed(splits)} may be splits or classes: {listed(ordinary)} {are} next to them"
    # Pictures of trains, never of tests.
    is_class = [name.lower() for name in splits] == ["train"] and has_images(folder, splits[0])
    commands = [place.tree(FORCED, "each folder is a class")] if is_class else []
    if len(ordinary) > 1:
        commands.insert(0, place.without(splits, f"{listed(ordinary)} are classes; {listed(splits)} left out"))
    if len(splits) > 1 or label_folders(folder, splits[0], excluded):
        commands.insert(0, place.without(ordinary, f"splits; {listed(ordinary)} left out"))
    if divided := [name for name in ordinary if inner_splits(folder, name, excluded)]:
        beside = tuple(name for name in (*splits, *ordinary) if name not in divided)
        commands = [*trees_alone(folder, divided, excluded, place, beside), *commands]
    return RefusalError(problem, commands)
