"""Pair images and masks in folders of any names, by the stems of the files and by their pixels.

1.jpg, 1_m.png          in one folder: any common end of the masks' stems,
1.jpg, 1.png            or another ending
a/1.jpg, b/1_lab.png    in two folders, one of which is called like one of masks
"""

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from shardkit.sources.engine.split_words import split_of_name
from shardkit.sources.mask_pixels import are_masks, images_below
from shardkit.sources.recognising.folders.masks.part import Part
from shardkit.sources.recognising.folders.split_folders import mentioned_split
from shardkit.sources.walking import children, folders_in, join
from shardkit.storage import Folder

# End of a mask's stem. "_L" is CamVid's.
MASK_SUFFIX = re.compile(
    r"[_-](?:masks?|seg(?:mentation)?|labels?|l|gt|anno(?:tations?)?|labelids|labeltrainids)\Z", re.IGNORECASE
)
_IMAGE_SUFFIXES = ("", "_0000", "_image", "_img", "_rgb", "_sat")  # "_0000" is nnU-Net's first channel
SAYS_MASKS = re.compile(r"mask|manual|label|(?<![a-z])ann|annot|(?<![a-z])gt|seg|matte|truth", re.IGNORECASE)
# Images with their masks in them.
_DRAWN_OVER = re.compile(r"overlay|visuali[sz]ation|contour|outline", re.IGNORECASE)
_SUFFIX = re.compile(r"[_-][^_-].*\Z")
_LAST_SUFFIX = re.compile(r"[_-][^_/-]+\Z")
_MAX_SUFFIXES = 4  # of masks of the same images, such as those of several observers
_NUM_MATCHED = 400  # files whose stems are compared
_MIN_MATCHED = 0.8  # of the masks
# imagesTr/ of nnU-Net, DUTS-TR/
_SHORT_SPLIT = re.compile(r"(?:(?<=[a-z])|(?<=[-_]))(Tr|TR|Va|VA|Ts|TS|Te|TE)\Z")
_SHORT = {"tr": "train", "va": "validation", "ts": "test", "te": "test"}
MAX_FOLDERS = 12  # folders next to each other that may be pairs


def pairs_in(folder: Folder, base: str, split: str | None, *, by_names: bool = True) -> Iterator[Part]:
    """Yield the pairs of folders in a folder, or in folders that are alone in these.

    With `by_names`, only folders that are called like masks are taken for such.
    """
    names = folders_in(folder, base)
    if not 1 < len(names) <= MAX_FOLDERS:
        return
    paths = [path for name in names for path in _without_wrapper(folder, join(base, name))]
    said = [path for path in paths if SAYS_MASKS.search(posixpath.basename(path))]
    if not said and not by_names:
        said = [path for path in paths if are_masks(folder, images_below(folder, path))]
    pairs = [
        (images, masks)
        for masks, images in itertools.product(said, paths)
        if images not in said and not _DRAWN_OVER.search(posixpath.basename(images))
    ]
    for any_start in (False, True):  # train/1.png is no image of val_labels/1.png next to train_labels/
        found = [part for pair in pairs if (part := _pair(folder, *pair, split, any_start=any_start))]
        yield from found
        if found:
            return


def _pair(folder: Folder, images: str, masks: str, split: str | None, *, any_start: bool) -> Part | None:
    inner = folders_in(folder, images)
    with_splits = bool(inner) and all(map(split_of_name, inner))
    own = split or (None if with_splits else split_of(posixpath.basename(images)))
    part = Part(images, masks, own, with_splits=split is None and with_splits)
    return matched(folder, part, any_start=any_start)


def _without_wrapper(folder: Folder, path: str) -> list[str]:
    """Return a folder; the only folder in it if it holds nothing else, and then the folders in that one."""
    entries = children(folder, path)
    if len(entries) != 1 or not entries[0].is_folder or split_of(entries[0].name):
        return [path]
    inner = join(path, entries[0].name)
    below = children(folder, inner)
    if below and len(below) <= MAX_FOLDERS and all(one.is_folder and not split_of(one.name) for one in below):
        return [join(inner, one.name) for one in below]
    return [inner]


def pairs_in_one_folder(folder: Folder, path: str, depth: int = 0, *, any_end: bool = False) -> Iterator[Part]:
    """Yield the pairs in a folder, by suffix: ``1_sat.jpg`` and ``1_mask.png``, ``1.bmp`` and ``1_m.bmp``.

    With `any_end`, an end of several words may be one of masks: ``1_cp_masks.png``, which numbers cells.
    """
    paths = list(itertools.islice(images_below(folder, path, depth), _NUM_MATCHED))
    by_stem = {posixpath.splitext(one)[0]: one for one in paths}
    if part := _of_same_stems(folder, path, paths):
        yield part
        return
    suffixes = {found[0] for stem in by_stem if (found := MASK_SUFFIX.search(stem))}
    # The end that follows the stem of another image.
    last = {end[0] for stem in by_stem if (end := _LAST_SUFFIX.search(stem)) and stem[: end.start()] in by_stem}
    several = {stem[i:] for stem in by_stem if any_end for i in _separators(stem) if stem[:i] in by_stem}
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


def matched(folder: Folder, part: Part, *, any_start: bool = False) -> Part | None:
    """Return a pair of folders with the ends of its names; None if they are no pair, by their names or pixels."""
    found = with_ends(folder, part, any_start=any_start)
    if found is None or not are_masks(folder, images_below(folder, part.masks or "")):
        return None
    return None if are_masks(folder, itertools.islice(images_below(folder, part.images), 2)) else found


def with_ends(folder: Folder, part: Part, *, any_start: bool = False) -> Part | None:
    """Return a pair of folders with the ends of its images' and masks' names; None if the names do not agree.

    With `any_start`, names may begin with other words: img_1.jpg and seg_1.png.
    """
    images, masks = ([*itertools.islice(images_below(folder, path), _NUM_MATCHED)] for path in part.folders)
    names = {stem_in_part(path[len(part.masks or "") + 1 :], part) for path in masks}
    bare = {MASK_SUFFIX.sub("", name) for name in names}
    stems = [stem_in_part(path[len(part.images) + 1 :], part) for path in images]
    for suffix in _IMAGE_SUFFIXES:
        found = {stem.removesuffix(suffix) for stem in stems if stem.endswith(suffix)}
        if names and max(len(names & found), len(bare & found)) >= _MIN_MATCHED * len(names):
            return replace(part, image_suffix=suffix)
    ends = common_end(stems), common_end(names)
    bare_stems = {stem.removesuffix(ends[0]) for stem in stems}
    bare_names = {name.removesuffix(ends[1]) for name in names}
    if any(ends) and len(bare_stems & bare_names) >= _MIN_MATCHED * len(names):
        return replace(part, image_suffix=ends[0], mask_suffix=ends[1])
    if not any_start:
        return None
    starts = _common_start(bare_stems), _common_start(bare_names)
    common = {_without_start(one, starts[0]) for one in bare_stems} & {
        _without_start(one, starts[1]) for one in bare_names
    }
    if not all(starts) or len(common) < _MIN_MATCHED * len(names):
        return None
    return replace(part, image_suffix=ends[0], mask_suffix=ends[1], image_prefix=starts[0], mask_prefix=starts[1])


def common_end(stems: Collection[str]) -> str:
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


def stem_in_part(below: str, part: Part) -> str:
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
