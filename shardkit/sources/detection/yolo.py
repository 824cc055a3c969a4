"""YOLO: a text file an image, with boxes or polygons in shares of its sides, and data.yaml over them.

The label file of ``…/images/…/1.jpg`` is ``…/labels/…/1.txt``, else the one beside it; an image without one is
background. Read are the folders and lists of data.yaml, or, without one, ``images/`` and ``labels/`` with classes.txt
or obj.names, or the lists of Darknet's obj.data. ``path`` of a data.yaml that was moved is passed over, and so is a
``../`` that Roboflow puts before folders which lie beside the file. A ``path`` out of the YAML's folder is followed
only with ``--root``: no file that came with the data leads out of it by itself. Other images in SOURCE are counted as
skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.detection.rows import Row, batches, detection_schema, encodable, image_row, problem_row
from shardkit.sources.detection.yolo_folders import YoloImages, YoloSource, is_yolo, label_folder, read_source
from shardkit.sources.detection.yolo_labels import MAX_BYTES, parse_labels, too_many
from shardkit.sources.detection.yolo_pairs import LabelFiles, labels_without_image, listed_images, missing_labels
from shardkit.sources.listing import Listing, Source, unicode_problem
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import Rest, count_uncovered
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import num_slices, parent_of, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder

__all__ = ["Yolo", "is_yolo", "open_yolo"]

# `segmentation`: [[x, y, …]] as JSON, shares of the image's sides; '' for a box.
_SCHEMA = detection_schema((pa.field("segmentation", pa.string()),))


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker lists: a slice of a split's images, or with index -1 what has no image.

    ``num_images`` is what the driver counted in the whole split.
    """

    images: YoloImages
    index: int
    num_slices: int
    num_images: int


@dataclass(frozen=True, slots=True)
class Yolo(Source):
    """YOLO's images and label files.

    Attributes:
        folder: that all paths are below.
        found: what is there.
    """

    folder: Folder
    found: YoloSource

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def classes(self) -> tuple[str, ...]:
        """See Source; in the order of their indexes."""
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

    def parts(self) -> list[Part | Rest]:
        """Slices of every split's images, one part a split for what has none, and one for the rest."""
        parts: list[Part | Rest] = [Rest()] if self.found.uncovered else []
        for images in self.found.images:
            num_images = len(listed_images(self.folder, images, self.found.base).images)
            num = num_slices(num_images)
            parts += [Part(images, index, num, num_images) for index in range(-1, num)]
        return parts

    def list_part(self, part: Part | Rest, batch_rows: int) -> Iterator[Listing]:
        """See Source; folders' images sorted by path, lists' in their order."""
        if isinstance(part, Rest):
            yield from batches(_SCHEMA, (), batch_rows, self._rest())
            return
        listed = listed_images(self.folder, part.images, self.found.base)
        refuse_other_count(self.folder, part.images.path, len(listed.images), part.num_images)
        if part.index >= 0:
            chosen = listed.images[slice_bounds(len(listed.images), part.index, part.num_slices)]
            yield from batches(_SCHEMA, self._rows(part.images.split, chosen), batch_rows)
            return
        split = part.images.split
        rows = [problem_row(_shown(where), split, reason, message) for where, reason, message in listed.problems]
        if not part.images.is_list:  # of a list the folder's other images may be in another one
            message = (
                "there is no image beside or above it that it could label; restore the image, or take the file out"
            )
            paths = labels_without_image(self.folder, part.images.path, listed.images)
            rows += [problem_row(_shown(path), split, "missing", message) for path in paths]
        yield from batches(_SCHEMA, rows, batch_rows, listed.skipped)

    def _rest(self) -> dict[str, int]:
        covered, named = set[str](), set[str]()
        for images in self.found.images:
            if images.is_list:
                named.update(path for path, _ in listed_images(self.folder, images, self.found.base).images)
            else:
                covered |= {images.path, label_folder(images.path)}
        places = {parent_of(path) for path in named}
        covered |= {label_folder(place) for place in places} - places
        return count_uncovered(self.folder, self.found.uncovered, covered=covered, named=named)

    def _rows(self, split: str | None, images: list[tuple[str, Entry]]) -> Iterator[Row]:
        files, names = LabelFiles(self.folder), dict(self.found.names)
        for path, entry in images:
            if bad_name := unicode_problem(path):
                yield problem_row(bad_name[0], split, bad_name[1], bad_name[2], entry)
                continue
            label_path, labels = files.of(path)
            data = self._labels(label_path, labels)
            if isinstance(data, str):
                message = f"{printable(label_path)}: {data}; mend the file, or write it anew"
                yield problem_row(path, split, "bad_annotation", message, entry)
                continue
            objects, problems = parse_labels(data, names, self.found.num_keypoint_fields)
            yield image_row(path, split, entry, objects, (0, 0))
            for line, message in problems:
                rest = "the image stays; mend the line, or take it out"
                yield problem_row(f"{label_path}, line {line}", split, "bad_annotation", f"{message}; {rest}")

    def _labels(self, path: str, entry: Entry | None) -> bytes | str:
        """The content of a label file, b"" if there is none, or why it cannot be used."""
        if entry is None:
            return b""
        data = read_label_file(self.folder, path, entry.num_bytes, MAX_BYTES)
        return data if isinstance(data, str) else too_many(data) or data


def _shown(text: str) -> str:
    return encodable(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def open_yolo(folder: Folder, options: SourceOptions, yaml_path: str | None = None) -> Yolo:
    """Find names of classes, images and their labels.

    Args:
        folder: the source, or of the YAML that is the source.
        options: `root` is the folder that entries of data.yaml start at.
        yaml_path: of the file that is the source, below the folder; None to look for data.yaml.

    Raises:
        DataError: there are no names of classes, no images, or no label file at all.
    """
    root, found = read_source(folder, options, yaml_path)
    if looked := missing_labels(root, found.images, found.base):
        msg = (
            f"{folder.url}: there is no label file of YOLO; looked for *.txt in {looked}: an image without one is "
            "background, and all of them would be; put them there"
        )
        raise DataError(msg)
    return Yolo(root, found)
