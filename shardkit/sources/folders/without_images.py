"""Refuse a folder without images: say which files it holds instead, and what to do with them."""

import itertools
from collections import Counter
from collections.abc import Iterator

from shardkit.errors import DataError, ShardkitError
from shardkit.naming import printable
from shardkit.sources.commands import Command, refusal
from shardkit.sources.folders.source_place import SourcePlace
from shardkit.sources.folders.unsupported_formats import unsupported_format
from shardkit.sources.listing import ending
from shardkit.sources.walking import files_below
from shardkit.storage import Folder

_MAX_FILES = 1_000  # that are looked at
_KINDS_SHOWN = 4
_ARCHIVES = (".zip", ".tar")
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_ARRAYS = (".npy", ".npz", ".pkl", ".pickle", ".h5", ".hdf5", ".mat", ".pt", ".pth", ".mdb", ".lmdb", ".bin")
_RECORDS = (".tfrecord", ".tfrecords", ".tfrec")
_NO_ENDING = "(none)"


def refuse_without_images(folder: Folder, place: SourcePlace, remark: str) -> ShardkitError:
    """Return the error for a tree that holds no image.

    Args:
        folder: Root of the tree.
        place: The tree's place in the source.
        remark: What the user should know about its tables; '' for nothing.
    """
    paths = list(itertools.islice(_files(folder), _MAX_FILES))
    kinds = Counter(map(ending, paths))
    shown = ", ".join(f"{count:,} {'without ending' if kind == _NO_ENDING else kind}" for kind, count in _most(kinds))
    found = f"only other files ({shown})" if kinds else "the folder is empty"
    problem = f"{place.shown}: no images found, {found}{remark}"
    archives = [path for path in paths if path.lower().endswith(_ARCHIVES)]
    if archives:
        names = archives[:_KINDS_SHOWN]
        commands = [Command(f"{place.shown}/{name}", (), f"the images are in {printable(name)}") for name in names]
        return refusal(problem, commands)
    return DataError(f"{problem}; {_remedy(kinds, paths)}")


def _files(folder: Folder) -> Iterator[str]:
    return (path for path, _ in files_below(folder, ""))


def _most(kinds: Counter[str]) -> list[tuple[str, int]]:
    return sorted(kinds.items(), key=lambda one: (-one[1], one[0]))[:_KINDS_SHOWN]


def _remedy(kinds: Counter[str], paths: list[str]) -> str:
    if any(kind in _PACKED for kind in kinds):
        return "unpack them, then give the folder with the images"
    if any(kind in _RECORDS for kind in kinds):
        return "give the folder that has the TFRecord files, itself or in split folders, and no images next to them"
    foreign = next((problem for path in paths if (problem := unsupported_format(path))), None)
    if foreign is not None:
        return f"{foreign.key}: {foreign.message}"
    if any(kind in _ARRAYS for kind in kinds) or kinds[_NO_ENDING]:
        return "images inside arrays or databases are not read; write each image to a file, such as PNG"
    return "give the folder that holds the images"
