"""Other readings of images with masks: with folders as classes, or with other masks of the same images."""

import posixpath
from collections.abc import Iterator
from dataclasses import replace

from shardkit.naming import printable
from shardkit.sources.context import Opening
from shardkit.sources.ignoring.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.readings.paths import below
from shardkit.sources.readings.values import Reading
from shardkit.sources.recognising.folders.masks.class_names import find_palette
from shardkit.sources.recognising.folders.masks.pairs import find_pairs
from shardkit.sources.recognising.folders.masks.reading import reading_of

_MAX_OTHERS = 3


def other_masks(opening: Opening, reading: Reading) -> Iterator[tuple[Reading, str]]:
    """Yield readings with the masks that are found if the others are hidden, such as 2nd_manual/ for 1st_manual/."""
    root = reading.images.root
    folder = opening.below(root).folder if root else opening.folder
    globs: tuple[str, ...] = ()
    for _ in range(_MAX_OTHERS):
        seen = FilteredFolder(folder, tuple(map(IgnoreGlob, globs))) if globs else folder
        parts = find_pairs(seen)
        if not parts:
            return
        if globs:
            other = reading_of(seen, parts, find_palette(seen, parts)[0])
            names = ", ".join(sorted({printable(posixpath.basename(part.masks)) for part in parts}))
            yield replace(below(other, root), ignore=(*reading.ignore, *globs)), f"the masks are those in {names}/"
        globs += tuple(
            f"*{part.mask_suffix}{part.mask_ending or '.*'}"
            if part.images == part.masks
            else f"{posixpath.basename(part.masks)}/"
            for part in parts
        )
        globs = tuple(dict.fromkeys(globs))
