"""Group the parts of a source into tasks that list it, with what the driver sees in each part's folders."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from shardkit.sources import Source
from shardkit.sources.folder_slices import FolderSlice, slices_of
from shardkit.sources.visibility import count_folders, filled_folders

MAX_GROUPS = 256  # tasks that list a source
LOOKING_THREADS = 16  # of the driver; network file systems take a millisecond for a folder


@dataclass(frozen=True, slots=True)
class PartGroup:
    """Parts of a source that one task lists.

    Attributes:
        parts: The parts; see Source.
        num_entries: For each part, the number of files and folders that the driver sees in each of its folders.
        is_counted: Whether these are the numbers; otherwise 1 is for any number but 0.
    """

    parts: Sequence[Any]
    num_entries: Sequence[tuple[int | None, ...]]
    is_counted: bool


def part_groups(source: Source, *, is_remote: bool = False) -> list[tuple[int, PartGroup]]:
    """Return the groups of a source's parts, numbered: enough for any number of workers, the same on every executor.

    Args:
        source: The source.
        is_remote: Whether workers may run on other hosts, so that the driver counts what they must see.
    """
    parts = list(source.parts())
    if is_remote:
        parts = [one for part in parts for one in _divided(source, part)]
    size = -(-len(parts) // MAX_GROUPS)

    def look(part: Any) -> tuple[int | None, ...]:
        whole = part.part if isinstance(part, FolderSlice) else part
        return count_folders(source, whole) if is_remote else filled_folders(source, whole)

    if len(parts) <= LOOKING_THREADS:
        seen = list(map(look, parts))
    else:
        with ThreadPoolExecutor(LOOKING_THREADS) as pool:
            seen = list(pool.map(look, parts))
    starts = range(0, len(parts), size)
    return [
        (index, PartGroup(parts[start : start + size], seen[start : start + size], is_remote))
        for index, start in enumerate(starts)
    ]


def _divided(source: Source, part: Any) -> Sequence[Any]:
    """Return the parts of a part that several workers list: ranges of a folder, or pieces of a file."""
    slices = slices_of(source, part)
    return slices if len(slices) > 1 else source.divided(part)
