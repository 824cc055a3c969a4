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

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.sources.detection.voc.image_folders import read_lists
from shardkit.sources.folders.masks.by_content import are_masks, images_below
from shardkit.sources.folders.split_folders import split_of_name
from shardkit.sources.listing import ending
from shardkit.sources.lists.known.oxford_pets import ANNOTATIONS, IMAGES, is_oxford_pets
from shardkit.sources.walking import children, folders_in, is_folder, join, parent_of
from shardkit.storage import Folder

# Names of the two folders, in any case; if there are several, the first in this order.
_IMAGES = ("images", "image", "imgs", "img", "jpegimages")
_MASKS = ("masks", "mask", "segmentationclass", "segmentations", "segmentation", "labels", "annotations", "gt")
_MASK_ENDINGS = frozenset({".bmp", ".dib", ".gif", ".png", ".tif", ".tiff"})
# End of a mask's stem. "_L" is CamVid's.
MASK_SUFFIX = re.compile(
    r"[_-](?:masks?|seg(?:mentation)?|labels?|l|gt|anno(?:tations?)?|labelids|labeltrainids)\Z", re.IGNORECASE
)
_IMAGE_SUFFIXES = ("", "_0000", "_image", "_img", "_rgb", "_sat")  # "_0000" is nnU-Net's first channel
SAYS_MASKS = re.compile(r"mask|manual|label|(?<![a-z])ann|(?<![a-z])gt|seg|matte|truth", re.IGNORECASE)
_SUFFIX = re.compile(r"[_-][^_-].*\Z")
_LAST_SUFFIX = re.compile(r"[_-][^_/-]+\Z")
_MAX_SUFFIXES = 4  # of masks of the same images, such as those of several observers
_NUM_MATCHED = 400  # files whose stems are compared
_MIN_MATCHED = 0.8  # of the masks
_MAX_FOLDERS = 12  # folders next to each other that may be pairs
# imagesTr/ of nnU-Net, DUTS-TR/
_SHORT_SPLIT = re.compile(r"(?:(?<=[a-z])|(?<=[-_]))(Tr|TR|Va|VA|Ts|TS|Te|TE)\Z")
_SHORT = {"tr": "train", "va": "validation", "ts": "test", "te": "test"}
_MAX_DEPTH = 3  # levels of folders that are searched for the first mask
_VOC_LISTS = ("ImageSets", "Segmentation")
_OF_INSTANCES = re.compile(r"segmentationobject|instances?", re.IGNORECASE)  # numbers of objects, not of classes
_OF_SPLIT = re.compile(r"[_-]?(?:annot|annotations?|gt|labels?|masks?|seg(?:mentations?)?)", re.IGNORECASE)
CAMVID = ("701_StillsRaw_full", "LabeledApproved_full")
_CITY_IMAGES, _CITY_MASKS = "leftImg8bit", ("gtFine", "gtCoarse")
_CITY_SPLITS = ("train", "val", "train_extra")  # the masks of test are dummies: the benchmark keeps the true ones
VISTAS_VERSION = re.compile(r"v[0-9]\.[0-9]")  # folders of Mapillary Vistas, each with labels/
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
        mask_ending: Ending of every mask's file; '' for any.
    """

    images: str
    masks: str | None
    split: str | None
    with_splits: bool
    lists: str | None = None
    image_suffix: str = ""
    mask_suffix: str = ""
    mask_ending: str = ""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of images and of masks."""
        return (self.images,) if self.masks is None or self.is_one_folder else (self.images, self.masks)

    @property
    def is_one_folder(self) -> bool:
        """Whether images and masks are in one folder, and `is_mask` tells them apart."""
        return self.images == self.masks

    @property
    def glob(self) -> str:
        """What hides the masks, as for `ignore`."""
        return (
            f"*{self.mask_suffix}{self.mask_ending or '.*'}"
            if self.is_one_folder
            else f"{posixpath.basename(self.masks or '')}/"
        )

    @property
    def is_cityscapes(self) -> bool:
        """Whether the dataset is Cityscapes, whose class numbers are known."""
        return self.images.startswith(f"{_CITY_IMAGES}/") and bool(self.mask_suffix)

    def masks_of(self, folder: Folder) -> Iterator[str]:
        """Yield the paths of the masks."""
        paths = images_below(folder, self.masks) if self.masks is not None else iter(())
        return filter(self.is_mask, paths)

    def is_mask(self, path: str) -> bool:
        """Return whether a file may be a mask by the end of its name."""
        return posixpath.splitext(path)[0].endswith(self.mask_suffix) and path.endswith(self.mask_ending)


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
        return (_with_lists(folder, part),)
    splits = [(name, split) for name in names if (split := split_of_folder(name))]
    found = tuple(part for name, split in splits if (part := _pair(folder, name, split)))
    if any(part.masks is not None for part in found):
        return _without_bare_tests(found)
    if beside := tuple(_beside_splits(folder, names, splits)):
        return _without_bare_tests(beside)
    return _by_content(folder, names, is_explicit=is_explicit) or found


def _without_bare_tests(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts without test images that have no masks: benchmarks keep them."""
    return tuple(part for part in parts if part.masks is not None or part.split != "test")


def _by_content(folder: Folder, names: list[str], *, is_explicit: bool) -> tuple[Part, ...]:
    """Return the pairs of folders whose names are not known, and folders that hold images and their masks."""
    if len(names) > _MAX_FOLDERS:
        return tuple(pairs_in_one_folder(folder, "", _MAX_DEPTH)) if is_explicit else ()
    found = tuple(_pairs_in(folder, "", None))
    # Folders that are no splits may be classes, each with its masks.
    inner = [name for name in names if is_explicit or _split_of(name)]
    for name in inner if not found and len(names) > 1 else ():  # the only folder is opened like the source
        split = _split_of(name)
        deeper = folders_in(folder, name) if is_explicit and split else []
        below = tuple(pair for one in deeper for pair in _pairs_in(folder, join(name, one), split))
        found += tuple(_pairs_in(folder, name, split)) or below
    for path in ["", *(names if len(names) == 1 else inner)] if not found else ():
        if not path or not folders_in(folder, path):
            found += tuple(pairs_in_one_folder(folder, path))
    if not found and is_explicit:
        found = tuple(pairs_in_one_folder(folder, "", _MAX_DEPTH))
    # Images to learn from without masks, as for anomalies, have other labels.
    if not is_explicit and {one.split for one in found} == {"test"} and "train" in map(_split_of, names):
        return ()
    found = tuple({one.images: one for one in reversed(found)}.values())[::-1]  # `rivals` has the others
    return (_with_lists(folder, found[0]),) if len(found) == 1 and found[0].split is None else found


def _with_lists(folder: Folder, part: Part) -> Part:
    """Return a pair with its lists of splits: of Pascal VOC, or next to the folders."""
    sets = [name for name in folders_in(folder, _VOC_LISTS[0]) if read_lists(folder, join(_VOC_LISTS[0], name))]
    sets = [_VOC_LISTS[1]] if _VOC_LISTS[1] in sets else sets if len(sets) == 1 else []
    candidates = [*(join(_VOC_LISTS[0], name) for name in sets), ""]
    return replace(part, lists=next((path for path in candidates if _are_lists(folder, path, part.images)), None))


def rivals(folder: Folder, part: Part) -> list[Part]:
    """Return other folders next to a pair's, with masks of the same images by their names and pixels.

    Args:
        folder: The source.
        part: The pair.
    """
    if part.masks is None or part.is_cityscapes:
        return []
    if part.is_one_folder:
        return [one for one in pairs_in_one_folder(folder, part.images) if one.mask_suffix != part.mask_suffix]
    base = parent_of(part.images)
    names = [name for name in folders_in(folder, base) if join(base, name) not in part.folders]
    known = {*_IMAGES, *_MASKS}
    others = [name for name in names if name.lower() not in known and not _OF_INSTANCES.search(name)]
    if len(others) > _MAX_FOLDERS or parent_of(part.masks) != base:
        return []
    found = (_matched(folder, replace(part, masks=join(base, name), mask_suffix="")) for name in others)
    return [one for one in found if one is not None]


def _pairs_in(folder: Folder, base: str, split: str | None) -> Iterator[Part]:
    names = folders_in(folder, base)
    if not 1 < len(names) <= _MAX_FOLDERS:
        return
    said = [name for name in names if SAYS_MASKS.search(name)]
    for masks, images in itertools.product(said, names):
        if images in said:
            continue
        inner = folders_in(folder, join(base, images))
        with_splits = bool(inner) and all(map(split_of_name, inner))
        own = split or (None if with_splits else _split_of(images))
        part = Part(join(base, images), join(base, masks), own, with_splits=split is None and with_splits)
        if (matched := _matched(folder, part)) is not None:
            yield matched


def pairs_in_one_folder(folder: Folder, path: str, depth: int = 0) -> Iterator[Part]:
    """Yield the pairs in a folder, by suffix: ``1_sat.jpg`` and ``1_mask.png``, ``1.bmp`` and ``1_m.bmp``."""
    paths = list(itertools.islice(images_below(folder, path, depth), _NUM_MATCHED))
    by_stem = {posixpath.splitext(one)[0]: one for one in paths}
    if part := _of_same_stems(folder, path, paths):
        yield part
        return
    suffixes = {found[0] for stem in by_stem if (found := MASK_SUFFIX.search(stem))}
    if not suffixes:  # the end that follows the stem of another image
        ends = filter(None, map(_LAST_SUFFIX.search, by_stem))
        suffixes = {end[0] for end in ends if end.string[: end.start()] in by_stem}
    if not 0 < len(suffixes) <= _MAX_SUFFIXES:
        return
    images = [stem for stem in by_stem if not stem.endswith(tuple(suffixes))]
    for suffix, image_suffix in itertools.product(sorted(suffixes), _IMAGE_SUFFIXES):
        masks = {stem.removesuffix(suffix) for stem in by_stem if stem.endswith(suffix)}
        paired = [one for one in images if one.endswith(image_suffix) and one.removesuffix(image_suffix) in masks]
        if len(paired) >= _MIN_MATCHED * max(len(images), len(masks)):
            split = split_of_name(path) if path else None
            part = Part(path, path, split, with_splits=False, image_suffix=image_suffix, mask_suffix=suffix)
            if are_masks(folder, part.masks_of(folder)) and not are_masks(folder, [by_stem[one] for one in paired[:2]]):
                yield part


def _of_same_stems(folder: Folder, path: str, paths: list[str]) -> Part | None:
    """Return the pair in a folder whose masks differ from the images in their endings only: ``1.jpg`` and ``1.png``."""
    by_ending: dict[str, dict[str, str]] = {}
    for one in paths:
        stem, kind = posixpath.splitext(one)
        by_ending.setdefault(kind, {})[stem] = one
    if len(by_ending) != 2:
        return None
    for images, masks in itertools.permutations(by_ending, 2):
        common = [stem for stem in by_ending[images] if stem in by_ending[masks]]
        if len(common) < _MIN_MATCHED * max(map(len, by_ending.values())):
            return None
        pair = ([by_ending[kind][stem] for stem in common] for kind in (images, masks))
        if not are_masks(folder, next(pair)[:2]) and are_masks(folder, next(pair)):
            split = split_of_name(path) if path else None
            return Part(path, path, split, with_splits=False, mask_ending=masks)
    return None


def _matched(folder: Folder, part: Part) -> Part | None:
    """Return a pair of folders with the suffix of its images; None if they are no pair."""
    images, masks = ([*itertools.islice(images_below(folder, path), _NUM_MATCHED)] for path in part.folders)
    names = {_name_in_part(path, part.masks or "", part) for path in masks}
    bare = {MASK_SUFFIX.sub("", name) for name in names}
    stems = [_name_in_part(path, part.images, part) for path in images]
    for suffix in _IMAGE_SUFFIXES:
        found = {stem.removesuffix(suffix) for stem in stems if stem.endswith(suffix)}
        matched = max(len(names & found), len(bare & found))
        if names and matched >= _MIN_MATCHED * len(names):
            is_pair = are_masks(folder, masks) and not are_masks(folder, images[:2])
            return replace(part, image_suffix=suffix) if is_pair else None
    ends = _common_end(stems), _common_end(names)
    common = {stem.removesuffix(ends[0]) for stem in stems} & {name.removesuffix(ends[1]) for name in names}
    if not any(ends) or len(common) < _MIN_MATCHED * len(names):
        return None
    is_pair = are_masks(folder, masks) and not are_masks(folder, images[:2])
    return replace(part, image_suffix=ends[0], mask_suffix=ends[1]) if is_pair else None


def _common_end(stems: Collection[str]) -> str:
    """Return the end of all stems from a separator on, such as ``_training``; '' for none."""
    backwards = posixpath.commonprefix([stem[::-1] for stem in stems]) if len(stems) > 1 else ""
    end = _SUFFIX.search(backwards[::-1])
    return end[0] if end else ""


def _name_in_part(path: str, above: str, part: Part) -> str:
    stem = posixpath.splitext(path[len(above) + 1 :])[0]
    first, separator, rest = stem.partition("/")
    return f"{split_of_name(first) or first}/{rest}" if part.with_splits and separator else stem


def _split_of(name: str) -> str | None:
    short = _SHORT_SPLIT.search(name)
    return _SHORT[short[1].lower()] if short else split_of_name(name)


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
    return Part(images, masks, split, with_splits=split is None and bool(inner) and all(map(split_of_name, inner)))


def _has_image(folder: Folder, path: str) -> bool:
    return next(images_below(folder, path, 0), None) is not None


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
