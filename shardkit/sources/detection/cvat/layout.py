"""CVAT for images 1.1: ``annotations.xml`` with the images in ``images/``.

The boxes of polygons, ellipses, masks and turned boxes enclose them; polygons are kept as `segmentation` in pixels.
Points, polylines, cuboids and tags are left out and counted. A subset is a split, except for `default`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from shardkit.errors import CallError, DataError, SpecialFileError
from shardkit.naming import check_split_name, printable
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_SPLIT
from shardkit.sources.detection.cvat.images import TAG, CvatImage, TracksError, read_images
from shardkit.sources.detection.image_paths import ImagePaths, find_paths, image_places, shown_paths
from shardkit.sources.detection.rows import detection_schema, encodable, image_row
from shardkit.sources.listing import (
    LINE,
    MAX_OBJECTS,
    UNMEASURED,
    BadRecord,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    encodable_path,
    ending,
    rejected_row,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.unlisted import count_unlisted
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.walking import children, folders_in, join, parent_of
from shardkit.storage import Entry, Folder, os_errors_as

_FIELDS = (pa.field("is_occluded", pa.bool_()), pa.field("segmentation", pa.string()))
_SCHEMA = pa.schema([*detection_schema(_FIELDS), LINE])
_HEAD = 1 << 16  # 64 KiB that are read to recognise a file
_TRIED = 8  # XML files that are tested
_FIRST = 1000  # images that decide how the file is read
_DEFAULT = "default"  # CVAT's subset of images without one


@dataclass(frozen=True, slots=True)
class CvatFile:
    """A file of CVAT, how its image names become keys, and whether a subset's images are in a folder of its name."""

    path: str
    paths: ImagePaths
    with_subsets: bool

    def key(self, image: CvatImage) -> str:
        """Return an image's key; see ImagePaths.key."""
        return self.paths.key(_name(image, with_subset=self.with_subsets))


@dataclass(frozen=True, slots=True)
class Cvat(Source):
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

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def layout(self) -> str:
        """See Source."""
        return "CVAT for images"

    def describe(self) -> str:
        """See Source."""
        read = [
            f"{printable(one.path)} with the images in {join(self.folder.url, one.paths.place)}" for one in self.files
        ]
        return (
            f"{self.files_folder.url}: read {'; '.join(read)}; note: the boxes of polygons, ellipses, masks and turned "
            "boxes enclose them"
        )

    def parts(self) -> list[CvatFile | UnlistedImages]:
        """Return one part for each file, and one for the images that none names."""
        return [UnlistedImages(), *self.files]

    def list_part(self, part: CvatFile | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; in the file's order."""
        skipped: dict[str, int] = {}
        if isinstance(part, UnlistedImages):
            yield from batched(_SCHEMA, (), batch_rows, self._count_unlisted())
            return
        rows = (row for image in self._images(part.path) for row in _rows(part, image, skipped))
        yield from batched(_SCHEMA, rows, batch_rows, skipped)

    def _images(self, path: str) -> Iterator[CvatImage]:
        url = f"{self.files_folder.url}/{path}"
        with os_errors_as("read", url), self.files_folder.open(path) as file:
            yield from read_images(file, url)

    def _count_unlisted(self) -> dict[str, int]:
        places, skipped = dict[str, None](), dict[str, int]()
        if count := count_unlisted(self.folder, self._keys(places)):
            skipped[f"{'image' if count == 1 else 'images'} next to others that no annotation names"] = count
        if self.is_whole:
            inner = [join(place, name) for place in places for name in folders_in(self.folder, place)]
            why = "that no annotation names"
            skipped |= count_unlisted_images(self.folder, why, below=["", *inner], covered=places)
        return skipped

    def _keys(self, places: dict[str, None]) -> Iterator[str]:
        for file in self.files:
            for image in self._images(file.path):
                try:
                    key = file.key(image)
                except BadRecord:
                    continue
                places[parent_of(key)] = None
                yield key


def _rows(part: CvatFile, image: CvatImage, skipped: dict[str, int]) -> Iterator[ListingRow]:
    file_name = encodable_path(part.path)
    name = f"{file_name}, image {image.number}"
    split = None
    try:
        key = part.key(image)
        if image.subset.lower() not in {"", _DEFAULT}:
            split = check_split_name(image.subset)
    except BadRecord as error:
        yield rejected_row(RecordProblem(name, error.reason, str(error)), None)
        return
    except CallError as error:
        yield rejected_row(RecordProblem(key, BAD_SPLIT, encodable(f"{name}: {error}")), None)
        return
    for kind, count in image.left_out.items():
        count_skipped(
            skipped, "tags of whole images" if kind == TAG else f"shapes of the kind {printable(kind)}", count
        )
    if len(image.objects) > MAX_OBJECTS:
        message = f"{name} has more than {MAX_OBJECTS:,} shapes; split the image into tiles"
        yield rejected_row(RecordProblem(key, BAD_ANNOTATION, message), split)
    else:
        entry = Entry(image.name, is_folder=False, num_bytes=UNMEASURED, mtime_ns=0)
        row = image_row(key, split, entry, image.objects, image.size)
        yield row._replace(extra=(*row.extra, image.number))
    for where, reason, message in image.problems:
        problem = RecordProblem(f"{file_name}, {where}", reason, f"{message}; the image is kept")
        yield rejected_row(problem, split)


def _name(image: CvatImage, *, with_subset: bool) -> str:
    return join(image.subset, image.name) if with_subset else image.name


def is_cvat(folder: Folder) -> bool:
    """Return whether a folder has XML files of CVAT, judging by the beginning of a few files."""
    return bool(_xml_files(folder))


def _xml_files(folder: Folder) -> list[str]:
    names = [one.name for one in children(folder) if not one.is_folder and ending(one.name) == ".xml"]
    return [name for name in names[:_TRIED] if _is_cvat_file(folder, name)]


def _is_cvat_file(folder: Folder, path: str) -> bool:
    try:
        with os_errors_as("read", f"{folder.url}/{path}"), folder.open(path) as file:
            head: bytes = file.read(_HEAD)
    except SpecialFileError:
        return False
    return b"<annotations>" in head and b"<version>1" in head


def open_cvat(folder: Folder, options: SourceOptions, path: str | None = None) -> Cvat:
    """Find CVAT's files and their images.

    Args:
        folder: The source, or the folder of the file that is the source.
        options: Options of the source; `root` is the folder of the images.
        path: Path of the file that is the source; its images may be next to its folder.

    Raises:
        DataError: There is no file of CVAT, it has no boxes, or its images are not found.
    """
    found = [path] if path is not None else _xml_files(folder)
    if not found:
        msg = f"{folder.url}: there is no XML file of CVAT for images, such as annotations.xml next to images/"
        raise DataError(msg)
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
        with os_errors_as("read", url), folder.open(path) as file:
            first = list(islice(read_images(file, url), _FIRST))
    except TracksError as error:
        msg = f"{error}, which shardkit does not read; export the task as 'COCO 1.0' with its images"
        raise DataError(msg) from None
    names = [image.name for image in first if image.name]
    if not names:
        msg = f"{url}: the file names no image; export the task as 'COCO 1.0' with its images"
        raise DataError(msg)
    if not any(image.objects or image.problems for image in first) and any(TAG in image.left_out for image in first):
        msg = (
            f"{url}: the file has tags of whole images and no boxes; export the task as 'ImageNet 1.0' with its images"
        )
        raise DataError(msg)
    places = image_places(folder, path, options, may_leave=may_leave)
    for with_subset in (False, True):
        texts = [_name(image, with_subset=with_subset) for image in first if image.name]
        if located := find_paths(texts, places):
            return located[0], CvatFile(path, located[1], with_subset)
    msg = (
        f"{url}: its first image {shown_paths(names)} is not in {places[0][0].url}, nor in a folder near it; give "
        "the folder that the images are in with --root, or export the task with its images"
    )
    raise DataError(msg)
