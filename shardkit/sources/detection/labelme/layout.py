"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Labelme writes no file for an image without shapes, so such
images are counted as skipped: nobody knows whether they are background or not yet labelled.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION, MISSING
from shardkit.sources.detection.labelme.files import ImageFinder, has_labelme, is_labelme_file, walk
from shardkit.sources.detection.labelme.shapes import MAX_BYTES, LabelmeImage, parse_labelme
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.listing import (
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    encodable_path,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import num_slices, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder

__all__ = ["Labelme", "has_labelme", "is_labelme_file", "open_labelme"]

# `segmentation`: [[x, y, …]] as JSON, in pixels; '' for a box.
_SCHEMA = detection_schema((pa.field("segmentation", pa.string()),))
_OTHERS = -1  # the part that counts other files; the other parts are slices of the JSON files
_UNNAMED = "without a Labelme file of their name"


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of the JSON files, or with index -1 all other files; `num_files` is what the driver counted."""

    index: int
    num_slices: int
    num_files: int


@dataclass(frozen=True, slots=True)
class Labelme(Source):
    """A source of Labelme's files.

    Attributes:
        folder: Root of the source.
        with_splits: Whether the top folders are splits.
    """

    folder: Folder
    with_splits: bool

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "Labelme"

    def describe(self) -> str:
        """See Source."""
        splits = ", the top folders as splits" if self.with_splits else ""
        return (
            f"{self.folder.url}: read Labelme's *.json{splits}; note: the boxes of polygons, circles and masks enclose "
            "them, points and lines are left out"
        )

    def parts(self) -> list[Part]:
        """Return slices of the JSON files, and a part for other files."""
        num_files = len(walk(self.folder).jsons)
        num = num_slices(num_files)
        return [Part(index, num, num_files) for index in range(_OTHERS, num)]

    def list_part(self, part: Part, batch_rows: int) -> Iterator[Listing]:
        """See Source; in the order of the JSON files."""
        walked = walk(self.folder)
        refuse_other_count(self.folder, "", len(walked.jsons), part.num_files)
        skipped: dict[str, int] = {}
        if part.index == _OTHERS:
            stems = {_stem(path) for path, _ in walked.jsons}
            unnamed = sum(_stem(path) not in stems for path in walked.images)
            skipped |= walked.skipped
            if unnamed:
                skipped[f"{'image' if unnamed == 1 else 'images'} {_UNNAMED}"] = unnamed
            yield from batched(_SCHEMA, (), batch_rows, skipped)
            return
        chosen = walked.jsons[slice_bounds(len(walked.jsons), part.index, part.num_slices)]
        finder = ImageFinder(self.folder)
        rows = (row for path, entry in chosen for row in self._rows(finder, path, entry, skipped))
        yield from batched(_SCHEMA, rows, batch_rows, skipped)

    def _rows(self, finder: ImageFinder, path: str, entry: Entry, skipped: dict[str, int]) -> Iterator[ListingRow]:
        split = split_of_folder(path.partition("/")[0]) if self.with_splits else None
        data = read_label_file(self.folder, path, entry.num_bytes, MAX_BYTES)
        parsed = data if isinstance(data, str) else parse_labelme(data)
        image_path = parsed.image_path if isinstance(parsed, LabelmeImage) else ""
        found = finder.find(path, image_path)
        if isinstance(parsed, str) and found is None:
            count_skipped(skipped, ".json")  # a file of another tool, such as the settings of an editor
            return
        if isinstance(parsed, str) or found is None:
            yield _rejected(path, parsed, found, split)
            return
        key, image = found
        if problem := unicode_problem(key):
            yield rejected_row(problem, split, image)
            return
        if parsed.has_flags and not parsed.objects:
            message = (
                f"{printable(path)} sets flags of the whole image and has no shapes, and only shapes are read; for "
                "classes of images, write a CSV file of image,label and give it as SOURCE"
            )
            yield rejected_row(RecordProblem(key, BAD_ANNOTATION, message), split, image)
            return
        if parsed.num_left_out:
            count_skipped(skipped, "shapes without area (points, lines) or to be ignored", parsed.num_left_out)
        yield image_row(key, split, image, parsed.objects, parsed.size)
        for name, reason, message in parsed.problems:
            problem_key = encodable_path(f"{path}, {name}")
            yield rejected_row(RecordProblem(problem_key, reason, f"{message}; the image is kept"), split)


def _rejected(path: str, parsed: LabelmeImage | str, found: tuple[str, Entry] | None, split: str | None) -> ListingRow:
    """Return the row of a file that cannot be parsed, or of one without image."""
    if isinstance(parsed, str):
        key, entry = found or (path, None)
        message = f"{printable(path)}: {parsed}; correct the file, or write it again"
        return rejected_row(RecordProblem(encodable_path(key), BAD_ANNOTATION, message), split, entry)
    message = f"its image {printable(parsed.image_path)!r} is neither where the file says nor next to it"
    message += (
        "; the file itself holds the image: labelme_export_json writes it" if parsed.has_image else "; restore it"
    )
    return rejected_row(RecordProblem(encodable_path(path), MISSING, message), split)


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def open_labelme(folder: Folder, options: SourceOptions) -> Labelme:
    """Find Labelme's files.

    Raises:
        DataError: There are none.
    """
    del options  # it has none besides the layout
    jsons = walk(folder).jsons
    if not any(is_labelme_file(folder, path) for path, _ in jsons[:64]):
        msg = f"{folder.url}: there is no file of Labelme: a *.json with `shapes` next to its image"
        raise DataError(msg)
    with_splits = all("/" in path and split_of_folder(path.partition("/")[0]) for path, _ in jsons)
    return Labelme(folder, with_splits)
