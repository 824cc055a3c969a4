"""Images without labels: any tree of folders, for self-supervised training and for prediction.

Folders give the splits if their names mean splits; every other folder is just a part of the key.
"""

from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.layouts import LAYOUTS
from shardkit.reject_reasons import BAD_SPLIT
from shardkit.sources.columns import LISTING_SCHEMA, UNLABELLED
from shardkit.sources.context import Opening
from shardkit.sources.folders.image_tree import ImageTree, tree_folders
from shardkit.sources.folders.split_folders import is_unlabelled, splits_of
from shardkit.sources.listing import BadRecord, ListingRow
from shardkit.sources.walking import children
from shardkit.storage import Entry

_OF_UNLABELLED = "unlabelled"  # the split of unlabeled_images/ next to train_images/


@dataclass(frozen=True, slots=True)
class UnlabelledImages(ImageTree):
    """A tree of images without labels."""

    schema = pa.schema([*LISTING_SCHEMA, UNLABELLED])
    layout = LAYOUTS["unlabelled"].title

    def describe(self) -> str:
        """See Source."""
        splits = ", the split from the first folder" if self.folder_splits else ""
        return f"{self.folder.url}: read as {self.layout}{splits}"

    def row(self, path: str, entry: Entry, split: str | None) -> ListingRow:
        """See ImageTree."""
        if self.folder_splits and split is None:
            raise BadRecord(BAD_SPLIT, "the image lies outside the split folders; move it into one")
        return ListingRow(path, split, None, entry.num_bytes, entry.mtime_ns)


def open_unlabelled(opening: Opening) -> UnlabelledImages:
    """Open a tree of images without labels.

    Raises:
        CallError: Nothing is in the folder.
    """
    folder, excluded = opening.folder, opening.excluded
    names = tree_folders(folder, excluded)
    while len(names) == 1 and len(children(folder)) == 1 and not splits_of(names):
        opening = opening.below(names[0])
        folder, excluded = opening.folder, opening.excluded
        names = tree_folders(folder, excluded)
    if not names and not children(folder):
        msg = f"{folder.url}: the folder is empty; SOURCE is the folder that holds the images"
        raise CallError(msg)
    splits = splits_of(names)
    # One folder called "train" next to others may show trains.
    if len(splits) == 1 and any(name not in splits and not is_unlabelled(name) for name in names):
        splits = {}
    if splits:
        splits |= {name: _OF_UNLABELLED for name in names if name not in splits and is_unlabelled(name)}
    return UnlabelledImages(folder, tuple(splits.items()), excluded)
