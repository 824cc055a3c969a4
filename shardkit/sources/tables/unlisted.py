"""Images beside those that a table names, and that it does not name: counted, so that none is lost silently."""

import hashlib
import posixpath
from array import array
from collections.abc import Iterable

import numpy as np

from shardkit.errors import MachineError
from shardkit.sources.listing import IMAGE_ENDINGS, ending
from shardkit.sources.walking import children, join
from shardkit.storage import Entry, Folder


def count_unnamed(folder: Folder, keys: Iterable[str]) -> int:
    """How many images of the folders that these keys are in have none of these keys.

    Each folder is listed once, and others are not looked into; one that may be read from but not listed counts none.
    Memory: eight bytes a key, by a hash of 64 bits.
    """
    named = array("Q")
    folders: dict[str, None] = {}
    for key in keys:
        named.append(_hash(key))
        folders[posixpath.dirname(key)] = None
    hashes = np.unique(np.frombuffer(named, np.uint64))
    num_unnamed = 0
    for path in folders:
        there = [
            _hash(join(path, entry.name))
            for entry in listed_if_allowed(folder, path)
            if not entry.is_folder and ending(entry.name) in IMAGE_ENDINGS
        ]
        num_unnamed += int(np.isin(np.array(there, np.uint64), hashes, invert=True).sum())
    return num_unnamed


def listed_if_allowed(folder: Folder, path: str) -> list[Entry]:
    """What a folder holds; nothing where listing is refused, as to who may only read the objects of a bucket.

    Raises:
        MachineError: it cannot be listed for another reason.
    """
    try:
        return children(folder, path)
    except MachineError as error:
        if isinstance(error.__cause__, PermissionError) or "ACCESS_DENIED" in str(error):
            return []
        raise


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")
