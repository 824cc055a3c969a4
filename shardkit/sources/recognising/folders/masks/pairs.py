"""Find the folders of images and of masks in a source.

images/, masks/                          also with the splits above or below them
images/, masks/, train.txt, val.txt      lists of stems or names
JPEGImages/, SegmentationClass/          Pascal VOC, with ImageSets/Segmentation/*.txt
images/, annotations/                    ADE20K (SceneParsing)
train/, trainannot/, val/, valannot/     CamVid as SegNet distributes it; also train_labels/ and the like
701_StillsRaw_full/, LabeledApproved_full/      CamVid as its authors do
leftImg8bit/train/, gtFine/train/        Cityscapes
images/, annotations/trimaps/            Oxford-IIIT Pet, only if masks are asked for
training/images/, training/v1.2/labels/  Mapillary Vistas, the newest version

Lists of splits are also found in the only other folder of ImageSets/, such as SegmentationContext/.

Other folders are a pair if their files have the same stems, those of one have few colours, and its name or theirs says
that they are masks: imagesTr/ and labelsTr/, img_dir/ and ann_dir/. In one folder the ends of their names tell them
apart: *_sat.jpg and *_mask.png, *.jpg and *_m.png.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.sources.engine.split_words import split_of_name
from shardkit.sources.file_names import ending
from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.mask_pixels import are_coloured, images_below
from shardkit.sources.recognising.detection.image_sets import read_lists
from shardkit.sources.recognising.folders.first_images import has_images
from shardkit.sources.recognising.folders.masks.matching import (
    MAX_FOLDERS,
    matched,
    pairs_in,
    pairs_in_one_folder,
    split_of,
    with_ends,
)
from shardkit.sources.recognising.folders.masks.numbered_parts import are_parts_of_data, pairs_in_each
from shardkit.sources.recognising.folders.masks.part import CITY_IMAGES, COLOUR_FILES, Part
from shardkit.sources.walking import children, file_or_folder, folders_in, is_folder, is_image, join, parent_of
from shardkit.storage import Folder

# Names of the two folders, in any case; if there are several, the first in this order.
_IMAGES = ("images", "image", "imgs", "img", "jpegimages")
_MASKS = (
    *("masks", "mask", "masks_machine", "segmentationclass", "segmentations", "segmentation", "labels"),
    *("annotations", "gt"),
)
_MASK_ENDINGS = frozenset({".bmp", ".dib", ".gif", ".png", ".tif", ".tiff"})
_MAX_DEPTH = 3  # levels of folders that are searched for the first mask
_VOC_LISTS = ("ImageSets", "Segmentation")
_OF_INSTANCES = re.compile(r"segmentationobject|instances?", re.IGNORECASE)  # numbers of objects, not of classes
_OF_SPLIT = re.compile(r"[_-]?(?:annot|annotations?|gt|labels?|masks?|seg(?:mentations?)?)", re.IGNORECASE)
CAMVID = ("701_StillsRaw_full", "LabeledApproved_full")
_CITY_MASKS = ("gtFine", "gtCoarse")
_CITY_SPLITS = ("train", "val", "train_extra")  # the masks of test are dummies: the benchmark keeps the true ones
VISTAS_VERSION = re.compile(r"v[0-9]\.[0-9]")  # folders of Mapillary Vistas, each with labels/
# The first of these that exists: only the dataset's own script, which prepares training, makes labelTrainIds.
_CITY_KINDS = ("_labelTrainIds", "_labelIds")


def find_pairs(folder: Folder, *, is_explicit: bool) -> tuple[Part, ...]:
    """Return the pairs of folders; those of a split without masks too, so that its images are rejected, not lost."""
    trimaps = "annotations/trimaps"
    if is_explicit and is_folder(folder, trimaps) and _is_oxford_pets(folder):
        return (Part("images", trimaps, None, with_splits=False, lists="annotations"),)
    names = folders_in(folder)
    splits = [(name, split) for name in names if (split := split_of_folder(name))]
    found = tuple(part for name, split in splits if (part := _pair(folder, name, split)))
    if len({part.split for part in found if part.masks is not None}) > 1:  # before images/ of all of them next to these
        return _without_bare_tests(found)
    if CITY_IMAGES in names and (cities := tuple(_cityscapes(folder))):
        return cities
    if set(CAMVID) <= set(names):
        return (Part(*CAMVID, None, with_splits=False),)
    if part := _pair(folder, "", None):
        return (_with_lists(folder, part),)
    if any(part.masks is not None for part in found):
        return _without_bare_tests(found)
    if beside := tuple(_beside_splits(folder, names, splits)):
        return _without_bare_tests(beside)
    return _by_content(folder, names, is_explicit=is_explicit) or found


def _is_oxford_pets(folder: Folder) -> bool:
    """Return whether a folder has the lists of Oxford-IIIT Pet, which give the splits: ``Abyssinian_100 1 1 1``."""
    path = "annotations/list.txt"
    if not is_folder(folder, "images") or file_or_folder(folder, path) is None:
        return False
    lines = (fields.values for fields in read_fields(folder, path) if not fields.values[0].startswith("#"))
    name, *numbers = next(lines, [""])
    return len(numbers) == 3 and all(map(str.isdecimal, numbers)) and "_" in name


def _without_bare_tests(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts without test images that have no masks: benchmarks keep them."""
    return tuple(part for part in parts if part.masks is not None or part.split != "test")


def _by_content(folder: Folder, names: list[str], *, is_explicit: bool) -> tuple[Part, ...]:
    """Return the pairs of folders whose names are not known, and folders that hold images and their masks."""
    if not is_explicit and are_parts_of_data(folder, names):
        is_explicit = True
        if len(names) > MAX_FOLDERS and (found := tuple(pairs_in_each(folder, names))):
            return found
    if len(names) > MAX_FOLDERS:
        return tuple(pairs_in_one_folder(folder, "", _MAX_DEPTH, any_end=True)) if is_explicit else ()
    found = tuple(pairs_in(folder, "", None, by_names=not is_explicit))
    divided = tuple(part for name in names if found and (own := split_of(name)) for part in pairs_in(folder, name, own))
    if len({part.split for part in divided}) > 1:
        return divided  # images/ of all splits next to these
    # Folders that are no splits may be classes, each with its masks.
    inner = [name for name in names if is_explicit or split_of(name)]
    for name in inner if not found and len(names) > 1 else ():  # the only folder is opened like the source
        split = split_of(name)
        deeper = folders_in(folder, name) if is_explicit and split else []
        by_names = not is_explicit
        below = tuple(p for one in deeper for p in pairs_in(folder, join(name, one), split, by_names=by_names))
        found += tuple(pairs_in(folder, name, split, by_names=by_names)) or below
    for path in ["", *(names if len(names) == 1 else inner)] if not found else ():
        if not path or not folders_in(folder, path):
            found += tuple(pairs_in_one_folder(folder, path, any_end=is_explicit))
    if not found and is_explicit:
        found = tuple(_among_images(folder, names)) or tuple(pairs_in_one_folder(folder, "", _MAX_DEPTH, any_end=True))
    # Images to learn from without masks, as for anomalies, have other labels.
    if not is_explicit and {one.split for one in found} == {"test"} and "train" in map(split_of, names):
        return ()
    # The file is about the masks in colours, if some are.
    if not {one.name for one in children(folder)}.isdisjoint(
        COLOUR_FILES
    ):  # it is about the masks in colours, if some are
        found = tuple(sorted(found, key=lambda one: not are_coloured(folder, one.masks_of(folder))))
    found = tuple({one.images: one for one in reversed(found)}.values())[::-1]  # `rivals` has the others
    return (_with_lists(folder, found[0]),) if len(found) == 1 and found[0].split is None else found


def _among_images(folder: Folder, names: list[str]) -> Iterator[Part]:
    """Yield folders of images with a folder of masks in them: photos/1.jpg and photos/painted/1.png."""
    for path in ("", *names):
        for inner in folders_in(folder, path) if has_images(folder, path) else ():
            part = matched(folder, Part(path, join(path, inner), split_of(path) if path else None, with_splits=False))
            if part is not None:
                yield part


def _with_lists(folder: Folder, part: Part) -> Part:
    """Return a pair with its lists of splits: of Pascal VOC, or next to the folders."""
    sets = [name for name in folders_in(folder, _VOC_LISTS[0]) if read_lists(folder, join(_VOC_LISTS[0], name))]
    sets = [_VOC_LISTS[1]] if _VOC_LISTS[1] in sets else sets if len(sets) == 1 else []
    candidates = [*(join(_VOC_LISTS[0], name) for name in sets), ""]
    return replace(part, lists=next((path for path in candidates if _are_lists(folder, path, part.images)), None))


def rivals(folder: Folder, part: Part) -> list[Part]:
    """Return other folders next to a pair's, with masks of the same images by their names and pixels."""
    if part.masks is None or part.is_cityscapes:
        return []
    if part.is_one_folder:
        return [one for one in pairs_in_one_folder(folder, part.images) if one.mask_suffix != part.mask_suffix]
    base = parent_of(part.images)
    names = [name for name in folders_in(folder, base) if join(base, name) not in part.folders]
    known = {*_IMAGES, *_MASKS}
    others = [name for name in names if name.lower() not in known and not _OF_INSTANCES.search(name)]
    if len(others) > MAX_FOLDERS or parent_of(part.masks) != base:
        return []
    found = (
        matched(folder, replace(part, masks=join(base, name), mask_suffix="", image_prefix="", mask_prefix=""))
        for name in others
    )
    # The same masks in colours are for people.
    is_grey = not are_coloured(folder, part.masks_of(folder))
    return [one for one in found if one and not (is_grey and are_coloured(folder, one.masks_of(folder)))]


def _pair(folder: Folder, base: str, split: str | None) -> Part | None:
    names = {name.lower(): name for name in folders_in(folder, base)}
    images = next((join(base, names[name]) for name in _IMAGES if name in names), None)
    if images is None:
        return None
    versions = sorted(filter(VISTAS_VERSION.fullmatch, names), reverse=True)
    candidates = [join(base, names[name]) for name in _MASKS if name in names]
    candidates += [join(base, version, "labels") for version in versions]
    masks = next((path for path in candidates if _holds_masks(folder, path, _MAX_DEPTH)), None)
    if not base and masks is None:
        return None
    inner = folders_in(folder, images)
    if masks and not inner and len(below := folders_in(folder, masks)) == 1 and not _has_image(folder, masks):
        masks = join(masks, below[0])  # annotations/trimaps/
    part = Part(images, masks, split, with_splits=split is None and bool(inner) and all(map(split_of_name, inner)))
    return (with_ends(folder, part) if masks else None) or part


def _has_image(folder: Folder, path: str) -> bool:
    return next(images_below(folder, path, 0), None) is not None


def _are_lists(folder: Folder, path: str, images: str) -> bool:
    """Return whether a folder has split lists; those next to the images must name the first of them."""
    lists = read_lists(folder, path)
    if path or not lists:
        return bool(lists)
    if not any("train" in splits for splits in lists.values()):
        return False  # the images that such lists leave out are those for training
    there = {listed_stem(entry.name, images) for entry in children(folder, images) if not entry.is_folder}
    return not there.isdisjoint(listed_stem(line, images) for line in lists)


def listed_stem(line: str, images: str) -> str:
    """Return the stem that a line of a split list means: ``1``, ``1.jpg``, ``images/1.jpg`` or that and its mask."""
    fields = line.split()
    path = fields[0] if len(fields) > 1 and all(map(is_image, fields)) else line
    stem, end = posixpath.splitext(path.removeprefix("./").lstrip("/").removeprefix(f"{images}/"))
    return stem if end.lower() in IMAGE_ENDINGS else stem + end


def _beside_splits(folder: Folder, names: list[str], splits: list[tuple[str, str]]) -> Iterator[Part]:
    """Yield pairs such as train/ and trainannot/; none unless a folder of masks is there."""
    masks_of = {
        name: mask
        for name, _ in splits
        for mask in names
        if mask.startswith(name) and _OF_SPLIT.fullmatch(mask[len(name) :]) and _holds_masks(folder, mask, 0)
    }
    if masks_of:
        yield from (Part(name, masks_of.get(name), split, with_splits=False) for name, split in splits)


def _cityscapes(folder: Folder) -> Iterator[Part]:
    masks = next((name for name in _CITY_MASKS if is_folder(folder, name)), None)
    if masks is None:
        return
    for name in _CITY_SPLITS:
        kind = _city_kind(folder, join(masks, name))
        if kind and is_folder(folder, join(CITY_IMAGES, name)):
            split = split_of_folder(name) or name
            suffixes = (f"_{CITY_IMAGES}", f"_{masks}{kind}")
            yield Part(join(CITY_IMAGES, name), join(masks, name), split, False, None, *suffixes)  # noqa: FBT003


def _city_kind(folder: Folder, path: str) -> str | None:
    for city in folders_in(folder, path):
        names = [entry.name for entry in children(folder, join(path, city)) if ending(entry.name) == ".png"]
        if found := [kind for kind in _CITY_KINDS if any(name.endswith(f"{kind}.png") for name in names)]:
            return found[0]
    return None


def _holds_masks(folder: Folder, path: str, depth: int) -> bool:
    """Return whether the first image in a folder, or in the first of its folders that has one, may be a mask."""
    entries = children(folder, path)
    kinds = [ending(entry.name) for entry in entries if not entry.is_folder]
    if images := [kind for kind in kinds if kind in IMAGE_ENDINGS]:
        return images[0] in _MASK_ENDINGS
    if depth == 0 or kinds:
        return False
    return any(_holds_masks(folder, join(path, entry.name), depth - 1) for entry in entries if entry.is_folder)
