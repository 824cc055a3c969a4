"""Find what the pixels of masks mean: a file next to the folders, or the class names of Cityscapes."""

import itertools
from collections.abc import Sequence

from shardkit.errors import DataError
from shardkit.sources.folders.masks.pairs import VISTAS_VERSION
from shardkit.sources.folders.masks.part import COLOUR_FILES, Part
from shardkit.sources.formats.palettes import ADE, read_palette
from shardkit.sources.mask_pixels import are_black_and_white
from shardkit.sources.readings.values import NUMBERS, TWO_COLOURS
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


def find_palette(folder: Folder, parts: Sequence[Part]) -> tuple[str, tuple[str, ...]]:
    """Return what the pixels of a source's masks mean, see Paired, and class names that no file gives.

    Raises:
        DataError: A file of colours has a line that is none, or has a colour or a name twice.
    """
    if all(part.is_cityscapes for part in parts):
        return NUMBERS, _TRAIN_IDS if parts[0].mask_suffix.endswith("TrainIds") else _IDS
    there = {entry.name for entry in children(folder) if not entry.is_folder}
    for file in (name for name in (*COLOUR_FILES, ADE) if name in there):
        if file.endswith((".json", ADE)):  # it may be about something else
            try:
                read_palette(folder, file)
            except DataError:
                continue
        return file, ()
    for version in {name for part in parts if part.masks for name in part.masks.split("/")}:
        config = f"config_{version}.json"
        if VISTAS_VERSION.fullmatch(version) and config in there:
            return config, ()
    masks = itertools.chain.from_iterable(part.masks_of(folder) for part in parts)
    return TWO_COLOURS if are_black_and_white(folder, masks) else NUMBERS, ()
