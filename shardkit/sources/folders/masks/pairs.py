"""Find the folders of images and of masks in a source.

images/, masks/                          also with the splits above or below them
images/, masks/, train.txt, val.txt      lists of stems or names
JPEGImages/, SegmentationClass/          Pascal VOC, with ImageSets/Segmentation/*.txt
images/, annotations/                    ADE20K (SceneParsing)
train/, trainannot/, val/, valannot/     CamVid as SegNet distributes it; also train_labels/ and the like
701_StillsRaw_full/, LabeledApproved_full/      CamVid as its authors do
leftImg8bit/train/, gtFine/train/        Cityscapes
images/, annotations/trimaps/            Oxford-IIIT Pet, only if masks are asked for
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.sources.detection.voc.image_folders import read_lists
from shardkit.sources.folders.split_folders import split_of_name
from shardkit.sources.listing import ending
from shardkit.sources.lists.known.oxford_pets import ANNOTATIONS, IMAGES, is_oxford_pets
from shardkit.sources.walking import children, folders_in, is_folder, join
from shardkit.storage import Folder

# Names of the two folders, in any case; if there are several, the first in this order.
_IMAGES = ("images", "image", "imgs", "img", "jpegimages")
_MASKS = ("masks", "mask", "segmentationclass", "segmentations", "segmentation", "labels", "annotations", "gt")
_MASK_ENDINGS = frozenset({".bmp", ".dib", ".png", ".tif", ".tiff"})
_MAX_DEPTH = 3  # levels of folders that are searched for the first mask
_VOC_LISTS = ("ImageSets", "Segmentation")
_OF_SPLIT = re.compile(r"[_-]?(?:annot|annotations?|gt|labels?|masks?|seg(?:mentations?)?)", re.IGNORECASE)
CAMVID = ("701_StillsRaw_full", "LabeledApproved_full")
_CITY_IMAGES, _CITY_MASKS = "leftImg8bit", ("gtFine", "gtCoarse")
_CITY_SPLITS = ("train", "val", "train_extra")  # the masks of test are dummies: the benchmark keeps the true ones
# The first of these that exists: only the dataset's own script, which prepares training, makes labelTrainIds.
_CITY_KINDS = ("_labelTrainIds", "_labelIds")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a folder of images and the folder of their masks.

    Attributes:
        images: Path of the images.
        masks: Path of the masks; None if there is none, so that no image has a mask.
        split: The split of all these images; None if the source gives none.
        with_splits: Whether the first folder level below both is the split.
        lists: Folder of split lists, '' for the source's own; None for none.
        image_suffix: End of every image's stem, which is no part of the name.
        mask_suffix: End of every mask's stem; files with another end are no masks. '' if masks have the usual names.
    """

    images: str
    masks: str | None
    split: str | None
    with_splits: bool
    lists: str | None = None
    image_suffix: str = ""
    mask_suffix: str = ""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of images and of masks."""
        return (self.images,) if self.masks is None else (self.images, self.masks)


def find_pairs(folder: Folder, *, is_explicit: bool) -> tuple[Part, ...]:
    """Return the pairs of folders; those of a split without masks too, so that its images are rejected, not lost.

    Args:
        folder: The source.
        is_explicit: Whether the user asked for masks.
    """
    if is_explicit and is_oxford_pets(folder) and is_folder(folder, join(ANNOTATIONS, "trimaps")):
        return (Part(IMAGES, join(ANNOTATIONS, "trimaps"), None, with_splits=False, lists=ANNOTATIONS),)
    names = folders_in(folder)
    if _CITY_IMAGES in names and (found := tuple(_cityscapes(folder))):
        return found
    if set(CAMVID) <= set(names):
        return (Part(*CAMVID, None, with_splits=False),)
    if part := _pair(folder, "", None):
        lists = next((path for path in (join(*_VOC_LISTS), "") if _are_lists(folder, path, part.images)), None)
        return (replace(part, lists=lists),)
    splits = [(name, split) for name in names if (split := split_of_folder(name))]
    if found := tuple(part for name, split in splits if (part := _pair(folder, name, split))):
        return found
    return tuple(_beside_splits(folder, names, splits))


def _pair(folder: Folder, base: str, split: str | None) -> Part | None:
    names = {name.lower(): name for name in folders_in(folder, base)}
    images = next((join(base, names[name]) for name in _IMAGES if name in names), None)
    if images is None:
        return None
    candidates = (join(base, names[name]) for name in _MASKS if name in names)
    masks = next((path for path in candidates if _holds_masks(folder, path, _MAX_DEPTH)), None)
    if not base and masks is None:
        return None
    inner = folders_in(folder, images)
    return Part(images, masks, split, with_splits=split is None and bool(inner) and all(map(split_of_name, inner)))


def _are_lists(folder: Folder, path: str, images: str) -> bool:
    """Return whether a folder has split lists; those next to the images must name the first of them."""
    lists = read_lists(folder, path)
    if path or not lists:
        return bool(lists)
    if all(entry.split != "train" for entries in lists.values() for entry in entries):
        return False  # the images that such lists leave out are those for training
    there = {listed_stem(entry.name, images) for entry in children(folder, images) if not entry.is_folder}
    return not there.isdisjoint(listed_stem(line, images) for line in lists)


def listed_stem(line: str, images: str) -> str:
    """Return the stem that a line of a split list means: ``1``, ``1.jpg`` or ``images/1.jpg``."""
    stem, end = posixpath.splitext(line.removeprefix("./").removeprefix(f"{images}/"))
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
        if kind and is_folder(folder, join(_CITY_IMAGES, name)):
            split = split_of_folder(name) or name
            suffixes = (f"_{_CITY_IMAGES}", f"_{masks}{kind}")
            yield Part(join(_CITY_IMAGES, name), join(masks, name), split, False, None, *suffixes)  # noqa: FBT003


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
