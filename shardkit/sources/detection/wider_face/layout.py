"""WIDER FACE: ``wider_face_split/wider_face_train_bbx_gt.txt`` with the images in ``WIDER_train/images/``.

The one class is ``face``; the six attributes of a face are stored with it. ``WIDER_test`` has no faces; its images are
counted as skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable, relative_path_problem
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_NAME
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.detection.wider_face.faces import ATTRIBUTES, FACE, Faces, parse_faces
from shardkit.sources.listing import (
    LINE,
    MAX_OBJECTS,
    UNMEASURED,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    encodable_path,
    rejected_row,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.formats.lines import read_lines
from shardkit.sources.tables.unlisted import count_unlisted
from shardkit.sources.unlisted_images import UnlistedImages, count_unlisted_images
from shardkit.sources.walking import file_or_folder, folders_in, is_folder, join
from shardkit.storage import Entry, Folder

_SCHEMA = pa.schema([*detection_schema([pa.field(name, pa.int64()) for name in ATTRIBUTES]), LINE])
_SPLITS = {"train": "train", "val": "validation"}


@dataclass(frozen=True, slots=True)
class FaceList:
    """A list of faces, the folder of its images, and its split."""

    path: str
    images: str
    split: str


@dataclass(frozen=True, slots=True)
class WiderFace(Source):
    """A source of WIDER FACE.

    Attributes:
        folder: Root of the source.
        lists: The lists of faces.
    """

    folder: Folder
    lists: tuple[FaceList, ...]

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return _SCHEMA

    @property
    def classes(self) -> tuple[str, ...]:
        """See Source."""
        return (FACE,)

    @property
    def layout(self) -> str:
        """See Source."""
        return "WIDER FACE"

    def describe(self) -> str:
        """See Source."""
        read = [f"{one.path} with the images in {one.images} as {one.split}" for one in self.lists]
        return f"{self.folder.url}: read {'; '.join(read)}; one class, {FACE!r}"

    def parts(self) -> list[FaceList | UnlistedImages]:
        """Return one part for each list, and one for the images that no list names."""
        return [UnlistedImages(), *self.lists]

    def list_part(self, part: FaceList | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source; in the list's order."""
        if isinstance(part, UnlistedImages):
            covered = {one.images for one in self.lists}
            skipped = count_unlisted_images(self.folder, "that no list of faces names", covered=covered)
            yield from batched(_SCHEMA, (), batch_rows, skipped)
            return
        skipped = {}
        if count := count_unlisted(self.folder, (join(part.images, image.path) for image in self._good(part))):
            skipped[f"{'image' if count == 1 else 'images'} that {part.path} does not name"] = count
        rows = (row for image in self._images(part) for row in _rows(part, image))
        yield from batched(_SCHEMA, rows, batch_rows, skipped)

    def _images(self, part: FaceList) -> Iterator[Faces]:
        return parse_faces(read_lines(self.folder, part.path))

    def _good(self, part: FaceList) -> Iterator[Faces]:
        return (image for image in self._images(part) if image.path and not relative_path_problem(image.path))


def _rows(part: FaceList, image: Faces) -> Iterator[ListingRow]:
    if image.path:
        key = join(part.images, image.path)
        problem = None
        if why := relative_path_problem(image.path):
            message = f"the path {printable(image.path)!r} may not be followed: {why}; correct the line"
            problem = RecordProblem(f"{part.path}, line {image.line}", BAD_NAME, message)
        elif len(image.objects) > MAX_OBJECTS:
            problem = RecordProblem(
                key, BAD_ANNOTATION, f"{part.path} has more than {MAX_OBJECTS:,} faces of the image"
            )
        if problem:
            yield rejected_row(problem, part.split)
        else:
            entry = Entry(image.path, is_folder=False, num_bytes=UNMEASURED, mtime_ns=0)
            row = image_row(key, part.split, entry, image.objects, (None, None))
            yield row._replace(extra=(*row.extra, image.line))
    for line, what in image.problems:
        message = encodable_path(f"{what}; correct the line, or download the list again")
        yield rejected_row(RecordProblem(f"{part.path}, line {line}", BAD_ANNOTATION, message), part.split)


def is_wider_face(folder: Folder) -> bool:
    """Return whether a folder has WIDER FACE's lists."""
    return bool(_find_lists(folder))


def _find_lists(folder: Folder) -> tuple[FaceList, ...]:
    found = []
    names = folders_in(folder)
    for word, split in _SPLITS.items():
        name = f"wider_face_{word}_bbx_gt.txt"
        tried = [join(place, name) for place in ("wider_face_split", "wider_face_split/wider_face_split", "")]
        path = next((path for path in tried if file_or_folder(folder, path) is not None), None)
        if path is None:
            continue
        top = f"WIDER_{word}"
        # Some copies have the archive's folder twice.
        places = [join(top, "images"), join(top, top, "images"), top]
        if top in names and (images := next((place for place in places if is_folder(folder, place)), None)):
            found.append(FaceList(path, images, split))
    return tuple(found)


def open_wider_face(folder: Folder, options: SourceOptions) -> WiderFace:
    """Find the lists of faces and their images.

    Raises:
        DataError: There are none.
    """
    del options  # it has none besides the layout
    found = _find_lists(folder)
    if not found:
        msg = (
            f"{folder.url}: there is no list of WIDER FACE next to its images; searched for "
            "wider_face_split/wider_face_train_bbx_gt.txt and WIDER_train/images"
        )
        raise DataError(msg)
    return WiderFace(folder, found)
