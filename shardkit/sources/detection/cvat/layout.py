"""CVAT for images 1.1: ``annotations.xml`` with the images in ``images/``.

The boxes of polygons, ellipses, masks and turned boxes enclose them; polygons are kept as `segmentation` in pixels.
Points, polylines and cuboids are left out and counted, and so are tags; without shapes, these are the classes. A subset
is a split, except for `default`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import check_split_name, printable
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_SPLIT
from shardkit.sources.columns import LINE, MAX_OBJECTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.annotation_files import AnnotationFile, ImageRecords, read_records
from shardkit.sources.detection.cvat.tags import DEFAULT, open_tags
from shardkit.sources.detection.image_paths import find_paths, image_places, not_near
from shardkit.sources.detection.rows import annotated_rows, detection_schema, image_row
from shardkit.sources.formats.cvat import TAGS, CvatImage, TracksError, read_images
from shardkit.sources.formats.record import encodable
from shardkit.sources.listing import ListingRow, RecordProblem, Source, encodable_path, rejected_row
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import files_in, join, looks_like, read_head
from shardkit.storage import Folder

_OBJECT_FIELDS = (pa.field("is_occluded", pa.bool_()), pa.field("segmentation", pa.string()))
_TRIED = 8  # XML files that are tested
_FIRST = 1000  # images that decide how the file is read


@dataclass(frozen=True, slots=True)
class CvatFile(AnnotationFile):
    """A file of CVAT, and whether a subset's images are in a folder of its name."""

    with_subsets: bool


@dataclass(frozen=True, slots=True)
class Cvat(ImageRecords[CvatFile, CvatImage]):
    """A source of CVAT's XML.

    Attributes:
        folder: The folder that image names start at.
        files_folder: The folder of the XML files.
        files: The XML files.
        is_whole: Whether all images are counted that no file names: if SOURCE is a folder.
    """

    folder: Folder
    files_folder: Folder
    files: tuple[CvatFile, ...]
    is_whole: bool

    layout = LAYOUTS["cvat"].title
    schema = pa.schema([*detection_schema(_OBJECT_FIELDS), LINE])

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{printable(one.path)} with the images in {join(self.folder.url, one.paths.place)}" for one in self.files
        ]
        return (
            f"{self.files_folder.url}: read {'; '.join(read)}; note: the boxes of polygons, ellipses, masks and turned "
            "boxes enclose them"
        )

    def records(self, file: CvatFile) -> Iterator[CvatImage]:
        """See ImageRecords."""
        return read_records(self.files_folder, file.path, read_images)

    def key(self, file: CvatFile, record: CvatImage) -> str:
        """See ImageRecords."""
        return file.paths.key(record.path(with_subset=file.with_subsets))

    def record_rows(self, file: CvatFile, record: CvatImage, key: str, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See ImageRecords."""
        name, split = f"{encodable_path(file.path)}, image {record.number}", None
        try:
            if record.subset.lower() not in {"", DEFAULT}:
                split = check_split_name(record.subset)
        except CallError as error:
            yield rejected_row(RecordProblem(key, BAD_SPLIT, encodable(f"{name}: {error}")), None)
            return
        row = image_row(key, split, None, record.objects, record.size, record.number)
        if len(record.objects) > MAX_OBJECTS:
            message = f"{name} has more than {MAX_OBJECTS:,} shapes; split the image into tiles"
            row = rejected_row(RecordProblem(key, BAD_ANNOTATION, message), split)
        yield from annotated_rows(row, record, file.path, skipped)


def is_cvat(folder: Folder) -> bool:
    """Return whether a folder has XML files of CVAT, judging by the beginning of a few files."""
    return bool(_xml_files(folder))


def _xml_files(folder: Folder) -> list[str]:
    return [name for name in files_in(folder, "", ".xml")[:_TRIED] if _is_cvat_file(folder, name)]


def _is_cvat_file(folder: Folder, path: str) -> bool:
    return looks_like(read_head(folder, path), b"<annotations>", b"<version>1")


def _has_only_tags(folder: Folder, path: str) -> bool:
    """Return whether the first images of a file have tags and no shapes."""
    if not _is_cvat_file(folder, path):
        return False
    try:
        first = list(islice(read_records(folder, path, read_images), _FIRST))
    except TracksError:
        return False
    return any(TAGS in image.left_out for image in first) and not any(
        image.objects or image.problems for image in first
    )


def open_cvat(opening: Opening) -> Source:
    """Find CVAT's files and their images, which may be next to the folder of a file that is the source.

    Raises:
        DataError: There is no file of CVAT, it has no boxes, or its images are not found.
    """
    folder, options, path = opening.folder, opening.options, opening.file
    found = [path] if path is not None else _xml_files(folder)
    if not found:
        msg = f"{folder.url}: there is no XML file of CVAT for images, such as annotations.xml next to images/"
        raise DataError(msg)
    if all(_has_only_tags(folder, one) for one in found):
        return open_tags(opening, found)
    opened = [_open(folder, one, options, may_leave=path is not None) for one in found]
    return Cvat(opened[0][0], folder, tuple(file for _, file in opened), path is None and options.root is None)


def _open(folder: Folder, path: str, options: SourceOptions, *, may_leave: bool) -> tuple[Folder, CvatFile]:
    url = f"{folder.url}/{path}"
    if not _is_cvat_file(folder, path):
        msg = (
            f"{url}: the file is not 'CVAT for images 1.1'; for Pascal VOC, give the folder of the XML files as SOURCE"
        )
        raise DataError(msg)
    try:
        first = list(islice(read_records(folder, path, read_images), _FIRST))
    except TracksError as error:
        msg = f"{error}, which shardkit does not read; export the task as 'COCO 1.0' with its images"
        raise DataError(msg) from None
    with_image = [image for image in first if image.image]
    if not with_image:
        msg = f"{url}: the file names no image; export the task as 'COCO 1.0' with its images"
        raise DataError(msg)
    places = image_places(folder, path, options, may_leave=may_leave)
    for with_subset in (False, True):
        if located := find_paths([image.path(with_subset=with_subset) for image in with_image], places):
            return located[0], CvatFile(path, located[1], None, with_subset)
    why = not_near(url, [with_image[0].image], places)
    msg = f"{why}; give the folder that the images are in with {named('root')}, or export the task with its images"
    raise DataError(msg)
