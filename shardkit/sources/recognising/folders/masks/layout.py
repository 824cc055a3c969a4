"""Segmentation: images and masks, paired by stem; `pairs` finds them, and `reading` writes them as a reading."""

from dataclasses import replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.formats.palettes import read_palette
from shardkit.sources.known.finding import find_known
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS
from shardkit.sources.recognising.folders.masks.class_names import find_palette
from shardkit.sources.recognising.folders.masks.pairs import find_pairs
from shardkit.sources.recognising.folders.masks.reading import reading_of
from shardkit.storage import Folder


def is_masks(folder: Folder) -> bool:
    """Return whether a folder has images and masks, judging by names and the pixels of a few masks."""
    return bool(find_pairs(folder))


def open_masks(opening: Opening) -> ReadingSource:
    """Find the folders of images and of masks."""
    folder = opening.folder
    known = find_known(folder)
    if known and (readings := [one for one in known.readings if one.mask]):
        return open_reading(opening, readings[0], name=known.title, is_strict=False)
    found = find_pairs(folder)
    if not found:
        msg = (
            f"{folder.url}: there is no folder of masks next to one of images; shardkit reads SOURCE/images and "
            "SOURCE/masks, SOURCE/<split>/images and SOURCE/<split>/masks, or SOURCE/images/<split> and "
            "SOURCE/masks/<split>, masks as PNG, TIFF or BMP"
        )
        raise DataError(msg)
    palette, note = find_palette(folder, found)
    note = "" if opening.options.classes is not None else note
    remark = "; black is class 0, and white is class 1" if palette == TWO_COLOURS else ""
    if palette not in {TWO_COLOURS, NUMBERS}:
        what = "the colours of the masks" if read_palette(folder, palette).colours else "class names"
        remark = f"; {what} by {printable(palette)}"
    reading = reading_of(folder, found, palette)
    reading = replace(reading, without_annotation=opening.options.without_annotation or "reject")
    return open_reading(opening, reading, name=LAYOUTS["masks"].title, is_strict=False, remark=remark + note)
