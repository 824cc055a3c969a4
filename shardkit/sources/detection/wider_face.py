"""WIDER FACE: ``wider_face_split/wider_face_train_bbx_gt.txt`` with the images in ``WIDER_train/images/``.

A list has for each image its path, the number of faces, and a line per face:

    0--Parade/0_Parade_marchingband_1_849.jpg
    1
    449 330 122 149 0 0 0 0 0 0

A face is x, y, width, height in pixels, and six attributes, which are stored with it. An image without faces has the
number 0 and, after it, one line of zeros. The one class is ``face``. ``WIDER_test`` has no faces; its images are
counted as skipped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import IMAGE_ENDINGS, counted, printable, relative_path_problem
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_NAME
from shardkit.sources.columns import LINE, MAX_OBJECTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.annotation_files import AnnotationFile, ImageRecords
from shardkit.sources.detection.image_paths import ImagePaths
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.formats.record import Object
from shardkit.sources.listing import BadRecord, ListingRow, RecordProblem, encodable_path, ending, rejected_row
from shardkit.sources.tables.formats.lines import Line, read_lines
from shardkit.sources.unlisted_images import count_unlisted_images, count_unnamed, images_count
from shardkit.sources.walking import file_or_folder, folders_in, is_folder, join
from shardkit.storage import Folder

_FACE = "face"
_ATTRIBUTES = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")
_NUM_FIELDS = 4 + len(_ATTRIBUTES)
_SPLITS = {"train": "train", "val": "validation"}
_SHOWN = 80  # characters of a bad line


@dataclass(slots=True)
class FaceImage:
    """An image of a list: the line of its path, its path, its faces, and (line, what is wrong) of bad lines."""

    number: int
    path: str
    objects: list[Object] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WiderFace(ImageRecords[AnnotationFile, FaceImage]):
    """A source of WIDER FACE.

    Attributes:
        folder: Root of the source.
        files: The lists of faces.
    """

    folder: Folder
    files: tuple[AnnotationFile, ...]

    layout = LAYOUTS["wider-face"].title
    schema = pa.schema([*detection_schema([pa.field(name, pa.int64()) for name in _ATTRIBUTES]), LINE])
    classes = (_FACE,)
    record_noun = "line"

    def describe(self) -> str:
        """See Source."""
        read = [f"{one.path} with the images in {one.paths.place} as {one.split}" for one in self.files]
        return f"{self.folder.url}: read {'; '.join(read)}; one class, {_FACE!r}"

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource; images in other folders, because `rows` counts those next to the images of a list."""
        covered = {one.paths.place for one in self.files}
        return count_unlisted_images(self.folder, "that no list of faces names", covered=covered)

    def rows(self, part: AnnotationFile, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See CountingSource; in the list's order."""
        skipped |= images_count(count_unnamed(self.folder, self.keys(part)), f"that {part.path} does not name")
        for image in self.records(part):
            if image.path:
                yield from self.image_rows(part, image, skipped)
            for line, what in image.problems:
                message = encodable_path(f"{what}; correct the line, or download the list again")
                yield rejected_row(RecordProblem(f"{part.path}, line {line}", BAD_ANNOTATION, message), part.split)

    def records(self, file: AnnotationFile) -> Iterator[FaceImage]:
        """See ImageRecords."""
        return _parse_faces(read_lines(self.folder, file.path))

    def key(self, file: AnnotationFile, record: FaceImage) -> str:
        """See ImageRecords."""
        if why := relative_path_problem(record.path):
            msg = f"the path {printable(record.path)!r} may not be followed: {why}; correct the line"
            raise BadRecord(BAD_NAME, msg)
        return join(file.paths.place, record.path)

    def record_rows(
        self, file: AnnotationFile, record: FaceImage, key: str, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        """See ImageRecords."""
        del skipped
        if len(record.objects) > MAX_OBJECTS:
            message = f"{file.path} has more than {MAX_OBJECTS:,} faces of the image"
            yield rejected_row(RecordProblem(key, BAD_ANNOTATION, message), file.split)
        else:
            yield image_row(key, file.split, None, record.objects, (None, None), record.number)


def _parse_faces(lines: Iterable[Line]) -> Iterator[FaceImage]:
    """Yield the images of a list; lines before the first path belong to an image with the path ''."""
    image, wanted, num_seen = FaceImage(0, ""), 0, 0
    for line in lines:
        text = line.text.strip()
        if not text:
            continue
        if line.problem is None and _is_path(text):
            yield from _finished(image, wanted, num_seen)
            image, wanted, num_seen = FaceImage(line.number, text), -1, 0
        elif wanted < 0 and text.isascii() and text.isdecimal():
            wanted = int(text[:_SHOWN])
        else:
            num_seen += 1
            found = line.problem or _face(text)
            if isinstance(found, str):
                image.problems.append((line.number, found))
            elif wanted != 0 and len(image.objects) <= MAX_OBJECTS:  # 0: the line of zeros
                image.objects.append({**found, "name": f"line {line.number}"})
    yield from _finished(image, wanted, num_seen)


def _finished(image: FaceImage, wanted: int, num_seen: int) -> Iterator[FaceImage]:
    if image.path and wanted < 0:
        image.problems.append((image.number, "no number of faces follows the path"))
    elif image.path and wanted != num_seen and not (wanted == 0 and num_seen <= 1):
        image.problems.append(
            (image.number, f"{counted(num_seen, 'face')} follow the path, but the count is {wanted:,}")
        )
    if image.path or image.problems:
        yield image


def _is_path(text: str) -> bool:
    return ending(text) in IMAGE_ENDINGS


def _face(text: str) -> Object | str:
    fields = text.split()
    if len(fields) != _NUM_FIELDS:
        return f"{counted(len(fields), 'field')} in {text[:_SHOWN]!r}, where a face has {_NUM_FIELDS}"
    try:
        x, y, width, height = map(float, fields[:4])
        attributes = dict(zip(_ATTRIBUTES, map(int, fields[4:]), strict=True))
    except ValueError:
        return f"{text[:_SHOWN]!r} has a field that is no number"
    return {"bbox": [y, x, y + height, x + width], "label_name": _FACE, **attributes}


def is_wider_face(folder: Folder) -> bool:
    """Return whether a folder has WIDER FACE's lists."""
    return bool(_find_lists(folder))


def _find_lists(folder: Folder) -> tuple[AnnotationFile, ...]:
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
            found.append(AnnotationFile(path, ImagePaths(images), split))
    return tuple(found)


def open_wider_face(opening: Opening) -> WiderFace:
    """Find the lists of faces and their images.

    Raises:
        DataError: There are none.
    """
    folder = opening.folder
    found = _find_lists(folder)
    if not found:
        msg = (
            f"{folder.url}: there is no list of WIDER FACE next to its images; searched for "
            "wider_face_split/wider_face_train_bbx_gt.txt and WIDER_train/images"
        )
        raise DataError(msg)
    return WiderFace(folder, found)
