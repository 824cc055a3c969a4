"""Segmentation: a folder of images and a folder of masks next to it, paired by stem.

SOURCE/images/a/1.jpg           SOURCE/masks/a/1.png              the same path except for the ending,
SOURCE/images/2.jpg             SOURCE/masks/2_mask.png           or with a usual suffix of the mask's name
SOURCE/train/images/3.jpg       SOURCE/train/masks/3.png          splits above the two folders,
SOURCE/images/train/3.jpg       SOURCE/masks/train/3.png          or below them
SOURCE/JPEGImages/4.jpg         SOURCE/SegmentationClass/4.png    Pascal VOC, with ImageSets/Segmentation/*.txt

Images in other folders are counted as skipped.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_MASK, MISSING, NO_LABEL, NO_SPLIT
from shardkit.sources.detection.voc.image_folders import IN_NO_LIST, read_lists, split_in_lists
from shardkit.sources.folders.foreign_files import unsupported_format
from shardkit.sources.listing import (
    IMAGE_ENDINGS,
    LISTING_SCHEMA,
    MASK_PATH,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    ending,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.walking import children, files_below, folders_in, join
from shardkit.storage import Entry, Folder

_SCHEMA = pa.schema([*LISTING_SCHEMA, MASK_PATH])
# Names of the two folders, in any case; if there are several, the first in this order.
_IMAGES = ("images", "image", "imgs", "img", "jpegimages")
_MASKS = ("masks", "mask", "segmentationclass", "segmentations", "segmentation", "labels", "annotations", "gt")
_MASK_ENDINGS = frozenset({".bmp", ".dib", ".png", ".tif", ".tiff"})
_SUFFIX = re.compile(r"[_-](?:masks?|seg(?:mentation)?|labels?|gt|labelids|labeltrainids)\Z", re.IGNORECASE)
_MAX_DEPTH = 3  # levels of folders that are searched for the first mask
_LISTS = ("ImageSets", "Segmentation")  # Pascal VOC's folder of split lists
_UNLISTED = "outside the folders of images and masks"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a folder of images and the folder of their masks.

    Attributes:
        images: Path of the images.
        masks: Path of the masks; None if there is none, so that no image has a mask.
        split: The split of all these images; None if the source gives none.
        with_splits: Whether the first folder level below both is the split.
        lists: Path of Pascal VOC's split lists; None for none.
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
        folder: The folder that all paths start at.
        found: The pairs of folders.
        excluded: Path that is not listed, because it is the output; None for none.
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

    def parts(self) -> list[Part | UnlistedImages]:
        """Return one part for each pair of folders, and one for the other images."""
        return [*self.found, UnlistedImages()]

    def listed_folders(self, part: Part | UnlistedImages) -> tuple[str, ...]:
        """See Source."""
        return (
            ()
            if isinstance(part, UnlistedImages)
            else tuple(path for path in (part.images, part.masks) if path is not None)
        )

    def list_part(self, part: Part | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; images sorted by path, folder by folder, then masks without image.

        Memory grows with the number of masks, by about 300 bytes each.
        """
        if isinstance(part, UnlistedImages):
            yield from batched(_SCHEMA, (), batch_rows, self._count_unlisted())
            return
        skipped: dict[str, int] = {}
        yield from batched(_SCHEMA, self._rows(part, skipped), batch_rows, skipped)

    def _count_unlisted(self) -> dict[str, int]:
        covered = {path for part in self.found for path in (part.images, part.masks) if path is not None}
        if self.excluded is not None:
            covered.add(self.excluded)
        return count_unlisted_images(self.folder, _UNLISTED, covered=covered)

    def _rows(self, part: Part, skipped: dict[str, int]) -> Iterator[ListingRow]:
        lists = read_lists(self.folder, part.lists) if part.lists else {}
        masks = _MaskFiles()
        for path, below, entry in self._files(part.masks, skipped):
            masks.add(_stem(below, part), path, entry)
        yield from (rejected_row(problem, part.split) for problem in masks.problems)
        listed = set[str]()
        for path, below, entry in self._files(part.images, skipped):
            stem = _stem(below, part)
            candidates = masks.find(stem)
            if lists and stem not in lists:  # VOC's own releases have five times more images than masks
                count_skipped(skipped, IN_NO_LIST)
                continue
            listed.add(stem)
            split, conflict = split_in_lists(lists[stem]) if lists else (_split(below, part), None)
            if (
                problem := unicode_problem(path)
                or unsupported_format(path)
                or _mask_problem(path, candidates, conflict)
            ):
                yield rejected_row(problem, split, entry)
            else:
                yield ListingRow(path, split, None, entry.num_bytes, entry.mtime_ns, extra=(candidates[0],))
        for path, entry, split in masks.unpaired(part):
            message = "there is no image for this mask; restore the image, or remove the mask"
            yield rejected_row(RecordProblem(path, MISSING, message), split, entry)
        for stem in sorted(lists.keys() - listed):
            for split, line in lists[stem]:
                message = f"there is no image {printable(stem)!r}; restore it, or remove the line"
                yield rejected_row(RecordProblem(line, MISSING, message), split)

    def _files(self, above: str | None, skipped: dict[str, int]) -> Iterator[tuple[str, str, Entry]]:
        """Yield path, path below the folder, and entry of every image; count other files."""
        if above is None:
            return
        left_out = None if self.excluded is None else f"{self.excluded}/"
        folders = above.split("/")
        upward = tuple(self.folder.resolve("/".join(folders[:depth])) for depth in range(len(folders)))
        for path, entry in files_below(self.folder, above, upward):
            if left_out and path.startswith(left_out):
                continue
            kind = ending(entry.name)
            if kind in IMAGE_ENDINGS or unsupported_format(path):
                yield path, path[len(above) + 1 :], entry
            else:
                skipped[kind] = skipped.get(kind, 0) + 1


@dataclass(slots=True)
class _MaskFiles:
    """Masks by stem, and by stem without suffix.

    Attributes:
        exact: Paths by stem.
        suffixed: Paths by stem without its suffix, such as ``_mask``.
        entries: Stem and entry by path.
        problems: Masks whose paths cannot be stored.
        paired: Paths that `find` returned.
    """

    exact: dict[str, list[str]] = field(default_factory=dict)
    suffixed: dict[str, list[str]] = field(default_factory=dict)
    entries: dict[str, tuple[str, Entry]] = field(default_factory=dict)
    problems: list[RecordProblem] = field(default_factory=list)
    paired: set[str] = field(default_factory=set)

    def add(self, stem: str, path: str, entry: Entry) -> None:
        if problem := unicode_problem(path) or unsupported_format(path):
            self.problems.append(problem)
            return
        self.entries[path] = (stem, entry)
        self.exact.setdefault(stem, []).append(path)
        above, name = posixpath.split(stem)
        if suffix := _SUFFIX.search(name, 1):
            self.suffixed.setdefault(join(above, name[: suffix.start()]), []).append(path)

    def find(self, stem: str) -> list[str]:
        found = self.exact.get(stem) or self.suffixed.get(stem) or []
        self.paired.update(found)
        return found

    def unpaired(self, part: Part) -> Iterator[tuple[str, Entry, str | None]]:
        for path, (stem, entry) in self.entries.items():
            if path not in self.paired:
                yield path, entry, _split(stem, part)


def _mask_problem(path: str, candidates: list[str], conflict: str | None) -> RecordProblem | None:
    if conflict:
        return RecordProblem(path, NO_SPLIT, conflict)
    if not candidates:
        return RecordProblem(path, NO_LABEL, "there is no mask of its name; add one, or move the image away")
    if len(candidates) > 1:
        names = " and ".join(sorted(candidates))
        return RecordProblem(path, BAD_MASK, f"{names} are both masks of it by their names; keep one")
    return None


def _split(below: str, part: Part) -> str | None:
    first, separator, _ = below.partition("/")
    return split_of_folder(first) if part.with_splits and separator else part.split


def _stem(below: str, part: Part) -> str:
    """Return what an image and its mask have in common; images/val/1.jpg and masks/validation/1.png are a pair too."""
    stem = posixpath.splitext(below)[0]
    first, separator, rest = stem.partition("/")
    return f"{split_of_folder(first) or first}/{rest}" if part.with_splits and separator else stem


def is_masks(folder: Folder) -> bool:
    """Return whether a folder has images and masks, judging by names and the ending of one mask."""
    return any(part.masks for part in _find(folder))


def open_masks(folder: Folder, excluded: str | None, options: SourceOptions) -> Masks:
    """Find the folders of images and of masks.

    Args:
        folder: The source.
        excluded: Path below it that is not listed; None for none.
        options: Options of the source; this layout has none.

    Raises:
        DataError: There is no such pair of folders.
    """
    found = _find(folder)
    if not any(part.masks for part in found):
        msg = (
            f"{folder.url}: there is no folder of masks next to one of images; shardkit reads SOURCE/images and "
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
    # A split without masks is listed too: its images are rejected, not lost.
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
    """Return whether the first image in a folder, or in the first of its folders that has one, may be a mask."""
    entries = children(folder, path)
    kinds = [ending(entry.name) for entry in entries if not entry.is_folder]
    if images := [kind for kind in kinds if kind in IMAGE_ENDINGS]:
        return images[0] in _MASK_ENDINGS
    if depth == 0 or kinds:
        return False
    return any(_holds_masks(folder, join(path, entry.name), depth - 1) for entry in entries if entry.is_folder)
