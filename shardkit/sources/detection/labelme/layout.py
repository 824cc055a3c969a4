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
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION
from shardkit.sources.context import Opening
from shardkit.sources.detection.labelme.files import LabelmeFiles, has_labelme, is_labelme_file, walk
from shardkit.sources.detection.labelme.shapes import LabelmeImage, parse_labelme
from shardkit.sources.detection.paired_files import PairedFiles
from shardkit.sources.detection.rows import Annotation, detection_schema, rejected_file, rejected_image
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, encodable_path, rejected_row
from shardkit.sources.unlisted_images import images_count
from shardkit.storage import Entry, Folder

__all__ = ["Labelme", "has_labelme", "is_labelme_file", "open_labelme"]

# `segmentation`: [[x, y, …]] as JSON, in pixels; '' for a box.
_OBJECT_FIELDS = (pa.field("segmentation", pa.string()),)


@dataclass(frozen=True, slots=True)
class Labelme(PairedFiles[str, tuple[str, Entry]]):
    """A source of Labelme's files.

    Attributes:
        folder: Root of the source.
        with_splits: Whether the top folders are splits.
        groups: The root, whose files are one group.
    """

    folder: Folder
    with_splits: bool
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["labelme"].title
    schema = detection_schema(_OBJECT_FIELDS)
    max_bytes = 64 << 20  # 64 MiB: the file may hold the image itself
    parse = staticmethod(parse_labelme)

    def describe(self) -> str:
        """See Source."""
        splits = ", the top folders as splits" if self.with_splits else ""
        return (
            f"{self.folder.url}: read Labelme's *.json{splits}; note: the boxes of polygons, circles and masks enclose "
            "them, points and lines are left out"
        )

    def scan(self, group: str) -> LabelmeFiles:
        """See PairedFiles."""
        del group
        return walk(self.folder)

    def rest_rows(self, files: LabelmeFiles) -> Iterator[ListingRow]:
        """See PairedFiles; images without a file are only counted."""
        stems = {_stem(path) for path, _ in files.pairs}
        unnamed = sum(_stem(path) not in stems for path in files.images)
        files.skipped |= images_count(unnamed, "without a Labelme file of their name")
        return iter(())

    def pair_rows(self, files: LabelmeFiles, pair: tuple[str, Entry]) -> Iterator[ListingRow]:
        """See PairedFiles; the file's image is found by what the file says."""
        path, entry = pair
        split = split_of_folder(path.partition("/")[0]) if self.with_splits else None
        parsed = self.read(path, entry)
        found = files.finder.find(path, parsed.image if isinstance(parsed, Annotation) else "")
        if isinstance(parsed, LabelmeImage) and found:
            if parsed.has_flags and not parsed.objects:
                message = (
                    f"{printable(path)} sets flags of the whole image and has no shapes, and only shapes are read; for "
                    "classes of images, write a CSV file of image,label and give it as SOURCE"
                )
                yield rejected_image(found[0], split, found[1], BAD_ANNOTATION, message)
            else:
                yield from self.image_rows(files, found[0], split, found[1], parsed)
        elif isinstance(parsed, LabelmeImage):
            message = f"its image {printable(parsed.image)!r} is neither where the file says nor next to it; "
            message += (
                "the file itself holds the image: labelme_export_json writes it" if parsed.has_image else "restore it"
            )
            yield rejected_file(path, split, message)
        elif found:
            problem = RecordProblem(encodable_path(found[0]), BAD_ANNOTATION, str(parsed))
            yield rejected_row(problem, split, found[1])
        else:
            count_skipped(files.skipped, ".json")  # a file of another tool, such as the settings of an editor


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def open_labelme(opening: Opening) -> Labelme:
    """Find Labelme's files.

    Raises:
        DataError: There are none.
    """
    folder = opening.folder
    jsons = walk(folder).pairs
    if not any(is_labelme_file(folder, path) for path, _ in jsons[:64]):
        msg = f"{folder.url}: there is no file of Labelme: a *.json with `shapes` next to its image"
        raise DataError(msg)
    with_splits = all("/" in path and split_of_folder(path.partition("/")[0]) for path, _ in jsons)
    return Labelme(folder, with_splits)
