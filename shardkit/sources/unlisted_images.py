"""Count the images of a source that no part lists, by folder, so that no image is lost silently.

A layout lists the folders that its label files lead to. A test set without labels, or a folder that data.yaml does not
name, is next to them. The walk skips folders that a part lists itself, so that none is listed twice, and opens no file.
"""

import hashlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
import numpy.typing as npt

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.sources.walking import ancestors, are_of_dataset, children, ending, join, list_if_allowed, parent_of
from shardkit.storage import Entry, Folder

FOLDERS_SHOWN = 8  # folders that are counted on their own; the others are counted together


def count_unlisted_images(
    folder: Folder,
    why: str,
    *,
    below: Iterable[str] = ("",),
    covered: Collection[str] = (),
    named: Collection[str] = (),
) -> dict[str, int]:
    """Return numbers of images that are not covered, by a phrase for the user such as ``images in test/ that …``.

    A folder with nothing covered in or below it is counted as a whole, under its own name.
    """
    walk = _Walk(folder, covered, named)
    for path in below:
        above = [folder.resolve(one) for one in ancestors(path)]
        walk.look(path, None, tuple(above))
    counts = [(path, count) for path, count in walk.counts.items() if count]
    found = {_phrase(count, path, why): count for path, count in counts[:FOLDERS_SHOWN]}
    if others := counts[FOLDERS_SHOWN:]:
        found[f"images in {len(others):,} more folders {why}"] = sum(count for _, count in others)
    return found


def _phrase(count: int, path: str, why: str) -> str:
    where = f"{printable(path)}/" if path else "the top folder"
    return f"{'image' if count == 1 else 'images'} in {where} {why}"


@dataclass(slots=True)
class _Walk:
    """Counts images by folder, in the order of the walk."""

    folder: Folder
    covered: Collection[str]
    named: Collection[str]
    counts: dict[str, int] = field(default_factory=dict)
    _covered: set[str] = field(init=False)  # with links resolved
    _partly: set[str] = field(init=False)  # folders with something covered in or below them

    def __post_init__(self) -> None:
        self._covered = {self.folder.resolve(path) for path in self.covered}
        self._partly = {above for path in self.covered for above in ancestors(path)}
        folders = {parent_of(path) for path in self.named}
        self._partly |= folders | {above for path in folders for above in ancestors(path)}

    def look(self, path: str, counted_as: str | None, above: tuple[str, ...]) -> None:
        here = self.folder.resolve(path)
        if path in self.covered or here in self._covered or here in above:
            return
        entries = children(self.folder, path)
        if are_of_dataset(entries):
            return  # a dataset that was written into the source
        if counted_as is None and path not in self._partly:
            counted_as = path
        images = [one.name for one in entries if not one.is_folder and ending(one.name) in IMAGE_ENDINGS]
        if self.named:
            images = [name for name in images if join(path, name) not in self.named]
        name = path if counted_as is None else counted_as
        self.counts[name] = self.counts.get(name, 0) + len(images)
        for entry in entries:
            if entry.is_folder:
                self.look(join(path, entry.name), counted_as, (*above, here))


class NamedImages(Collection[str]):
    """A set of keys that answers whether it contains one; iterating over it yields one key of each folder.

    It takes eight bytes for each key. With hashes of 64 bits, about one in 10**13 images that no record names is taken
    for a named one. The set is used only to count and compare images.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        hashes = array("Q")
        self._one_of_folder: dict[str, str] = {}
        for key in keys:
            hashes.append(_hash(key))
            self._one_of_folder.setdefault(parent_of(key), key)
        self.hashes: npt.NDArray[np.uint64] = np.unique(np.frombuffer(hashes, np.uint64))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(_are_in(self.hashes, [key])[0])

    def contain(self, keys: Iterable[str]) -> npt.NDArray[np.bool_]:
        return _are_in(self.hashes, keys)

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
        return bool(_are_in(self._hashes, [key])[0])

    def __len__(self) -> int:
        return len(self._hashes)


def images_near(folder: Folder, named: NamedImages) -> Iterator[tuple[str, Entry]]:
    """Yield the images in the folders of named ones that are not named themselves.

    Every folder is listed once; other folders are not listed. A folder that may be read but not listed gives none.
    """
    for place in sorted(set(map(parent_of, named))):
        entries = (one for one in list_if_allowed(folder, place) if not one.is_folder)
        images = [(join(place, one.name), one) for one in entries if ending(one.name) in IMAGE_ENDINGS]
        yield from compress(images, ~named.contain(key for key, _ in images))


def _are_in(hashes: npt.NDArray[np.uint64], keys: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Return for each key whether it is among sorted hashes; np.isin would sort these again for every folder."""
    wanted = np.array([_hash(key) for key in keys], np.uint64)
    if not len(hashes):
        return np.zeros(len(wanted), bool)
    found: npt.NDArray[np.bool_] = hashes[np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)] == wanted
    return found


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")
