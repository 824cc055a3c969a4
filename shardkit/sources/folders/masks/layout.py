"""Segmentation: a folder of images and a folder of masks next to it, paired by stem.

SOURCE/images/a/1.jpg           SOURCE/masks/a/1.png              the same path except for the ending,
SOURCE/images/2.jpg             SOURCE/masks/2_mask.png           or with a usual suffix of the mask's name
SOURCE/train/images/3.jpg       SOURCE/train/masks/3.png          splits above the two folders,
SOURCE/images/train/3.jpg       SOURCE/masks/train/3.png          or below them

`pairs` has the other names of the two folders. Images in other folders are counted as skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.layouts import LAYOUTS
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.reject_reasons import MISSING
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.columns import LISTING_SCHEMA, MASK_COLOURS, MASK_PATH
from shardkit.sources.context import Opening
from shardkit.sources.detection.voc.image_folders import IN_NO_LIST, ListEntry, read_lists, split_in_lists
from shardkit.sources.folders.masks.ambiguous import refuse_classes, refuse_rivals
from shardkit.sources.folders.masks.class_names import MaskClasses, find_classes
from shardkit.sources.folders.masks.mask_files import MaskFiles, common_stem, mask_problem, split_below
from shardkit.sources.folders.masks.matching import stem_in_part
from shardkit.sources.folders.masks.pairs import CAMVID, find_pairs, listed_stem
from shardkit.sources.folders.masks.part import COLOUR_FILES, Part
from shardkit.sources.folders.unsupported_formats import unsupported_format
from shardkit.sources.known.oxford_pets import ANNOTATIONS
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, ending, rejected_row, unicode_problem
from shardkit.sources.unlisted_images import CountingSource, UnlistedImages, count_unlisted_images
from shardkit.sources.walking import files_below, join
from shardkit.storage import Entry, Folder

_DESCRIBED = 4  # pairs
_UNLISTED = "outside the folders of images and masks"
_OTHER_MASKS = "masks of other kinds"
_BARE_TESTS = "test images without masks"


@dataclass(frozen=True, slots=True)
class Masks(CountingSource):
    """Images and their masks.

    Attributes:
        folder: The folder that all paths start at.
        found: The pairs of folders.
        mask_classes: What the pixels of the masks mean.
        excluded: Path that is not listed, because it is the output; None for none.
    """

    folder: Folder
    found: tuple[Part, ...]
    mask_classes: MaskClasses
    excluded: str | None

    layout = LAYOUTS["masks"].title

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return pa.schema([*LISTING_SCHEMA, MASK_PATH, *([MASK_COLOURS] if self.mask_classes.colours else [])])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source."""
        return self.mask_classes.names or None

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        pairs = (part for part in self.found if part.masks is not None)
        masks = (join(part.masks or "", part.mask_names or "*") for part in pairs)
        lists = (join(part.lists, "*.txt") for part in self.found if part.lists is not None)
        file = self.mask_classes.file
        return (
            *(UsedFile(path, "masks") for path in dict.fromkeys(masks)),
            *(UsedFile(path, "splits") for path in dict.fromkeys(lists)),
            *((UsedFile(file, "class names"),) if file else ()),
        )

    def describe(self) -> str:
        """See Source."""
        pairs = [
            f"{part.images}/ with {f'{part.masks}/' if part.masks else 'no masks'}"
            + (f" ({part.mask_names})" if part.mask_names else "")
            + (f" as {part.split}" if part.split else ", the split from the folders in them" * part.with_splits)
            + ("" if part.lists is None else f", splits by {part.lists or 'train.txt and the lists next to it'}")
            for part in self.found[:_DESCRIBED]
        ]
        if len(self.found) > _DESCRIBED:
            pairs.append(f"and {len(self.found) - _DESCRIBED} more")
        file, remark = self.mask_classes.file, ""
        if self.found[0].is_cityscapes:
            remark = "; the images of test are left out, because Cityscapes publishes only dummies of their masks"
        if self.mask_classes.colours == BLACK_AND_WHITE and not file:
            remark = "; black is class 0, and white is class 1"
        if file:
            remark += f"; {'the colours of the masks' if self.mask_classes.colours else 'class names'} by {file}"
        return f"{self.folder.url}: read as {self.layout}, paired by stem: {'; '.join(pairs)}{remark}"

    def parts(self) -> list[Part | UnlistedImages]:
        """Return one part for each pair of folders, and one for the other images."""
        return [*self.found, UnlistedImages()]

    def listed_folders(self, part: Part | UnlistedImages) -> tuple[str, ...]:
        """See Source."""
        return part.folders if isinstance(part, Part) else ()

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource."""
        covered = {path for part in self.found for path in part.folders}
        if self.excluded is not None:
            covered.add(self.excluded)
        return count_unlisted_images(self.folder, _UNLISTED, covered=covered)

    def rows(self, part: Part, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See CountingSource; images sorted by path, folder by folder, then masks without image.

        Memory grows with the number of masks, by about 300 bytes each.
        """
        lists = _lists(self.folder, part)
        masks = MaskFiles()
        colours = (self.mask_classes.colours,) if self.mask_classes.colours else ()
        for path, below, entry in self._files(part.masks, skipped):
            stem = common_stem(below, part, of_mask=True) if part.is_mask(below) else None
            if stem is None and part.is_one_folder:
                continue  # an image
            if stem is None:
                count_skipped(skipped, _OTHER_MASKS)
            else:
                masks.add(stem, path, entry)
        yield from (rejected_row(problem, part.split) for problem in masks.problems)
        listed = set[str]()
        # A benchmark keeps the masks of its test images: those that have none are no mistakes.
        keeps_tests = part.with_splits and "test" not in {split_below(stem, part) for stem in masks.exact}
        of_masks = () if part.masks is None or part.is_one_folder else (part.masks,)
        for path, below, entry in self._files(part.images, skipped, of_masks):
            if part.is_one_folder and part.is_mask(below):
                continue
            stem = common_stem(below, part, of_mask=False) or below
            candidates = masks.find(stem)
            stem = stem if stem in lists else stem_in_part(below, part)  # lists may have the names as they are
            if lists and stem not in lists:  # VOC's own releases have five times more images than masks
                count_skipped(skipped, IN_NO_LIST)
                continue
            if keeps_tests and split_below(stem, part) == "test" and masks.exact:
                count_skipped(skipped, _BARE_TESTS)
                continue
            listed.add(stem)
            split, conflict = split_in_lists(lists[stem]) if lists else (split_below(below, part), None)
            if problem := unicode_problem(path) or unsupported_format(path) or mask_problem(path, candidates, conflict):
                yield rejected_row(problem, split, entry)
            else:
                yield ListingRow(path, split, None, entry.num_bytes, entry.mtime_ns, extra=(candidates[0], *colours))
        for path, entry, split in masks.unpaired(part):
            message = "there is no image for this mask; restore the image, or remove the mask"
            yield rejected_row(RecordProblem(path, MISSING, message), split, entry)
        for stem in sorted(lists.keys() - listed):
            for split, line in lists[stem]:
                message = f"there is no image {printable(stem)!r}; restore it, or remove the line"
                yield rejected_row(RecordProblem(line, MISSING, message), split)

    def _files(
        self, above: str | None, skipped: dict[str, int], without: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, str, Entry]]:
        """Yield path, path below the folder, and entry of every image not below others; count other files."""
        if above is None:
            return
        for path, entry in files_below(self.folder, above, (*without, *filter(None, (self.excluded,)))):
            kind = ending(entry.name)
            if kind in IMAGE_ENDINGS or unsupported_format(path):
                yield path, path[len(above) + 1 :] if above else path, entry
            else:
                count_skipped(skipped, kind)


def _lists(folder: Folder, part: Part) -> dict[str, list[ListEntry]]:
    if part.lists is None:
        return {}
    lists = read_lists(folder, part.lists)
    if part.lists == "":
        return {listed_stem(line, part.images): entries for line, entries in lists.items()}
    # Lines of Oxford-IIIT Pet have the image's name and three numbers.
    return {line.split()[0]: entries for line, entries in lists.items()} if part.lists == ANNOTATIONS else lists


def is_masks(folder: Folder) -> bool:
    """Return whether a folder has images and masks, judging by names and the ending of one mask."""
    return any(part.masks is not None for part in find_pairs(folder, is_explicit=False))


def open_masks(opening: Opening) -> Masks:
    """Find the folders of images and of masks.

    Raises:
        RefusalError: Two folders hold masks of the same images.
        DataError: There is no such pair of folders, or the file of colours is missing or cannot be read.
    """
    folder = opening.folder
    found = find_pairs(folder, is_explicit=opening.options.layout is not None)
    if not any(part.masks is not None for part in found):
        msg = (
            f"{folder.url}: there is no folder of masks next to one of images; shardkit reads SOURCE/images and "
            "SOURCE/masks, SOURCE/<split>/images and SOURCE/<split>/masks, or SOURCE/images/<split> and "
            "SOURCE/masks/<split>, masks as PNG, TIFF or BMP"
        )
        raise DataError(msg)
    refuse_rivals(opening, found)
    if opening.options.layout is None:
        refuse_classes(opening, found)
    mask_classes = find_classes(folder, found)
    if found[0].masks == CAMVID[1] and not mask_classes.colours:
        msg = (
            f"{folder.url}: the masks of CamVid are in colours; add {COLOUR_FILES[0]}, which its authors distribute, "
            "with a line such as '64 128 64 Animal' for each class"
        )
        raise DataError(msg)
    return Masks(folder, found, mask_classes, opening.excluded)
