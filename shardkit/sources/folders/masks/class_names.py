"""Read what the pixels of masks mean: names of the classes, and their colours, from a file next to the folders.

label_colors.txt    64 128 64<tab>Animal               CamVid; class numbers are those of the lines, from 0
class_dict.csv      name,r,g,b / Animal,64,128,64      Kaggle's copies of CamVid, DeepGlobe and others
labelmap.txt        Animal:64,128,64::                 CVAT's export of masks
classes.json        {"classes": [{"title": "Animal", "color": "#408040"}]}   Supervisely
objectInfo150.txt   1<tab>0.1576<tab>…<tab>wall        ADE20K; grey masks, 0 is none of the classes
config_v1.2.json    {"labels": [{"readable": "Bird"}]} Mapillary Vistas; the masks have class numbers and a palette

Cityscapes has no such file; its names are those of cityscapesScripts/helpers/labels.py.
"""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.naming import printable
from shardkit.sources.folders.masks.by_content import are_black_and_white
from shardkit.sources.folders.masks.pairs import VISTAS_VERSION
from shardkit.sources.folders.masks.part import COLOUR_FILES, Part
from shardkit.sources.formats.record import encodable
from shardkit.sources.lists.records import read_fields
from shardkit.sources.walking import children, file_or_folder, read_label_file
from shardkit.storage import Folder

_ADE = "objectInfo150.txt"
_ADE_COLUMNS = 6
_MAX_CONFIG_BYTES = 1 << 20  # 1 MiB
_HEX = re.compile(r"#([0-9A-Fa-f]{6})")
_COLOURS_FIRST = re.compile(r"(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})[\s,]+(.*\S)")
_NAME_FIRST = re.compile(r"(.*\S)\s*[:,]\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?::.*)?")
_MAX_CLASSES = 256  # a stored mask has 8 bits
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


@dataclass(frozen=True, slots=True)
class MaskClasses:
    """The classes of a source's masks.

    Attributes:
        names: Names by class number; () if the source does not name them.
        colours: Colours by class number, as six hexadecimal digits each; '' if masks hold class numbers.
        file: The file that names them; '' for none.
    """

    names: tuple[str, ...] = ()
    colours: str = ""
    file: str = ""


def find_classes(folder: Folder, parts: Sequence[Part]) -> MaskClasses:
    """Return what the pixels of a source's masks mean.

    Raises:
        DataError: A file of colours cannot be read, or has a colour or a name twice.
    """
    if all(part.is_cityscapes for part in parts):
        return MaskClasses(_TRAIN_IDS if parts[0].mask_suffix.endswith("TrainIds") else _IDS)
    there = {entry.name for entry in children(folder) if not entry.is_folder}
    for file in (name for name in COLOUR_FILES if name in there):
        found = _of_supervisely(folder, file) if file.endswith(".json") else _with_colours(folder, file)
        if found.colours:
            return found
    if _ADE in there:
        lines = [one.values for one in read_fields(folder, _ADE, "\t")]
        names = tuple(values[-1] for values in lines if len(values) == _ADE_COLUMNS and values[0].isdecimal())
        if len(names) == len(lines) - 1 and len(set(names)) == len(names) and "other" not in names:
            return MaskClasses(("other", *names), "", _ADE)
    for version in {name for part in parts if part.masks for name in part.masks.split("/")}:
        config = f"config_{version}.json"
        if VISTAS_VERSION.fullmatch(version) and config in there:
            return _of_vistas(folder, config)
    masks = itertools.chain.from_iterable(part.masks_of(folder) for part in parts)
    return MaskClasses(colours=BLACK_AND_WHITE) if are_black_and_white(folder, masks) else MaskClasses()


def _of_vistas(folder: Folder, file: str) -> MaskClasses:
    entry = file_or_folder(folder, file)
    data = read_label_file(folder, file, entry.num_bytes if entry else 0, _MAX_CONFIG_BYTES)
    try:
        labels = None if isinstance(data, str) else json.loads(data)["labels"]
        lists = [tuple(encodable(label[key]) for label in labels or ()) for key in ("readable", "name")]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        lists = []
    names = next((one for one in lists if 0 < len(one) == len(set(one)) <= _MAX_CLASSES), None)
    if names is None:
        msg = (
            f"{folder.url}/{file}: `labels` is no list of classes, {_MAX_CLASSES} at most, each with a `readable` and "
            "a `name`; restore the file, or remove it to name the classes by their numbers"
        )
        raise DataError(msg)
    return MaskClasses(names, "", file)


def _of_supervisely(folder: Folder, file: str) -> MaskClasses:
    """Return the classes of a file of titles and colours; no classes if the file is about something else."""
    entry = file_or_folder(folder, file)
    data = read_label_file(folder, file, entry.num_bytes if entry else 0, _MAX_CONFIG_BYTES)
    try:
        classes = [] if isinstance(data, str) else json.loads(data)["classes"]
        found = {encodable(one["title"]): _HEX.fullmatch(one["color"]) for one in classes}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return MaskClasses()
    colours = [match[1].lower() for match in found.values() if match]
    is_whole = 0 < len(colours) == len(set(colours)) == len(classes) <= _MAX_CLASSES
    return MaskClasses(tuple(found), "".join(colours), file) if is_whole else MaskClasses()


def _with_colours(folder: Folder, file: str) -> MaskClasses:
    names, colours = [], []
    for fields in read_fields(folder, file, "\n"):
        line = fields.values[0]
        first = _COLOURS_FIRST.fullmatch(line)
        name_first = _NAME_FIRST.fullmatch(line)
        name, *numbers = (first[4], *first.groups()[:3]) if first else name_first.groups() if name_first else ("",)
        if not numbers and (fields.line == 1 or line.startswith("#")):
            continue  # a header
        place = f"{folder.url}/{file}, line {fields.line}"
        if fields.problem or len(numbers) < 3 or max(map(int, numbers)) > 255:
            msg = f"{place}: {printable(line[:100])!r} is not a colour and a class, such as '64 128 64 Animal'"
            raise DataError(msg)
        colour = "".join(f"{int(number):02x}" for number in numbers)
        if colour in colours or name in names:
            msg = f"{place}: the {'colour' if colour in colours else 'name'} is there twice; correct the file"
            raise DataError(msg)
        names.append(name)
        colours.append(colour)
        if len(names) > _MAX_CLASSES:
            msg = f"{place}: there are more than {_MAX_CLASSES} colours, the most that shardkit reads"
            raise DataError(msg)
    return MaskClasses(tuple(names), "".join(colours), file) if names else MaskClasses()
