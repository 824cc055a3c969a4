"""Images without labels: any tree of folders, for self-supervised training and for prediction.

Folders give the splits if their names mean splits; every other folder is just a part of the key.
"""

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Reading
from shardkit.sources.recognising.folders.class_folders import with_words
from shardkit.sources.recognising.folders.split_folders import is_unlabelled, splits_of
from shardkit.sources.walking import children, is_dataset

_OF_UNLABELLED = "unlabelled"  # the split of unlabeled_images/ next to train_images/


def open_unlabelled(opening: Opening) -> ReadingSource:
    """Open a tree of images without labels."""
    folder = opening.folder
    names = tree_folders(opening)
    while len(names) == 1 and len(children(folder)) == 1 and not splits_of(names):
        opening = opening.below(names[0])
        folder = opening.folder
        names = tree_folders(opening)
    if not names and not children(folder):
        msg = f"{folder.url}: the folder is empty; SOURCE is the folder that holds the images"
        raise CallError(msg)
    splits = splits_of(names)
    # One folder called "train" next to others may show trains.
    if len(splits) == 1 and any(name not in splits and not is_unlabelled(name) for name in names):
        splits = {}
    if splits:
        splits |= {name: _OF_UNLABELLED for name in names if name not in splits and is_unlabelled(name)}
    # Images in folders that are no splits are rejected: they may be of one.
    named = {name: splits.get(name) for name in names} if splits else {}
    reading = Reading(split=with_words(0, named) if splits else None)
    return open_reading(opening, reading, name=LAYOUTS["unlabelled"].title, is_strict=False)


def tree_folders(opening: Opening) -> list[str]:
    """Return the names of the folders of a tree, without the output and datasets that were written into it."""
    names = (entry.name for entry in children(opening.folder) if entry.is_folder)
    return [name for name in names if name != opening.excluded and not is_dataset(opening.folder, name)]
