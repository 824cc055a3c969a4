"""Find images and their masks: by the stems of files, the names of folders and the pixels of a few masks.

images/, masks/                two folders of any names next to each other, also with splits above or below them
train/, trainannot/            of each split
1.jpg, 1_m.png                 one folder: any common end of the masks' stems,
1.jpg, 1.png                   or another ending
scene1/rgb/, scene1/seg/       in each folder

Two folders are a pair if their files have the same stems, those of one have few colours, and its name says that it has
masks or no other does. Folders with the usual names need no such pixels: borders of masks may be smooth.
"""

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from shardkit.sources.engine.splits import split_of_name
from shardkit.sources.mask_pixels import are_masks, images_below
from shardkit.sources.recognising.folders.split_folders import mentioned_split
from shardkit.sources.walking import children, ending, folders_in, join, stem_of
from shardkit.storage import Folder

SAYS_MASKS = re.compile(r"mask|manual|label|(?<![a-z])ann|annot|(?<![a-z])gt|seg|matte|truth", re.IGNORECASE)
# End of a mask's stem. "_L" is CamVid's.
_MASK_SUFFIX = re.compile(
    r"[_-](?:masks?|seg(?:mentation)?|labels?|l|gt|anno(?:tations?)?|labelids|labeltrainids)\Z", re.IGNORECASE
)
# Names of folders of masks, in any case; if there are several, the first in this order.
_USUAL = (
    *("masks", "mask", "masks_machine", "segmentationclass", "segmentations", "segmentation", "labels"),
    *("annotations", "annot", "gt", "labeledapproved_full"),  # the last is CamVid's
)
_USUAL_IMAGES = frozenset({"images", "image", "imgs", "img", "jpegimages"})
_MASK_ENDINGS = frozenset({".bmp", ".dib", ".gif", ".png", ".tif", ".tiff"})
# Images with their masks in them; numbers of objects, not of classes.
_NO_MASKS = re.compile(r"overlay|visuali[sz]ation|contour|outline|segmentationobject|instances?", re.IGNORECASE)
_IMAGE_SUFFIXES = ("", "_0000", "_image", "_img", "_rgb", "_sat")  # "_0000" is nnU-Net's first channel
_SUFFIX = re.compile(r"[_-][^_-].*\Z")
_LAST_SUFFIX = re.compile(r"[_-][^_/-]+\Z")
_MAX_SUFFIXES = 4  # of masks of the same images, such as those of several observers
_NUM_MATCHED = 400  # files whose stems are compared
_MIN_MATCHED = 0.8  # of the masks
_SMALLER = 2  # times at least that masks are smaller than their images
_MAX_FOLDERS = 12  # folders next to each other that may be pairs
_MAX_DEPTH = 3  # levels of folders that may each hold pairs
# imagesTr/ of nnU-Net, DUTS-TR/
_SHORT_SPLIT = re.compile(r"(?:(?<=[a-z])|(?<=[-_]))(Tr|TR|Va|VA|Ts|TS|Te|TE)\Z")
_SHORT = {"tr": "train", "va": "validation", "ts": "test", "te": "test"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a folder of images and the folder of their masks."""

    images: str  # path of the images
    masks: str  # path of the masks; the same if they are in one folder
    split: str | None = None  # the split of all these images; None if the source gives none
    with_splits: bool = False  # whether the first folder level below both is the split
    image_suffix: str = ""  # end of every image's stem, which is no part of the name
    # End of every mask's stem; files with another end are no masks. '' if masks have the usual names
    mask_suffix: str = ""
    mask_ending: str = ""  # ending of every mask's file; '' for any
    # Beginning of the name of every image, which is no part of the stem: img_1.jpg and seg_1.png
    image_prefix: str = ""
    mask_prefix: str = ""  # beginning of the name of every mask

    @property
    def glob(self) -> str:
        """What hides the masks, as for `ignore`."""
        if self.images == self.masks:
            return f"*{self.mask_suffix}{self.mask_ending or '.*'}"
        return f"{posixpath.basename(self.masks)}/"

    def masks_of(self, folder: Folder) -> Iterator[str]:
        """Yield the paths of the masks."""
        for path in images_below(folder, self.masks):
            stem = stem_of(path)
            ends = stem.endswith(self.mask_suffix) and path.endswith(self.mask_ending)
            if ends and stem.startswith(self.mask_prefix):
                yield path


def find_pairs(folder: Folder) -> list[Part]:
    """Return the pairs of a source; of several folders with masks of the same images, the first."""
    names = folders_in(folder)
    splits = [name for name in names if split_of(name)]
    found = [part for name in splits for part in _pairs_below(folder, name, split_of(name), _MAX_DEPTH)]
    if len({part.split for part in found}) < 2:  # before images/ of all splits next to these
        found = [*_pairs_below(folder, "", None, 0)] or found
        if len(names) == 1:  # opened like the source
            found = found or [*pairs_in_one_folder(folder, names[0])]
        found = found or [*_pairs_below(folder, "", None, _MAX_DEPTH if len(names) > 1 else 0)]
    # Images to learn from without masks, as for anomalies, have other labels.
    if {one.split for one in found} == {"test"} and "train" in map(split_of, splits):
        return []
    by_images = {one.images: one for one in reversed(found)}
    by_masks = {(one.masks, one.mask_suffix, one.mask_ending): one for one in by_images.values()}
    return [one for one in found if one in by_masks.values()]


def _pairs_below(folder: Folder, path: str, split: str | None, depth: int) -> Iterator[Part]:
    """Yield the pairs in a folder; else those in each folder below, if the first one has some."""
    found = [*_pairs_next_to(folder, path, split)]
    if not found:
        found = [replace(one, split=split) for one in pairs_in_one_folder(folder, path)]
    yield from found
    inner = sorted(folders_in(folder, path), key=lambda name: split_of(name) != "train") if depth else []
    for name in inner if not found else ():
        below = [*_pairs_below(folder, join(path, name), split or split_of(name), depth - 1)]
        yield from below
        if not below and name == inner[0]:
            return


def _pairs_next_to(folder: Folder, base: str, split: str | None) -> Iterator[Part]:
    """Yield the pairs of folders in a folder, or in folders that are alone in these."""
    names = folders_in(folder, base)
    if not 1 < len(names) <= _MAX_FOLDERS:
        return
    plain = [join(base, name) for name in names]
    inner = [path for one in plain for path in _without_wrapper(folder, one)]
    for paths, any_start in itertools.product((plain, inner) if inner != plain else (plain,), (False, True)):
        found = [*_pairs_among(folder, base, paths, split, any_start=any_start)]
        yield from found
        if found:
            return


def _pairs_among(folder: Folder, base: str, paths: list[str], split: str | None, *, any_start: bool) -> Iterator[Part]:
    said = [path for path in paths if SAYS_MASKS.search(path[len(base) :]) and not _NO_MASKS.search(path[len(base) :])]
    said.sort(key=lambda path: _USUAL.index(_name(path)) if _name(path) in _USUAL else len(_USUAL))
    others = [path for path in paths if path not in said and not _NO_MASKS.search(path[len(base) :])]
    for masks in said or others:
        for images in _images_of(masks, others):
            if not said and _SMALLER * _num_bytes(folder, masks) > _num_bytes(folder, images):
                continue  # drawings take less than photographs; classes are opened for nothing
            part = _part(folder, images, masks, split)
            if found := _matched(folder, part, any_start=any_start, is_said=bool(said)):
                yield found


def _num_bytes(folder: Folder, path: str) -> float:
    """Return the mean size of the files in a folder."""
    sizes = [entry.num_bytes for entry in children(folder, path) if not entry.is_folder]
    return sum(sizes) / max(1, len(sizes))


def _name(path: str) -> str:
    return posixpath.basename(path).lower()


def _images_of(masks: str, others: list[str]) -> list[str]:
    """Return the folders that may hold the images of a folder of masks, the likely ones first.

    train/1.png is no image of val_labels/1.png next to train_labels/.
    """
    name = posixpath.basename(masks)
    alike = [path for path in others if name.startswith(posixpath.basename(path)) and path != masks]
    same = [path for path in others if path != masks and split_inside(posixpath.basename(path)) == split_inside(name)]
    rest = [path for path in others if path != masks]
    return alike or sorted(same or rest, key=lambda path: _name(path) not in _USUAL_IMAGES)


def _part(folder: Folder, images: str, masks: str, split: str | None) -> Part:
    inner = folders_in(folder, images)
    with_splits = split is None and bool(inner) and all(map(split_of_name, inner))
    own = split or (None if with_splits else split_of(posixpath.basename(images)))
    return Part(images, masks, own, with_splits)


def _without_wrapper(folder: Folder, path: str) -> list[str]:
    """Return a folder; the only folder in it if it holds nothing else, and then the folders in that one."""
    entries = children(folder, path)
    if len(entries) != 1 or not entries[0].is_folder or split_of(entries[0].name):
        return [path]
    inner = join(path, entries[0].name)
    below = children(folder, inner)
    if below and len(below) <= _MAX_FOLDERS and all(one.is_folder and not split_of(one.name) for one in below):
        return [join(inner, one.name) for one in below]
    return [inner]


def _matched(folder: Folder, part: Part, *, any_start: bool, is_said: bool) -> Part | None:
    """Return a pair of folders with the ends of its names; None if they are no pair, by their names or pixels."""
    images, masks = ([*itertools.islice(images_below(folder, one), _NUM_MATCHED)] for one in (part.images, part.masks))
    name = _name(part.masks)  # trainannot/ next to train/
    is_called_so = name in _USUAL or name.removeprefix(_name(part.images)).strip("_-") in _USUAL
    is_usual = is_called_so and all(ending(path) in _MASK_ENDINGS for path in masks)
    found = _with_ends(part, images, masks, any_start=any_start, is_usual=is_usual, may_have_ends=is_said)
    if found is None or is_usual:
        return found
    return found if are_masks(folder, masks) and not are_masks(folder, images[:2]) else None


def _with_ends(
    part: Part, images: list[str], masks: list[str], *, any_start: bool, is_usual: bool, may_have_ends: bool
) -> Part | None:
    """Return a pair of folders with the ends of its images' and masks' names; None if the names do not agree.

    With `any_start`, names may begin with other words: img_1.jpg and seg_1.png.
    """
    names = {_stem_in_part(path[len(part.masks) + 1 :], part) for path in masks}
    stems = [_stem_in_part(path[len(part.images) + 1 :], part) for path in images]
    most = _MIN_MATCHED * len(names)
    if not names or not stems:
        return None
    usual = dict.fromkeys(["", *sorted(found[0] for name in names if (found := _MASK_SUFFIX.search(name)))])
    counts = {
        (suffix, end): len(_without_end(names, end) & _without_end(stems, suffix))
        for suffix in (_IMAGE_SUFFIXES if may_have_ends else ("",))
        for end in (usual if may_have_ends else ("",))
    }
    (suffix, end), num = max(counts.items(), key=lambda one: one[1])
    if num >= most or (is_usual and num):
        return replace(part, image_suffix=suffix, mask_suffix=end)
    ends = _common_end(stems), _common_end(names)
    bare_stems = {stem.removesuffix(ends[0]) for stem in stems}
    bare_names = {name.removesuffix(ends[1]) for name in names}
    if may_have_ends and any(ends) and len(bare_stems & bare_names) >= most:
        return replace(part, image_suffix=ends[0], mask_suffix=ends[1])
    starts = _common_start(bare_stems), _common_start(bare_names)
    without = (
        {_without_start(one, start) for one in some}
        for some, start in zip((bare_stems, bare_names), starts, strict=True)
    )
    if not (any_start and may_have_ends) or not all(starts) or len(set.intersection(*without)) < most:
        return None
    return replace(part, image_suffix=ends[0], mask_suffix=ends[1], image_prefix=starts[0], mask_prefix=starts[1])


def _without_end(stems: Collection[str], end: str) -> set[str]:
    return {stem.removesuffix(end) for stem in stems if stem.endswith(end)}


def _common_end(stems: Collection[str]) -> str:
    """Return the end of all stems from a separator on, such as ``_training``; '' for none."""
    backwards = posixpath.commonprefix([stem[::-1] for stem in stems]) if len(stems) > 1 else ""
    end = _SUFFIX.search(backwards[::-1])
    return end[0] if end else ""


def _common_start(stems: Collection[str]) -> str:
    """Return the beginning of all names up to their numbers, such as ``img_``; '' for none."""
    common = posixpath.commonprefix([posixpath.basename(stem) for stem in stems]) if len(stems) > 1 else ""
    return common.rstrip("0123456789")


def _without_start(stem: str, start: str) -> str:
    above, name = posixpath.split(stem)
    return join(above, name.removeprefix(start))


def pairs_in_one_folder(folder: Folder, path: str) -> Iterator[Part]:
    """Yield the pairs in a folder, by suffix: ``1_sat.jpg`` and ``1_mask.png``, ``1.bmp`` and ``1_m.bmp``.

    An end of several words may be one of masks, too: ``1_cp_masks.png``, which numbers cells.
    """
    paths = [*itertools.islice(images_below(folder, path, 0), _NUM_MATCHED)]
    by_stem = {posixpath.splitext(one)[0]: one for one in paths}
    if part := _of_same_stems(folder, path, paths):
        yield part
        return
    suffixes = {found[0] for stem in by_stem if (found := _MASK_SUFFIX.search(stem))}
    # The end that follows the stem of another image.
    last = {end[0] for stem in by_stem if (end := _LAST_SUFFIX.search(stem)) and stem[: end.start()] in by_stem}
    several = {stem[i:] for stem in by_stem for i in _separators(stem) if stem[:i] in by_stem}
    for ends in (suffixes or last, several):
        parts = [*_with_ends_of_masks(folder, path, by_stem, ends)] if 0 < len(ends) <= _MAX_SUFFIXES else []
        yield from parts
        if parts:
            return


def _separators(stem: str) -> list[int]:
    return [i for i, character in enumerate(stem) if character in "_-" and i > stem.rfind("/") + 1]


def _with_ends_of_masks(folder: Folder, path: str, by_stem: dict[str, str], suffixes: set[str]) -> Iterator[Part]:
    """Yield the pairs in a folder with some ends of the masks' stems."""
    images = [stem for stem in by_stem if not stem.endswith(tuple(suffixes))]
    for suffix, image_suffix in itertools.product(sorted(suffixes), _IMAGE_SUFFIXES):
        masks = {stem.removesuffix(suffix) for stem in by_stem if stem.endswith(suffix)}
        paired = [one for one in images if one.endswith(image_suffix) and one.removesuffix(image_suffix) in masks]
        if len(paired) >= _MIN_MATCHED * max(len(images), len(masks)):
            part = Part(path, path, image_suffix=image_suffix, mask_suffix=suffix)
            if are_masks(folder, part.masks_of(folder)) and not are_masks(folder, [by_stem[one] for one in paired[:2]]):
                yield part


def _of_same_stems(folder: Folder, path: str, paths: list[str]) -> Part | None:
    """Return the pair in a folder whose masks differ from the images in their endings only: ``1.jpg`` and ``1.png``."""
    by_ending: dict[str, dict[str, str]] = {}
    for one in paths:
        stem, kind = posixpath.splitext(one)
        by_ending.setdefault(kind, {})[stem] = one
    for images, masks in itertools.permutations(by_ending, 2) if len(by_ending) == 2 else ():
        common = [stem for stem in by_ending[images] if stem in by_ending[masks]]
        if len(common) < _MIN_MATCHED * max(map(len, by_ending.values())):
            return None
        pair = ([by_ending[kind][stem] for stem in common] for kind in (images, masks))
        if not are_masks(folder, next(pair)[:2]) and are_masks(folder, next(pair)):
            return Part(path, path, mask_ending=masks)
    return None


def _stem_in_part(below: str, part: Part) -> str:
    """Return the stem of a path below the part's folder; images/val/1.jpg and masks/validation/1.png have one."""
    stem = posixpath.splitext(below)[0]
    first, separator, rest = stem.partition("/")
    return f"{split_inside(first) or first}/{rest}" if part.with_splits and separator else stem


def split_inside(name: str) -> str | None:
    """Return the split that a folder in a folder of images or masks means, such as ``train_segmentations``."""
    return split_of_name(name) or mentioned_split(name)


def split_of(name: str) -> str | None:
    """Return the split that a folder's name means, such as ``imagesTr``; None if it means none."""
    short = _SHORT_SPLIT.search(name)
    return _SHORT[short[1].lower()] if short else split_of_name(name)
