"""The lists of splits of Pascal VOC: ``ImageSets/Main/train.txt``, which masks have, too."""

import posixpath

from shardkit.sources.walking import children
from shardkit.storage import Folder

_LISTS = {"train": "train", "val": "validation", "test": "test"}
_WHOLE_LIST = "trainval"


def chosen_lists(folder: Folder, path: str) -> dict[str, str]:
    """Return the names of the lists in a folder such as ``ImageSets/Main`` that give splits, and their splits."""
    names = {
        posixpath.splitext(entry.name)[0]: entry.name for entry in children(folder, path) if entry.name[-4:] == ".txt"
    }
    if {"train", "val"} <= names.keys() or _WHOLE_LIST not in names:
        chosen = {name: split for name, split in _LISTS.items() if name in names}
    else:
        chosen = {_WHOLE_LIST: "train", **({"test": "test"} if "test" in names else {})}
    return {names[name]: split for name, split in chosen.items()}
