"""Segmentation: a folder of images and a folder of masks next to it, paired by stem.

SOURCE/images/a/1.jpg           SOURCE/masks/a/1.png              the same path except for the ending,
SOURCE/images/2.jpg             SOURCE/masks/2_mask.png           or with a usual suffix of the mask's name
SOURCE/train/images/3.jpg       SOURCE/train/masks/3.png          splits above the two folders,
SOURCE/images/train/3.jpg       SOURCE/masks/train/3.png          or below them

`pairs` has the other names of the two folders, and `reading` writes them as a reading. Images in other folders are
counted as skipped.
"""

from dataclasses import replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.formats.palettes import read_palette
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS
from shardkit.sources.recognising.folders.masks.ambiguous import refuse_classes, refuse_rivals
from shardkit.sources.recognising.folders.masks.class_names import find_palette
from shardkit.sources.recognising.folders.masks.pairs import CAMVID, find_pairs
from shardkit.sources.recognising.folders.masks.part import COLOUR_FILES
from shardkit.sources.recognising.folders.masks.reading import reading_of
from shardkit.storage import Folder


def is_masks(folder: Folder) -> bool:
    """Return whether a folder has images and masks, judging by names and the ending of one mask."""
    return any(part.masks is not None for part in find_pairs(folder, is_explicit=False))


def open_masks(opening: Opening) -> ReadingSource:
    """Find the folders of images and of masks."""
    folder = opening.folder
    found = find_pairs(folder, is_explicit=opening.options.layout is not None)
    if not any(part.masks is not None for part in found):
        msg = (
            f"{folder.url}: there is no folder of masks next to one of images; shardkit reads SOURCE/images and "
            "SOURCE/masks, SOURCE/<split>/images and SOURCE/<split>/masks, or SOURCE/images/<split> and "
            "SOURCE/masks/<split>, masks as PNG, TIFF or BMP"
        )
        raise DataError(msg)
    refuse_rivals(opening, found)
    if opening.options.layout is None:
        refuse_classes(opening, found)
    palette, classes, note = find_palette(folder, found)
    note = "" if opening.options.classes is not None else note
    is_file = palette not in {TWO_COLOURS, NUMBERS}
    has_colours = is_file and bool(read_palette(folder, palette).colours)
    if found[0].masks == CAMVID[1] and not has_colours:
        msg = (
            f"{folder.url}: the masks of CamVid are in colours; add {COLOUR_FILES[0]}, which its authors distribute, "
            "with a line such as '64 128 64 Animal' for each class"
        )
        raise DataError(msg)
    remark = "; black is class 0, and white is class 1" if palette == TWO_COLOURS else ""
    if is_file:
        remark = f"; {'the colours of the masks' if has_colours else 'class names'} by {printable(palette)}"
    if found[0].is_cityscapes:
        remark = "; the images of test are left out, because Cityscapes publishes only dummies of their masks"
    reading = reading_of(folder, found, palette, classes)
    reading = replace(reading, without_annotation=opening.options.without_annotation or "reject")
    return open_reading(opening, reading, name=LAYOUTS["masks"].title, is_strict=False, remark=remark + note)
