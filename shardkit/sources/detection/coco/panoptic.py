"""COCO's panoptic segmentation: a PNG of segments for each image, and a JSON with the category of each segment.

A pixel's colour is the segment's id: red + 256 * green + 65,536 * blue. The mask that is stored has the number of the
segment's category, in the order of category ids, so segments of one category are not told apart. Black pixels belong to
no segment; they are stored as 255, as in Pascal VOC.
"""

import posixpath
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.images.masks import SEGMENTS
from shardkit.layouts import LAYOUTS
from shardkit.naming import relative_path_problem
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_MASK, DUPLICATE_ID, MISSING, NO_LABEL
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.columns import LINE, LISTING_SCHEMA, MASK_COLOURS, MASK_PATH
from shardkit.sources.context import Opening
from shardkit.sources.detection.coco.classes import Folders, scanned
from shardkit.sources.detection.coco.files import find_image_folders
from shardkit.sources.detection.found_files import FoundFile
from shardkit.sources.formats.coco.columns import CocoColumns, category_of
from shardkit.sources.formats.coco.values import identity
from shardkit.sources.json_stream import array_items
from shardkit.sources.listing import ListingRow, RecordProblem, rejected_row, unicode_problem
from shardkit.sources.unlisted_images import CountingSource, UnlistedImages, count_unlisted_images
from shardkit.sources.walking import file_or_folder, join, parent_of
from shardkit.storage import Folder, os_errors_as

_NO_SEGMENT = "000000ff"  # black, and the class number of pixels without a class
_MAX_CLASSES = 255
_MAX_ID = (1 << 24) - 1
_TRIED = 8  # masks that are looked up, because the first may be missing
_UNLISTED = "that no annotation names"


@dataclass(frozen=True, slots=True)
class PanopticFile:
    """A file and its folders.

    Attributes:
        file: The file and the folder of its images.
        masks: Path of the folder of its masks.
    """

    file: FoundFile
    masks: str


@dataclass(slots=True)
class _Segments:
    """The segments of a file: the mask's name, ids and category ids by the code of the image."""

    masks: dict[int, str] = field(default_factory=dict)
    ids: "dict[int, array[int]]" = field(default_factory=dict)

    def add(self, record: Any, columns: CocoColumns, number: int) -> None:
        """Add an annotation, or why it is bad."""
        get = record.get if isinstance(record, dict) else {}.get
        image_id, name, segments = identity(get("image_id")), get("file_name"), get("segments_info")
        code = None if image_id is None else columns.code_of.setdefault(image_id, len(columns.code_of))
        problem, found = "", array("q")
        if code is None:
            problem = "it has no `image_id`"
        elif not isinstance(name, str) or relative_path_problem(name):
            problem = "its `file_name` is not the path of a mask"
        elif code in self.masks:
            problem = "an earlier annotation is of the same image"
        for one in segments if isinstance(segments, list) else [None]:
            values = (one.get("id"), one.get("category_id")) if isinstance(one, dict) else (None, None)
            numbers = [value for value in values if type(value) is int and 0 <= value <= _MAX_ID]
            found.extend(numbers)
            if len(numbers) < len(values):
                problem = problem or f"each of `segments_info` needs an `id` up to {_MAX_ID:,} and a `category_id`"
        if problem:
            columns.add_problem(f"annotation number {number}", BAD_ANNOTATION, f"{problem}; correct or remove it")
        elif code is not None:
            self.masks[code], self.ids[code] = str(name), found


@dataclass(frozen=True, slots=True)
class CocoPanoptic(CountingSource):
    """A source of panoptic annotations.

    Attributes:
        folder: The folder that image paths start at.
        files_folder: The folder that paths of annotation files start at.
        files: The files with their folders.
        categories: Id and name of each category, in the order of ids.
        is_whole: Whether images are counted that no file names.
    """

    folder: Folder
    files_folder: Folder
    files: tuple[PanopticFile, ...]
    categories: tuple[tuple[int, str], ...]
    is_whole: bool

    layout = LAYOUTS["coco"].titles[-1]
    schema = pa.schema([*LISTING_SCHEMA, MASK_PATH, MASK_COLOURS, LINE])

    @property
    def classes(self) -> tuple[str, ...]:
        """See Source."""
        return tuple(name for _, name in self.categories)

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        labels = (UsedFile(one.file.path, "labels") for one in self.files)
        return (*labels, *(UsedFile(join(one.masks, "*.png"), "masks") for one in self.files))

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{one.file.path} with the images in {one.file.paths.place or '.'}/ and the masks in {one.masks or '.'}/"
            + (f" as {one.file.split}" if one.file.split else "")
            for one in self.files
        ]
        return (
            f"{self.files_folder.url}: read as {self.layout}: {'; '.join(read)}; note: masks of categories, whose "
            "segments are not told apart; pixels without a segment are 255"
        )

    def parts(self) -> list[PanopticFile | UnlistedImages]:
        """Return one part for each annotation file, and one for the images that none names."""
        return [*self.files, *([UnlistedImages()] if self.is_whole else [])]

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource."""
        named = set[str]()
        for one in self.files:
            columns, _ = self._read(one.file, with_segments=False)
            named.update(join(one.file.paths.place, name) for name in columns.image_names)
        return count_unlisted_images(self.folder, _UNLISTED, covered={one.masks for one in self.files}, named=named)

    def rows(self, part: PanopticFile, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See CountingSource; images in the file's order, then bad records."""
        del skipped
        columns, segments = self._read(part.file)
        images, _ = scanned(self.folder, part.file.paths.place, columns.image_names)
        masks, _ = scanned(self.folder, part.masks, segments.masks.values())
        numbers = {category: number for number, (category, _) in enumerate(self.categories)}
        for i, name in enumerate(columns.image_names):
            if name:
                row = _row(part, segments, columns, i, images, masks, numbers)
                yield row._replace(extra=(*(row.extra or (None, None)), columns.image_lines[i]))
        yield from (rejected_row(problem, part.file.split) for problem in columns.problems)

    def _read(self, file: FoundFile, *, with_segments: bool = True) -> tuple[CocoColumns, _Segments]:
        url = f"{self.files_folder.url}/{file.path}"
        columns, segments = CocoColumns(file.path, join(self.folder.url, file.paths.place)), _Segments()
        counts = dict.fromkeys(("images", "annotations"), 0)
        with os_errors_as("read", url), self.files_folder.open(file.path) as opened:
            for name, record in array_items(opened, url, counts if with_segments else {"images"}):
                counts[name] += 1
                if name == "images":
                    columns.add_image(record, counts[name])
                else:
                    segments.add(record, columns, counts[name])
        for code in segments.masks.keys() - columns.image_of.keys() if with_segments else ():
            message = "no image of the file has its `image_id`; correct or remove it"
            columns.add_problem(f"the annotation of {segments.masks[code]}", BAD_ANNOTATION, message)
        return columns, segments


def _row(
    part: PanopticFile,
    segments: _Segments,
    columns: CocoColumns,
    image: int,
    images: Folders,
    masks: Folders,
    numbers: dict[int, int],
) -> ListingRow:
    name = columns.image_names[image]
    key, split, path = join(part.file.paths.place, name), part.file.split, part.file.path
    entry = images[parent_of(name)].get(posixpath.basename(name))
    if entry is None:
        message = f"{path} names the image, but it is not there; restore it, or remove its record"
        return rejected_row(RecordProblem(key, MISSING, message), split)
    if repeated := columns.repeated_id(image):
        return rejected_row(RecordProblem(key, DUPLICATE_ID, f"{path}: {repeated}"), split, entry)
    mask = segments.masks.get(columns.image_codes[image])
    if mask is None:
        message = f"{path} has no annotation of the image; add one, or remove its record"
        return rejected_row(RecordProblem(key, NO_LABEL, message), split, entry)
    if posixpath.basename(mask) not in masks[parent_of(mask)]:
        message = f"its mask {join(part.masks, mask)!r} is not there; restore it, or remove the image's records"
        return rejected_row(RecordProblem(key, NO_LABEL, message), split, entry)
    found = segments.ids[columns.image_codes[image]]
    pairs = list(zip(found[::2], found[1::2], strict=True))
    if unknown := [category for _, category in pairs if category not in numbers]:
        message = f"{path} gives a segment of the image the category {unknown[0]}, which is none of its categories"
        return rejected_row(RecordProblem(key, BAD_MASK, message), split, entry)
    if problem := unicode_problem(key) or unicode_problem(mask):
        return rejected_row(problem, split, entry)
    colours = SEGMENTS + "".join(
        f"{one & 255:02x}{one >> 8 & 255:02x}{one >> 16:02x}{numbers[category]:02x}" for one, category in pairs if one
    )
    colours += _NO_SEGMENT
    return ListingRow(key, split, None, entry.num_bytes, entry.mtime_ns, extra=(join(part.masks, mask), colours))


def open_panoptic(opening: Opening, paths: Sequence[str]) -> CocoPanoptic:
    """Find the images and masks of files of panoptic annotations.

    Raises:
        DataError: They are not found, or the files' categories contradict each other.
    """
    folder, is_file = opening.folder, opening.file is not None
    root, files = find_image_folders(folder, paths, opening.options, may_leave=is_file)
    prefix = posixpath.basename(folder.url) if is_file and root.url != folder.url else ""
    categories: dict[int, str] = {}
    found = []
    for file in files:
        url = f"{folder.url}/{file.path}"
        names: list[str] = []
        with os_errors_as("read", url), folder.open(file.path) as opened:
            for array_name, record in array_items(opened, url, {"annotations", "categories"}):
                if array_name == "categories":
                    _add_category(url, categories, record)
                elif len(names) < _TRIED and isinstance(record, dict) and isinstance(record.get("file_name"), str):
                    names.append(record["file_name"])
        found.append(PanopticFile(file, _masks_of(root, url, join(prefix, file.path), names)))
    if len(categories) > _MAX_CLASSES:
        msg = f"{folder.url}: there are {len(categories):,} categories, more than the {_MAX_CLASSES} of a mask's 8 bits"
        raise DataError(msg)
    is_whole = not is_file and opening.options.root is None
    return CocoPanoptic(root, folder, tuple(found), tuple(sorted(categories.items())), is_whole)


def _add_category(url: str, categories: dict[int, str], record: Any) -> None:
    number, name = category_of(record)
    if type(number) is not int or not isinstance(name, str) or categories.setdefault(number, name) != name:
        msg = f"{url}: a category needs an integer id of its own and a name; found {number!r} and {name!r}"
        raise DataError(msg)


def _masks_of(root: Folder, url: str, path: str, names: Sequence[str]) -> str:
    """Return the folder of a file's masks: called like the file, next to it or one level higher; or the file's own."""
    stem, own = posixpath.splitext(posixpath.basename(path))[0], parent_of(path)
    places = list(dict.fromkeys((join(own, stem), join(parent_of(own), stem), own, "")))
    for place in places:
        if any(file_or_folder(root, join(place, name)) for name in names if not relative_path_problem(name)):
            return place
    shown = ", ".join(join(root.url, place) for place in places)
    msg = f"{url}: its first mask {names[0] if names else ''!r} is in none of {shown}; unpack the masks there"
    raise DataError(msg)
