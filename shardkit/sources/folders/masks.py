"""Segmentation: a folder of images and a folder of masks beside it, paired by stem.

SOURCE/images/a/1.jpg           SOURCE/masks/a/1.png              a pair of the same path but for the ending,
SOURCE/images/2.jpg             SOURCE/masks/2_mask.png           or with a usual suffix at the mask
SOURCE/train/images/3.jpg       SOURCE/train/masks/3.png          splits above the two folders,
SOURCE/images/train/3.jpg       SOURCE/masks/train/3.png          or below them
SOURCE/JPEGImages/4.jpg         SOURCE/SegmentationClass/4.png    and ImageSets/Segmentation/*.txt: Pascal VOC's

Images anywhere else are counted as skipped.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable, split_of_folder
from shardkit.sources.detection.voc_folders import read_lists, split_in_lists
from shardkit.sources.listing import (
    IMAGE_ENDINGS,
    LISTING_SCHEMA,
    MASK_PATH,
    Listing,
    Source,
    ending,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import Rest, count_uncovered
from shardkit.sources.walking import children, files_below, folders_in, join
from shardkit.storage import Entry, Folder

_SCHEMA = pa.schema([*LISTING_SCHEMA, MASK_PATH])
# Names of the two folders, in any case; of several, the first one here.
_IMAGES = ("images", "image", "imgs", "img", "jpegimages")
_MASKS = ("masks", "mask", "segmentationclass", "segmentations", "segmentation", "labels", "annotations", "gt")
_MASK_ENDINGS = frozenset({".bmp", ".dib", ".png", ".tif", ".tiff"})
_SUFFIX = re.compile(r"[_-](?:masks?|seg(?:mentation)?|labels?|gt|labelids|labeltrainids)\Z", re.IGNORECASE)
_MAX_DEPTH = 3  # folders below a folder of masks that are looked into for the first one
_LISTS = ("ImageSets", "Segmentation")  # of Pascal VOC
_UNCOVERED = "outside the folders of images and masks"
_UNLISTED = "(in no list of a split)"

_Row = tuple[str, str | None, None, int, int, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker lists: a folder of images and the one of their masks.

    Attributes:
        images: path.
        masks: path; None where there is none, so that no image has a mask.
        split: of all of it.
        with_splits: whether the first folder below both is the split.
        lists: path of Pascal VOC's lists of splits; None for none.
    """

    images: str
    masks: str | None
    split: str | None
    with_splits: bool
    lists: str | None = None


@dataclass(frozen=True, slots=True)
class Masks(Source):
    """Images and their masks.

    Attributes:
        folder: that all paths are below.
        found: the pairs of folders.
        excluded: path that is left out, because the output is written there; None for none.
    """

    folder: Folder
    found: tuple[Part, ...]
    excluded: str | None

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "images and masks"

    def describe(self) -> str:
        """See Source."""
        pairs = [
            f"{part.images}/ with {f'{part.masks}/' if part.masks else 'no masks'}"
            + (f" as {part.split}" if part.split else ", the split from the folders in them" * part.with_splits)
            + (f", splits by {part.lists}" if part.lists else "")
            for part in self.found
        ]
        return f"{self.folder.url}: read as {self.layout}, paired by stem: {'; '.join(pairs)}"

    def parts(self) -> list[Part | Rest]:
        """One part a pair of folders, and one for the rest."""
        return [*self.found, Rest()]

    def listed_folders(self, part: Part | Rest) -> tuple[str, ...]:
        """See Source."""
        return () if isinstance(part, Rest) else tuple(path for path in (part.images, part.masks) if path is not None)

    def list_part(self, part: Part | Rest, batch_rows: int) -> Iterator[Listing]:
        """See Source; images sorted by path, folder by folder, then masks that have none.

        Memory grows with the masks, by about 300 bytes each.
        """
        if isinstance(part, Rest):
            if skipped := self._uncovered():
                yield Listing(_SCHEMA, skipped=skipped)
            return
        batch = Listing(_SCHEMA)
        for row in self._rows(part, batch.skipped):
            batch.rows.append(row)
            if len(batch.rows) == batch_rows:
                yield batch
                batch = Listing(_SCHEMA)
        if batch.rows or batch.skipped:
            yield batch

    def _uncovered(self) -> dict[str, int]:
        covered = {path for part in self.found for path in (part.images, part.masks) if path is not None}
        if self.excluded is not None:
            covered.add(self.excluded)
        return count_uncovered(self.folder, _UNCOVERED, covered=covered)

    def _rows(self, part: Part, skipped: dict[str, int]) -> Iterator[_Row]:
        masks, lists = _MaskFiles(), read_lists(self.folder, part.lists) if part.lists else {}
        listed = set[str]()
        for path, below, entry in self._files(part.masks, skipped):
            masks.add(_stem(below, part), path, entry)
        for bad in masks.problems:
            yield (bad[0], part.split, None, 0, 0, *bad[1:], None)
        for path, below, entry in self._files(part.images, skipped):
            key, reason, message, split = path, None, None, _split(below, part)
            stem = _stem(below, part)
            candidates = masks.of(stem)
            if lists and stem not in lists:  # VOC's own releases hold five times more images than have masks
                skipped[_UNLISTED] = skipped.get(_UNLISTED, 0) + 1
                continue
            if lists:
                listed.add(stem)
                split, reason, message = split_in_lists(lists[stem])
            if problem := unicode_problem(path):
                key, reason, message = problem
            elif reason:
                pass
            elif not candidates:
                reason, message = "no_label", "there is no mask of its name; add one, or move the image away"
            elif len(candidates) > 1:
                names = " and ".join(sorted(candidates))
                reason, message = "bad_mask", f"{names} are both masks of it by their names; keep one"
            mask = candidates[0] if not reason else None
            yield (key, split, None, entry.num_bytes, entry.mtime_ns, reason, message, mask)
        for path, entry, split in masks.unpaired(part):
            message = "there is no image that this mask is of; restore the image, or take the mask out"
            yield (path, split, None, entry.num_bytes, entry.mtime_ns, "missing", message, None)
        for stem in sorted(lists.keys() - listed):
            for split, where in lists[stem]:
                message = f"there is no image {printable(stem)!r}; restore it, or take the line out"
                yield (where, split, None, 0, 0, "missing", message, None)

    def _files(self, above: str | None, skipped: dict[str, int]) -> Iterator[tuple[str, str, Entry]]:
        """Path, path below the folder, and entry of every image; counts other files."""
        if above is None:
            return
        left_out = None if self.excluded is None else f"{self.excluded}/"
        folders = above.split("/")
        upward = tuple(self.folder.resolve("/".join(folders[:depth])) for depth in range(len(folders)))
        for path, entry in files_below(self.folder, above, upward):
            if left_out and path.startswith(left_out):
                continue
            kind = ending(entry.name)
            if kind in IMAGE_ENDINGS:
                yield path, path[len(above) + 1 :], entry
            else:
                skipped[kind] = skipped.get(kind, 0) + 1


@dataclass(slots=True)
class _MaskFiles:
    """Masks by stem, and by stem without suffix; who is asked for is paired."""

    exact: dict[str, list[str]] = field(default_factory=dict)
    suffixed: dict[str, list[str]] = field(default_factory=dict)
    entries: dict[str, tuple[str, Entry]] = field(default_factory=dict)  # by path: stem, file
    problems: list[tuple[str, str, str]] = field(default_factory=list)
    paired: set[str] = field(default_factory=set)

    def add(self, stem: str, path: str, entry: Entry) -> None:
        if problem := unicode_problem(path):
            self.problems.append(problem)
            return
        self.entries[path] = (stem, entry)
        self.exact.setdefault(stem, []).append(path)
        above, name = posixpath.split(stem)
        if suffix := _SUFFIX.search(name, 1):
            self.suffixed.setdefault(join(above, name[: suffix.start()]), []).append(path)

    def of(self, stem: str) -> list[str]:
        found = self.exact.get(stem) or self.suffixed.get(stem) or []
        self.paired.update(found)
        return found

    def unpaired(self, part: Part) -> Iterator[tuple[str, Entry, str | None]]:
        for path, (stem, entry) in self.entries.items():
            if path not in self.paired:
                yield path, entry, _split(stem, part)


def _split(below: str, part: Part) -> str | None:
    first, separator, _ = below.partition("/")
    return split_of_folder(first) if part.with_splits and separator else part.split


def _stem(below: str, part: Part) -> str:
    """What an image and its mask have in common: images/val/1.jpg and masks/validation/1.png are a pair too."""
    stem = posixpath.splitext(below)[0]
    first, separator, rest = stem.partition("/")
    return f"{split_of_folder(first) or first}/{rest}" if part.with_splits and separator else stem


def is_masks(folder: Folder) -> bool:
    """Whether a folder holds images and masks, by names and the ending of one mask."""
    return any(part.masks for part in _find(folder))


def open_masks(folder: Folder, excluded: str | None, options: SourceOptions) -> Masks:
    """Find the folders of images and of masks.

    Args:
        folder: the source.
        excluded: path below it that is left out.
        options: of the call; this layout has none.

    Raises:
        DataError: there is no such pair of folders.
    """
    found = _find(folder)
    if not any(part.masks for part in found):
        msg = (
            f"{folder.url}: there is no folder of masks beside one of images; shardkit reads SOURCE/images and "
            "SOURCE/masks, SOURCE/<split>/images and SOURCE/<split>/masks, or SOURCE/images/<split> and "
            "SOURCE/masks/<split>, masks as PNG, TIFF or BMP"
        )
        raise DataError(msg)
    return Masks(folder, found, excluded)


def _find(folder: Folder) -> tuple[Part, ...]:
    if part := _pair(folder, "", None):
        lists = join(*_LISTS)
        return (replace(part, lists=lists),) if read_lists(folder, lists) else (part,)
    splits = [(name, split) for name in folders_in(folder) if (split := split_of_folder(name))]
    # A split without masks is read too: its images are reported, not lost.
    return tuple(part for name, split in splits if (part := _pair(folder, name, split)))


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
    return Part(images, masks, split, with_splits=split is None and bool(inner) and all(map(split_of_folder, inner)))


def _holds_masks(folder: Folder, path: str, depth: int) -> bool:
    """Whether the first image in a folder, or in the first of its folders that has one, may be a mask."""
    entries = children(folder, path)
    kinds = [ending(entry.name) for entry in entries if not entry.is_folder]
    if images := [kind for kind in kinds if kind in IMAGE_ENDINGS]:
        return images[0] in _MASK_ENDINGS
    if depth == 0 or kinds:
        return False
    return any(_holds_masks(folder, join(path, entry.name), depth - 1) for entry in entries if entry.is_folder)
