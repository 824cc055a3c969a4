"""Find the split in the path of a packed file: ``train/0001.tar`` or ``data/test-00000-of-00002.parquet``."""

import re

from shardkit.naming import split_of_folder

_BETWEEN_WORDS = re.compile(r"[^A-Za-z]+")


def split_of_path(path: str) -> str | None:
    """Return the split of the nearest folder with a split's name, else of the file name's words; None for neither.

    A file name with words for two splits has none.
    """
    *folders, name = path.split("/")
    for folder in reversed(folders):
        if split := split_of_folder(folder):
            return split
    found = {split for word in _BETWEEN_WORDS.split(name) if (split := split_of_folder(word))}
    return found.pop() if len(found) == 1 else None
