"""Segmentation: images and masks, paired by stem; `pairs` finds them, and `reading` writes them as a reading."""

import glob
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.formats.class_names import read_palette
from shardkit.sources.known.finding import find_known
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS, Constant, Images, Origin, Paired, Reading
from shardkit.sources.recognising.folders.class_folders import with_words
from shardkit.sources.recognising.folders.masks.class_names import find_palette
from shardkit.sources.recognising.folders.masks.pairs import Part, find_pairs, split_inside
from shardkit.sources.walking import folders_in, is_folder, join
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
            "SOURCE/masks/<split>, masks as PNG, TIFF, BMP or grey GIF"
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


def reading_of(folder: Folder, parts: Sequence[Part], palette: str) -> Reading:
    """Return how pairs of folders are read."""
    of_parts = [_templates(folder, part) for part in parts]
    templates = {mask: image for pairs in of_parts for mask, image in pairs}
    (pair, image), *others = _with_field(parts, of_parts) or templates.items()
    images = Images(include=_included(folder, parts), exclude=tuple(_bare_tests(folder, parts)))
    return Reading(images, split=_split(folder, parts), mask=Paired(pair, image, dict(others), palette))


def _templates(folder: Folder, part: Part) -> list[tuple[str, str]]:
    """Return the templates of a pair's masks, and of their images."""
    folders = _inner_pairs(folder, part) if part.with_splits else [(part.images, part.masks)]
    return [
        (
            join(masks, f"{{dir}}/{part.mask_prefix}{{stem}}{part.mask_suffix}{part.mask_ending}"),
            join(images, f"{{dir}}/{part.image_prefix}{{stem}}{part.image_suffix}"),
        )
        for images, masks in folders
    ]


def _inner_pairs(folder: Folder, part: Part) -> list[tuple[str, str]]:
    """Return the folders of splits below both, if their names differ, such as val/ and validation/."""
    masks = {split_inside(name): name for name in folders_in(folder, part.masks)}
    inner = folders_in(folder, part.images)
    if all(masks.get(split_inside(name), name) == name for name in inner):
        return [(part.images, part.masks)]
    return [(join(part.images, name), join(part.masks, masks.get(split_inside(name), name))) for name in inner]


def _with_field(parts: Sequence[Part], of_parts: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, str]] | None:
    """Return the templates of parts that differ in their first folder only, with {0} in its place."""
    if len(parts) < 2:
        return None
    common = set[tuple[tuple[str, str], ...]]()
    for part, pairs in zip(parts, of_parts, strict=True):
        first = part.images.partition("/")[0]
        texts = [text for pair in pairs for text in pair]
        if not first or not all(text.startswith(f"{first}/") for text in texts):
            return None
        general = [f"{{0}}{text[len(first) :]}" for text in texts]
        common.add(tuple(zip(general[::2], general[1::2], strict=True)))
    return list(common.pop()) if len(common) == 1 else None


def _included(folder: Folder, parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the globs of the images; () if they are in all folders."""
    places = list(dict.fromkeys(part.images for part in parts))
    # Images of another split than test without masks are rejected, not lost.
    ends = {path.partition("/")[2] for path in places}
    of_splits = {part.split for part in parts if part.split and part.images.partition("/")[0] in folders_in(folder)}
    names = [
        name for name in folders_in(folder) if of_splits and split_of_folder(name) not in {None, "test", *of_splits}
    ]
    places += [join(name, end) for name in names for end in ends if is_folder(folder, join(name, end))]
    if "" in places or {*places} == {*folders_in(folder)}:
        return ()
    return tuple(f"/{glob.escape(path)}/" for path in places)


def _bare_tests(folder: Folder, parts: Sequence[Part]) -> Iterable[str]:
    """Yield the globs of test images below folders without masks for them: a benchmark keeps these."""
    for part in parts:
        if part.with_splits:
            splits = {split_inside(name) for name in folders_in(folder, part.masks)}
            for name in folders_in(folder, part.images):
                if split_inside(name) == "test" and "test" not in splits:
                    yield f"/{glob.escape(join(part.images, name))}/"


def _split(folder: Folder, parts: Sequence[Part]) -> Origin | None:
    """Return where splits come from: folders below the images', or names of folders above them."""
    first = parts[0]
    if all(part.with_splits for part in parts):
        inner = {name: split_inside(name) for part in parts for name in folders_in(folder, part.images)}
        return with_words(len(first.images.split("/")), inner)
    splits = {part.images: part.split for part in parts if part.split is not None}
    if not splits:
        return None
    folders = {path: path.split("/") for path in splits}
    for index in range(min(map(len, folders.values()))):
        names = {(folders[path][index], split) for path, split in splits.items()}
        is_told = len({name for name, _ in names}) == len(names)
        if is_told and (len(set(splits.values())) > 1 or all(split_of_folder(name) == one for name, one in names)):
            return with_words(index, dict(names))
    return Constant(next(iter(splits.values()))) if len(set(splits.values())) == 1 else None
