"""Decide whether folders that each hold images and their masks are parts of the data, not classes.

kos01/1.jpg, kos01/1_label.bmp                the folders are numbered
TCGA_4941/1.tif, TCGA_4941/1_mask.tif         or called by codes
aachen/images/1.tif, aachen/labels/1.tif      or the masks have several classes themselves
"""

import re
from collections.abc import Iterator

from shardkit.sources.mask_pixels import have_several_values
from shardkit.sources.recognising.folders.masks.matching import pairs_in, pairs_in_one_folder, split_of
from shardkit.sources.recognising.folders.masks.part import Part
from shardkit.sources.recognising.folders.split_folders import number_of_word
from shardkit.sources.walking import folders_in, join
from shardkit.storage import Folder

_OF_CLASSES = frozenset({None, "class", "grade", "level", "stage", "type"})  # words before numbers of classes
_CODE = re.compile(r"[0-9]{3}")  # in names of patients, scenes and tiles


def are_parts_of_data(folder: Folder, names: list[str]) -> bool:
    """Return whether the folders of a source, or those in its first split, are parts of the data."""
    if names and all(map(split_of, names)):
        return _are_parts(folder, names[0], folders_in(folder, names[0]))
    return not any(map(split_of, names)) and _are_parts(folder, "", names)


def _are_parts(folder: Folder, base: str, names: list[str]) -> bool:
    if len(names) < 2:
        return False
    first = next(pairs_in_each(folder, [join(base, names[0])]), None)
    if first is None:
        return False
    return are_codes(names) or have_several_values(folder, first.masks_of(folder))


def are_codes(names: list[str]) -> bool:
    """Return whether names are one word with numbers, or have numbers as codes do: they are no classes."""
    words = {number_of_word(name) for name in names}
    return (len(words) == 1 and words.isdisjoint(_OF_CLASSES)) or all(map(_CODE.search, names))


def pairs_in_each(folder: Folder, paths: list[str]) -> Iterator[Part]:
    """Yield the pairs in each of some folders."""
    for path in paths:
        found = pairs_in(folder, path, None) if folders_in(folder, path) else pairs_in_one_folder(folder, path)
        yield from found
