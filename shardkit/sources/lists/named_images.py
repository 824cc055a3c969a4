"""The images that lists name, as hashes: eight bytes for each, so that lists of millions of images fit in memory."""

import hashlib
from array import array
from collections.abc import Collection, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from shardkit.sources.walking import parent_of


class NamedImages(Collection[str]):
    """A set of keys that answers whether it contains one; iterating over it yields one key of each folder.

    With hashes of 64 bits, about one in 10**13 images that no list names is taken for a named one. The set is used only
    to count and compare images.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        hashes = array("Q")
        self._one_of_folder: dict[str, str] = {}
        for key in keys:
            hashes.append(_hash(key))
            self._one_of_folder.setdefault(parent_of(key), key)
        self.hashes: npt.NDArray[np.uint64] = np.unique(np.frombuffer(hashes, np.uint64))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and _is_in(self.hashes, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._one_of_folder.values())

    def __len__(self) -> int:
        return len(self.hashes)


class SharedImages:
    """The keys that more than one of several sets of keys contains."""

    def __init__(self, sets: Iterable[NamedImages]) -> None:
        every = np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in sets)])
        found, counts = np.unique(every, return_counts=True)
        self._hashes: npt.NDArray[np.uint64] = found[counts > 1]

    def __contains__(self, key: str) -> bool:
        return len(self._hashes) > 0 and _is_in(self._hashes, key)


def _is_in(hashes: npt.NDArray[np.uint64], key: str) -> bool:
    wanted = np.uint64(_hash(key))
    at = int(np.searchsorted(hashes, wanted))
    return at < len(hashes) and bool(hashes[at] == wanted)


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")
