"""Find what the pixels of masks mean: a file next to the folders, or the class names of Cityscapes."""

import itertools
from collections.abc import Sequence

from shardkit.errors import DataError
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.folders.masks.pairs import VISTAS_VERSION
from shardkit.sources.folders.masks.part import COLOUR_FILES, Part
from shardkit.sources.formats.palettes import ADE, read_palette
from shardkit.sources.mask_pixels import NUM_SAMPLED, are_black_and_white, greatest_number
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS
from shardkit.sources.tables.number_names import names_files
from shardkit.sources.walking import children
from shardkit.storage import Folder

# Cityscapes has no such file; these are the names of cityscapesScripts/helpers/labels.py.
_TRAIN_IDS = (
    *("road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign", "vegetation"),
    *("terrain", "sky", "person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle"),
)
_IDS = (
    *("unlabeled", "ego vehicle", "rectification border", "out of roi", "static", "dynamic", "ground", "road"),
    *("sidewalk", "parking", "rail track", "building", "wall", "fence", "guard rail", "bridge", "tunnel", "pole"),
    *("polegroup", "traffic light", "traffic sign", "vegetation", "terrain", "sky", "person", "rider", "car", "truck"),
    *("bus", "caravan", "trailer", "train", "motorcycle", "bicycle"),
)


def find_palette(folder: Folder, parts: Sequence[Part]) -> tuple[str, tuple[str, ...], str]:
    """Return what the pixels of a source's masks mean, see Paired; class names that no file gives; and a note.

    Raises:
        DataError: A file of colours has a line that is none, or has a colour or a name twice.
    """
    if all(part.is_cityscapes for part in parts):
        return NUMBERS, _TRAIN_IDS if parts[0].mask_suffix.endswith("TrainIds") else _IDS, ""
    there = {entry.name for entry in children(folder) if not entry.is_folder}
    for file in (name for name in (*COLOUR_FILES, ADE) if name in there):
        if file.endswith((".json", ADE)):  # it may be about something else
            try:
                has_colours = bool(read_palette(folder, file).colours)
            except DataError:
                continue
            if not has_colours and file != ADE:
                continue  # names of numbers, see below
        return file, (), ""
    for version in {name for part in parts if part.masks for name in part.masks.split("/")}:
        config = f"config_{version}.json"
        if VISTAS_VERSION.fullmatch(version) and config in there:
            return config, (), ""
    masks = list(itertools.islice(itertools.chain.from_iterable(part.masks_of(folder) for part in parts), NUM_SAMPLED))
    palette = TWO_COLOURS if are_black_and_white(folder, masks) else NUMBERS
    colours, places = BLACK_AND_WHITE if palette == TWO_COLOURS else "", ["", *(part.masks or "" for part in parts)]
    for path, names, first in names_files(folder, places):
        num, greatest = len(names) + (first or 0), greatest_number(folder, masks, colours)
        if first is not None and palette == NUMBERS and 0 <= greatest < num:
            return path, (), ""
        return palette, (), _unused(folder, path, num, greatest, is_numbered=first is not None)
    return palette, (), ""


def _unused(folder: Folder, path: str, num: int, greatest: int, *, is_numbered: bool) -> str:
    """Return a note that a file of class names is not used, and why."""
    if greatest >= num:
        why = f"it names the numbers up to {num - 1}, and the masks have {greatest}; correct it, or move it away"
    elif is_numbered:
        why = f"the masks are black and white; {named('classes')} FILE names their two classes, one a line"
    else:
        file = f"{folder.url}/{path}"
        why = f"its lines have no numbers; {named('classes', file)} takes them for classes 0 to {num - 1}"
    return f"; note: {printable(path)} names classes, and is not used: {why}"
