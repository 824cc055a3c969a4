"""The lists of splits of Pascal VOC: ``ImageSets/Main/train.txt``, which masks have, too."""

import posixpath

from shardkit.sources.walking import children, join
from shardkit.storage import Folder, os_errors_as

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


def read_lists(folder: Folder, path: str) -> dict[str, set[str]]:
    """Read split lists from a folder such as ``ImageSets/Main``: splits by stem; empty if there is no list."""
    splits: dict[str, set[str]] = {}
    for name, split in chosen_lists(folder, path).items():
        with os_errors_as("read", folder.url_of(path)):
            text = folder.read(join(path, name)).decode("utf-8-sig", "surrogateescape")
        for stem in filter(None, map(str.strip, text.split("\n"))):
            splits.setdefault(stem, set()).add(split)
    return splits
