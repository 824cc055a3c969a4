"""YOLO: one text file per image, with boxes or polygons as fractions of its sides, and data.yaml.

The label file of ``…/images/…/1.jpg`` is ``…/labels/…/1.txt``, else the one next to it; an image without one is
background. shardkit reads the folders and lists of data.yaml or, without one, ``images/`` and ``labels/`` with
classes.txt or obj.names, or the lists of Darknet's obj.data. It ignores the ``path`` of a data.yaml that was moved, and
the ``../`` that Roboflow writes before folders that are next to the file. A ``path`` that leads out of the YAML's
folder is followed only with ``--root``: a file that comes with the data must not lead out of it. Other images in SOURCE
are counted as skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_ANNOTATION, MISSING
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.detection.yolo.image_folders import (
    YoloImages,
    YoloSource,
    is_yolo,
    label_folder,
    read_source,
)
from shardkit.sources.detection.yolo.labels import MAX_BYTES, parse_labels, too_many
from shardkit.sources.detection.yolo.pairs import LabelFiles, labels_without_image, listed_images, missing_labels
from shardkit.sources.listing import (
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    encodable_path,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import num_slices, parent_of, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder

__all__ = ["Yolo", "is_yolo", "open_yolo"]

# `segmentation`: [[x, y, …]] as JSON, fractions of the image's sides; '' for a box.
_SCHEMA = detection_schema((pa.field("segmentation", pa.string()),))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a slice of a split's images, or with index -1 what has no image.

    ``num_images`` is the number of images of the whole split that the driver counted.
    """

    images: YoloImages
    index: int
    num_slices: int
    num_images: int


@dataclass(frozen=True, slots=True)
class Yolo(Source):
    """A source of YOLO images and label files.

    Attributes:
        folder: The folder that all paths start at.
        found: Images, classes and remarks.
    """

    folder: Folder
    found: YoloSource

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def classes(self) -> tuple[str, ...]:
        """See Source; in the order of the class indexes."""
        return tuple(name for _, name in self.found.names)

    @property
    def layout(self) -> str:
        """See Source."""
        return "YOLO"

    def describe(self) -> str:
        """See Source."""
        read = [
            (printable(images.path) or "all images") + (f" as {images.split}" if images.split else "")
            for images in self.found.images
        ]
        remarks = "".join(f"; note: {remark}" for remark in self.found.remarks)
        return f"{self.folder.url}: read {', '.join(read)}, classes of {printable(self.found.named_by)}{remarks}"

    def parts(self) -> list[Part | UnlistedImages]:
        """Return slices of each split's images, a part per split for what has no image, and one for other images."""
        parts: list[Part | UnlistedImages] = [UnlistedImages()] if self.found.unlisted_clause else []
        for images in self.found.images:
            num_images = len(listed_images(self.folder, images, self.found.base).images)
            num = num_slices(num_images)
            parts += [Part(images, index, num, num_images) for index in range(-1, num)]
        return parts

    def list_part(self, part: Part | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; images of folders are sorted by path, images of lists are in the list's order."""
        if isinstance(part, UnlistedImages):
            yield from batched(_SCHEMA, (), batch_rows, self._count_unlisted())
            return
        listed = listed_images(self.folder, part.images, self.found.base)
        refuse_other_count(self.folder, part.images.path, len(listed.images), part.num_images)
        if part.index >= 0:
            chosen = listed.images[slice_bounds(len(listed.images), part.index, part.num_slices)]
            yield from batched(_SCHEMA, self._rows(part.images.split, chosen), batch_rows)
            return
        split = part.images.split
        problems = list(listed.problems)
        if not part.images.is_list:  # other images of a list's folder may be in another list
            message = "there is no image next to or above it; restore the image, or remove the file"
            paths = labels_without_image(self.folder, part.images.path, listed.images)
            problems += [RecordProblem(encodable_path(path), MISSING, message) for path in paths]
        rows = [rejected_row(problem, split) for problem in problems]
        yield from batched(_SCHEMA, rows, batch_rows, listed.skipped)

    def _count_unlisted(self) -> dict[str, int]:
        covered, named = set[str](), set[str]()
        for images in self.found.images:
            if images.is_list:
                named.update(path for path, _ in listed_images(self.folder, images, self.found.base).images)
            else:
                covered |= {images.path, label_folder(images.path)}
        places = {parent_of(path) for path in named}
        covered |= {label_folder(place) for place in places} - places
        return count_unlisted_images(self.folder, self.found.unlisted_clause, covered=covered, named=named)

    def _rows(self, split: str | None, images: list[tuple[str, Entry]]) -> Iterator[ListingRow]:
        files, names = LabelFiles(self.folder), dict(self.found.names)
        for path, entry in images:
            if problem := unicode_problem(path):
                yield rejected_row(problem, split, entry)
                continue
            label_path, labels = files.find(path)
            data = self._labels(label_path, labels)
            if isinstance(data, str):
                message = f"{printable(label_path)}: {data}; correct the file, or write it again"
                yield rejected_row(RecordProblem(path, BAD_ANNOTATION, message), split, entry)
                continue
            objects, problems = parse_labels(data, names, self.found.num_keypoint_fields)
            yield image_row(path, split, entry, objects, (0, 0))
            for line, what in problems:
                message = f"{what}; the image is kept; correct the line, or remove it"
                yield rejected_row(RecordProblem(f"{label_path}, line {line}", BAD_ANNOTATION, message), split)

    def _labels(self, path: str, entry: Entry | None) -> bytes | str:
        """Return the content of a label file, b"" if there is none, or why it cannot be used."""
        if entry is None:
            return b""
        data = read_label_file(self.folder, path, entry.num_bytes, MAX_BYTES)
        return data if isinstance(data, str) else too_many(data) or data


def open_yolo(folder: Folder, options: SourceOptions, yaml_path: str | None = None) -> Yolo:
    """Find class names, images and label files.

    Args:
        folder: The source, or the folder of the YAML that is the source.
        options: Options of the source; `root` is the folder that entries of data.yaml start at.
        yaml_path: Path of the YAML that is the source; None to search for data.yaml.

    Raises:
        DataError: There are no class names, no images, or no label file at all.
    """
    root, found = read_source(folder, options, yaml_path)
    if looked := missing_labels(root, found.images, found.base):
        msg = (
            f"{folder.url}: there is no label file of YOLO; searched for *.txt in {looked}: an image without one is "
            "background, and all images would be; put the label files there"
        )
        raise DataError(msg)
    return Yolo(root, found)
