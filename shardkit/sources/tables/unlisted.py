"""Count the images next to a table's images that the table does not name, so that none is lost silently."""

import hashlib
import posixpath
from array import array
from collections.abc import Iterable

import numpy as np

from shardkit.errors import MachineError
from shardkit.sources.listing import IMAGE_ENDINGS, ending
from shardkit.sources.walking import children, join
from shardkit.storage import Entry, Folder


def count_unlisted(folder: Folder, keys: Iterable[str]) -> int:
    """Return the number of images in the keys' folders that have none of these keys.

    Every folder is listed once; other folders are not listed. A folder that may be read but not listed counts 0.
    Memory: eight bytes per key, a hash of 64 bits.
    """
    named = array("Q")
    folders: dict[str, None] = {}
    for key in keys:
        named.append(_hash(key))
        folders[posixpath.dirname(key)] = None
    # Sorted once: np.isin sorts again for each of a thousand folders.
    hashes = np.sort(np.frombuffer(named, np.uint64))
    num_unnamed = 0
    for path in folders:
        there = [
            _hash(join(path, entry.name))
            for entry in list_if_allowed(folder, path)
            if not entry.is_folder and ending(entry.name) in IMAGE_ENDINGS
        ]
        wanted = np.array(there, np.uint64)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        num_unnamed += int((hashes[at] != wanted).sum())
    return num_unnamed


def list_if_allowed(folder: Folder, path: str) -> list[Entry]:
    """Return the entries of a folder; none if listing is refused, as for users who may only read a bucket's objects.

    Raises:
        MachineError: The folder cannot be listed for another reason.
    """
    try:
        return children(folder, path)
    except MachineError as error:
        if isinstance(error.__cause__, PermissionError) or "ACCESS_DENIED" in str(error):
            return []
        raise


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")
