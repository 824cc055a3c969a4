"""Divide a folder of very many files into ranges of names that several workers list.

Each worker lists the names of the whole folder, which is fast, and looks up size and time of the files in its range
only. The ranges cover all names, whatever the folder holds by then, so no file is listed twice or not at all.
"""

import posixpath
from dataclasses import dataclass, replace
from typing import Any

from shardkit.naming import DATASET_FILES
from shardkit.sources.filtered_folder import FilteredFolder
from shardkit.sources.listing import Source
from shardkit.sources.walking import is_ignored, is_image, join, slice_bounds
from shardkit.storage import Entry, Folder, LocalFolder, WrappedFolder

MIN_SLICED = 50_000  # images; 100,000 are listed in 2 s on a local disk
IMAGES_PER_SLICE = 25_000
MAX_FOLDER_SLICES = 16


@dataclass(frozen=True, slots=True)
class FolderSlice:
    """A part of a source of which only a range of names in one folder is listed."""

    part: Any
    path: str
    start: str  # the first name of the range
    stop: str | None  # the name that ends the range; None for no end


def slices_of(source: Source, part: Any) -> list[Any]:
    """Return the slices of a part of a local source; the part itself if it is small or cannot be divided."""
    path = source.sliceable_folder(part)
    folder = source.folder
    local = folder.inner if isinstance(folder, FilteredFolder) else folder
    if path is None or not isinstance(local, LocalFolder):
        return [part]
    names = [name for name in local.names(path) if not is_ignored(name)]
    # Bounds are names of images, so that each range has some: a label folder without one would be reported as empty.
    # Without their endings, so that files of one name stay together: 1.CR2 and 1.jpg.
    images = sorted(name for name in names if is_image(name) and not _is_hidden(folder, join(path, name)))
    num = min(MAX_FOLDER_SLICES, len(images) // IMAGES_PER_SLICE)
    # What shardkit wrote into a source is recognised by names that may be in different ranges.
    if len(images) < MIN_SLICED or num < 2 or set(names) >= DATASET_FILES:
        return [part]
    firsts = [images[slice_bounds(len(images), i, num).start] for i in range(1, num)]
    bounds = [f"{posixpath.splitext(name)[0]}." for name in firsts]
    ranges = zip(["", *bounds], [*bounds, None], strict=True)
    return [FolderSlice(part, path, start, stop) for start, stop in ranges]


def _is_hidden(folder: Folder, path: str) -> bool:
    return isinstance(folder, FilteredFolder) and folder.hiding_glob(path) is not None


def slice_source(source: Source, part: FolderSlice) -> Source:
    """Return a source that lists only the range of a slice, when its `list_part` is called with the slice's part."""
    folder = source.folder
    if isinstance(folder, FilteredFolder):
        return source.in_folder(replace(folder, inner=SlicedFolder(folder.inner, part.path, part.start, part.stop)))
    return source.in_folder(SlicedFolder(folder, part.path, part.start, part.stop))


@dataclass(frozen=True, slots=True)
class SlicedFolder(WrappedFolder):
    """A folder in which one folder shows only a range of its names."""

    path: str  # the folder in it that is divided
    start: str  # the first name of the range
    stop: str | None  # the name that ends the range; None for no end

    def _shows(self, name: str) -> bool:
        return self.start <= name and (self.stop is None or name < self.stop)

    def scan(self, path: str = "") -> list[Entry]:
        if path != self.path:
            return self.inner.scan(path)
        if isinstance(self.inner, LocalFolder):
            return self.inner.scan_names(path, self._shows)
        return [entry for entry in self.inner.scan(path) if self._shows(entry.name)]
