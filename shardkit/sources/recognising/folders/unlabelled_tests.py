"""Find the folders of test images without labels next to folders of labelled ones.

train/cat/1.jpg, test_stg1/2.jpg               competitions: the labels of the test are secret
train/cat/1.jpg, test/part0/2.jpg, test/part1/3.jpg
"""

from collections.abc import Mapping, Sequence

from shardkit.sources.recognising.folders.class_folders import LabelRoot, label_folders
from shardkit.sources.recognising.folders.split_folders import mentioned_split, number_of_word
from shardkit.storage import Folder


def unlabelled_tests(
    folder: Folder, names: Sequence[str], splits: Sequence[str], excluded: str | None
) -> dict[str, str]:
    """Return the folders whose names mention a split for testing and that hold images only, with their splits."""
    labels = {label.lower() for name in splits for label in label_folders(folder, name, excluded)}
    found = {name: split for name in names if (split := mentioned_split(name)) and split != "train"}
    return {
        name: split
        for name, split in found.items()
        # test_cat/ next to train/cat/ may be of the class.
        if labels and not any(label in name.lower() for label in labels) and not label_folders(folder, name, excluded)
    }


def tests_in_parts(inner: Mapping[LabelRoot, Sequence[str]]) -> list[LabelRoot]:
    """Return the folders of splits whose images are divided by numbers: ``test/part0`` is no class of ``train``."""
    words = {root: {number_of_word(name) for name in names} for root, names in inner.items() if names}
    trained = [root for root in words if root.split == "train"]
    # test/class1 may be train/1.
    if not trained or any(name.isdecimal() for root in trained for name in inner[root]):
        return []
    known = set().union(*(words[root] for root in trained))
    return [
        root
        for root, found in words.items()
        if root.split != "train" and len(found) == 1 < len(inner[root]) and not found & (known | {None})
    ]
