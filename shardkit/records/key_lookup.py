"""Find the rows of keys.

Comparing a key with a million others takes 4 ms, sorting them half a second. The first lookups compare; a program that
looks up more keys sorts them once, and keeps 4 bytes for each example.
"""

import bisect
import difflib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_COMPARING_LOOKUPS = 16
_SUGGESTIONS = 3
_MAX_COMPARED = 1000  # keys compared with an unknown one: a tenth of a second


class KeyLookup:
    """The rows of the keys of a split. Safe for threads: at worst, two of them sort."""

    def __init__(self, keys: pa.ChunkedArray) -> None:
        """Look up keys in a column of them."""
        self._keys = keys
        self._num_lookups = 0
        self._sorted: npt.NDArray[np.integer] | None = None  # rows in the order of their keys

    def row(self, key: str) -> int:
        """Return the first row with a key; -1 if there is none."""
        if not _is_unicode(key):
            return -1
        self._num_lookups += 1
        if self._sorted is None:
            if self._num_lookups <= _COMPARING_LOOKUPS:
                return int(pc.index(self._keys, key).as_py())
            order = pc.sort_indices(self._keys).to_numpy()
            self._sorted = order.astype(np.uint32) if len(order) <= np.iinfo(np.uint32).max else order
        # Arrow compares the bytes of UTF-8, which gives the order of Python's strings, too.
        place = bisect.bisect_left(self._sorted, key, key=self._key_of)
        found = place < len(self._sorted) and self._key_of(self._sorted[place]) == key
        return int(self._sorted[place]) if found else -1

    def _key_of(self, row: np.integer) -> str:
        return str(self._keys[int(row)].as_py())


def similar_keys(keys: pa.ChunkedArray, key: str) -> list[str]:
    """Return up to three keys like one that does not exist.

    Args:
        keys: The keys that exist.
        key: The other one.

    Returns:
        Keys with the same file name, else similar ones in the same folder, else similar ones among the first keys.
    """
    if not _is_unicode(key):
        return []
    folder, slash, name = key.rpartition("/")
    same_name = keys.filter(pc.or_(pc.equal(keys, name), pc.ends_with(keys, f"/{name}"))).slice(0, _SUGGESTIONS)
    if len(same_name):
        return [*same_name.to_pylist()]
    same_folder = keys.filter(pc.starts_with(keys, folder + slash)) if folder else keys
    for candidates in (same_folder, keys):
        close = difflib.get_close_matches(key, candidates.slice(0, _MAX_COMPARED).to_pylist(), _SUGGESTIONS)
        if close:
            return close
    return []


def _is_unicode(key: str) -> bool:
    """Return whether a key can be in an index: a file name whose bytes are not UTF-8 cannot."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
