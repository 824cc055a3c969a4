"""KITTI object labels: ``training/image_2/000000.png`` with ``training/label_2/000000.txt``.

Also ``images/`` with ``labels/`` in the same format, as NVIDIA's tools have it. Boxes are in pixels. DontCare regions
and the values in three dimensions are left out. ``testing/`` has no labels; its images are counted as skipped.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError, SpecialFileError
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION, MISSING, NO_LABEL
from shardkit.sources.detection.kitti.labels import MAX_BYTES, is_label_line, parse_labels
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.listing import (
    IMAGE_ENDINGS,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    encodable_path,
    ending,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.visibility import refuse_other_count
from shardkit.sources.walking import children, folders_in, is_folder, join, num_slices, read_label_file, slice_bounds
from shardkit.storage import Entry, Folder, os_errors_as

_SCHEMA = detection_schema(
    (pa.field("truncated", pa.float32()), pa.field("occluded", pa.int64()), pa.field("alpha", pa.float32()))
)
_PAIRS = (("image_2", "label_2"), ("images", "labels"))
_OTHER_BASES = ("default",)  # CVAT's export; other folders than these and splits are not searched
_TRIED = 8  # label files that are tested, because the first may be empty
_HEAD = 4096  # bytes


@dataclass(frozen=True, slots=True)
class KittiFolder:
    """A folder of images, the folder of their labels, and the split in their parent's name."""

    images: str
    labels: str
    split: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a folder's images; `num_files` is the number of images and labels that the driver counted."""

    found: KittiFolder
    index: int
    num_slices: int
    num_files: int


@dataclass(frozen=True, slots=True)
class Kitti(Source):
    """A source of KITTI object labels.

    Attributes:
        folder: Root of the source.
        folders: The folders of images with labels.
    """

    folder: Folder
    folders: tuple[KittiFolder, ...]

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "KITTI"

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{found.labels}/*.txt with the images in {found.images}" + (f" as {found.split}" if found.split else "")
            for found in self.folders
        ]
        return f"{self.folder.url}: read {'; '.join(read)}; note: DontCare regions and 3D values are left out"

    def parts(self) -> list[Part | UnlistedImages]:
        """Return slices of each folder's images, and a part for other images."""
        parts: list[Part | UnlistedImages] = [UnlistedImages()]
        for found in self.folders:
            images, labels, _ = self._files(found)
            num = num_slices(len(images))
            parts += [Part(found, index, num, len(images) + len(labels)) for index in range(num)]
        return parts

    def list_part(self, part: Part | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; sorted by file name."""
        if isinstance(part, UnlistedImages):
            covered = {path for found in self.folders for path in (found.images, found.labels)}
            skipped = count_unlisted_images(self.folder, "that no label file names", covered=covered)
            yield from batched(_SCHEMA, (), batch_rows, skipped)
            return
        images, labels, skipped = self._files(part.found)
        refuse_other_count(self.folder, part.found.labels, len(images) + len(labels), part.num_files)
        stems = sorted(images.keys() | labels.keys())
        stems = stems[slice_bounds(len(stems), part.index, part.num_slices)]
        skipped = skipped if part.index == 0 else {}
        rows = (row for stem in stems for row in self._rows(part.found, images.get(stem), labels.get(stem), skipped))
        yield from batched(_SCHEMA, rows, batch_rows, skipped)

    def _files(self, found: KittiFolder) -> tuple[dict[str, Entry], dict[str, Entry], dict[str, int]]:
        """Return the images and the label files by stem, and counts of other files."""
        images, labels, skipped = dict[str, Entry](), dict[str, Entry](), dict[str, int]()
        for path, files, endings in (
            (found.images, images, IMAGE_ENDINGS),
            (found.labels, labels, frozenset({".txt"})),
        ):
            for entry in children(self.folder, path):
                if not entry.is_folder and ending(entry.name) in endings:
                    files[posixpath.splitext(entry.name)[0]] = entry
                elif not entry.is_folder:
                    count_skipped(skipped, ending(entry.name))
        return images, labels, skipped

    def _rows(
        self, found: KittiFolder, image: Entry | None, label: Entry | None, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        label_path = join(found.labels, label.name) if label else ""
        if image is None:
            message = f"there is no image of this name in {printable(found.images)}; restore it, or remove the file"
            yield rejected_row(RecordProblem(encodable_path(label_path), MISSING, message), found.split)
            return
        path = join(found.images, image.name)
        if problem := unicode_problem(path):
            yield rejected_row(problem, found.split, image)
            return
        if label is None:
            message = f"there is no label file of this name in {printable(found.labels)}; add it, empty for background"
            yield rejected_row(RecordProblem(path, NO_LABEL, message), found.split, image)
            return
        data = read_label_file(self.folder, label_path, label.num_bytes, MAX_BYTES)
        parsed = data if isinstance(data, str) else parse_labels(data)
        if isinstance(parsed, str):
            message = f"{printable(label_path)}: {parsed}; correct the file, or write it again"
            yield rejected_row(RecordProblem(path, BAD_ANNOTATION, message), found.split, image)
            return
        objects, problems, num_ignored = parsed
        if num_ignored:
            count_skipped(skipped, "DontCare regions", num_ignored)
        yield image_row(path, found.split, image, objects, (None, None))
        for line, what in problems:
            message = f"{what}; the image is kept; correct the line, or remove it"
            yield rejected_row(RecordProblem(f"{label_path}, line {line}", BAD_ANNOTATION, message), found.split)


def is_kitti(folder: Folder) -> bool:
    """Return whether a folder has label files of KITTI, judging by names and the first lines of one file."""
    return bool(_find_folders(folder))


def _find_folders(folder: Folder) -> tuple[KittiFolder, ...]:
    names = folders_in(folder)
    bases = [name for name in names if split_of_folder(name) or name in _OTHER_BASES]
    found = [one for base in ("", *bases) for one in _pairs_in(folder, base)]
    if not found and {"data_object_image_2", "data_object_label_2"} <= set(names):  # the archives, each unpacked
        images, labels = "data_object_image_2/training/image_2", "data_object_label_2/training/label_2"
        found = [KittiFolder(images, labels, None)] if _has_labels(folder, labels) else []
    # KITTI's own has labels for training/ only; a split of its own would leave no validation split to make.
    return (KittiFolder(found[0].images, found[0].labels, None),) if len(found) == 1 else tuple(found)


def _pairs_in(folder: Folder, base: str) -> Iterator[KittiFolder]:
    for images, labels in _PAIRS:
        pair = KittiFolder(join(base, images), join(base, labels), split_of_folder(base))
        if is_folder(folder, pair.labels) and is_folder(folder, pair.images) and _has_labels(folder, pair.labels):
            yield pair
            return


def _has_labels(folder: Folder, path: str) -> bool:
    tried = [entry.name for entry in children(folder, path) if not entry.is_folder and ending(entry.name) == ".txt"]
    for name in tried[:_TRIED]:
        try:
            with os_errors_as("read", f"{folder.url}/{path}/{name}"), folder.open(join(path, name)) as file:
                head: bytes = file.read(_HEAD)
        except SpecialFileError:
            continue
        if line := next((line for line in head.decode("utf-8", "replace").split("\n") if line.strip()), ""):
            return is_label_line(line)
    return False


def open_kitti(folder: Folder, options: SourceOptions) -> Kitti:
    """Find the label files and their images.

    Raises:
        DataError: There are none.
    """
    del options  # it has none besides the layout
    found = _find_folders(folder)
    if not found:
        msg = (
            f"{folder.url}: there are no object labels of KITTI; searched for training/label_2/*.txt next to "
            "training/image_2, and for labels/*.txt next to images, with 15 fields a line"
        )
        raise DataError(msg)
    return Kitti(folder, found)
