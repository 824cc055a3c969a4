"""Search some folders of a source for the files that may say something about its images, the likely ones first."""

import heapq
import itertools
import re
from collections.abc import Iterator

from shardkit.sources.walking import children, ending, join
from shardkit.storage import Folder

MAX_FILES = 40
_MAX_OF_A_KIND = 20  # in one folder: more of them describe single images
_NUM_FOLDERS = 100  # that are searched for such files
_MAX_DEPTH = 6
_OTHER_RANK = 2  # of folders that are not called like lists, nor are in such
_OF_LISTS = re.compile(
    r"anno|csv|eval|fold|ground|info|label|list|meta|partition|(?<!data)set|split|table|txt", re.IGNORECASE
)
_OF_SPLIT = re.compile(r"(?:train(?:val)?|val(?:idation)?|dev|test)\.\w+", re.IGNORECASE)


def candidates(folder: Folder, excluded: str | None, endings: frozenset[str]) -> Iterator[str]:
    """Yield the files of some endings in a folder and in some folders below that may be for several images."""
    for path, names in files_by_kind(folder, excluded, endings):
        # Of a list for each class and of lists of all, these are called like a split alone.
        some = names if len(names) <= _MAX_OF_A_KIND else [name for name in names if _OF_SPLIT.fullmatch(name)]
        yield from (join(path, name) for name in some)


def files_by_kind(folder: Folder, excluded: str | None, endings: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the files of some endings in a folder and in some folders below: of each folder, those of one ending.

    Folders whose names are those of lists and tables, and the folders in them, are searched first.
    """
    tails = tuple(endings)
    waiting = [(0, 0, 0, "")]  # rank, depth and number of each folder, which sort them
    number = itertools.count(1)
    for _ in range(_NUM_FOLDERS):
        if not waiting:
            return
        rank, depth, _, path = heapq.heappop(waiting)
        entries = children(folder, path)
        files = [one.name for one in entries if one.name.lower().endswith(tails) and not one.is_folder]
        for kind in sorted({ending(name) for name in files}):
            yield path, [name for name in files if ending(name) == kind]
        for one in entries:
            inner = join(path, one.name)
            if one.is_folder and inner != excluded and depth < _MAX_DEPTH:
                is_likely = _OF_LISTS.search(one.name) is not None
                below = 0 if is_likely else 1 if depth and rank < _OTHER_RANK else _OTHER_RANK
                heapq.heappush(waiting, (below, depth + 1, next(number), inner))
