"""A text file of boxes for each image: VisDrone's ``annotations/`` and DOTA's ``labelTxt/`` next to ``images/``.

A line of VisDrone is an object of eight numbers with commas, as in the toolkit of the challenge: left, top, width,
height, score, category, truncation, occlusion. Category 0 is a region to ignore, and so is an object with score 0; they
are left out. Category 11 is a class, ``others``.

A line of DOTA is an object of four corners, its class and its difficulty; lines of ``imagesource:`` and ``gsd:`` come
first. The box encloses the corners, because shardkit stores no turned boxes.
"""

from collections.abc import Callable
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.image_paths import split_of
from shardkit.sources.detection.paired_files import FolderPair
from shardkit.sources.detection.paired_texts import PairedTexts, has_lines
from shardkit.sources.detection.rows import (
    NUMBER,
    Annotation,
    Object,
    counted,
    detection_schema,
    encodable,
    number_problem,
)
from shardkit.sources.listing import count_skipped
from shardkit.sources.walking import folders_in, is_folder, join
from shardkit.storage import Folder

_CLASSES = (
    *("pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor"),
    "others",
)
_VISDRONE_FIELDS = 8
_NUM_CORNERS = 8  # numbers of four corners
_DOTA_FIELDS = (9, 10)  # without or with the difficulty
_DOTA_HEADER = ("imagesource", "gsd")


def _visdrone(line: str, found: Annotation) -> Object | str | None:
    """Return the object of a line, why it is bad, or None if it is left out."""
    fields = line.rstrip(",").split(",")
    if len(fields) != _VISDRONE_FIELDS:
        return f"{counted(len(fields), 'field')}, where an object has {_VISDRONE_FIELDS}"
    if problem := number_problem(map(str.strip, fields)):
        return problem
    left, top, width, height, score, category = map(float, fields[:6])
    if score == 0 or category == 0:
        count_skipped(found.left_out, "regions to ignore")
        return None
    if not category.is_integer() or not 1 <= category <= len(_CLASSES):
        return f"the category {category:g} is none of 0 to {len(_CLASSES)}"
    return {"bbox": [top, left, top + height, left + width], "label_name": _CLASSES[int(category) - 1]}


def _dota(line: str, found: Annotation) -> Object | str | None:
    """Return the object of a line, why it is bad, or None if it is part of the header."""
    del found
    fields = line.split()
    if line.partition(":")[0].lower() in _DOTA_HEADER:
        return None
    if len(fields) not in _DOTA_FIELDS:
        return f"{counted(len(fields), 'field')}, where an object has {_DOTA_FIELDS[-1]}"
    if problem := number_problem(fields[:_NUM_CORNERS]):
        return problem
    numbers = list(map(float, fields[:_NUM_CORNERS]))
    xs, ys = numbers[::2], numbers[1::2]
    return {"bbox": [min(ys), min(xs), max(ys), max(xs)], "label_name": encodable(fields[_NUM_CORNERS])}


def _is_visdrone(line: str) -> bool:
    fields = line.rstrip(",").split(",")
    return len(fields) == _VISDRONE_FIELDS and all(NUMBER.fullmatch(one.strip()) for one in fields)


def _is_dota(line: str) -> bool:
    fields = line.split()
    is_header = line.partition(":")[0].lower() in _DOTA_HEADER and ":" in line
    return is_header or (
        len(fields) in _DOTA_FIELDS
        and all(map(NUMBER.fullmatch, fields[:_NUM_CORNERS]))
        and not NUMBER.fullmatch(fields[_NUM_CORNERS])
    )


@dataclass(frozen=True, slots=True)
class _Format:
    """A format: the folders of its texts, what a line of it is, and what the user should know."""

    title: str
    folders: tuple[str, ...]
    is_line: Callable[[str], bool]
    object_of: Callable[[str, Annotation], Object | str | None]
    note: str


# By name, because a function cannot be sent to a worker.
_FORMATS = {
    one.title: one
    for one in (
        _Format("VisDrone", ("annotations",), _is_visdrone, _visdrone, "regions to ignore are left out"),
        _Format("DOTA", ("labelTxt", "labelTxt-v1.0", "labelTxt-v1.5"), _is_dota, _dota, "boxes enclose turned boxes"),
    )
}


@dataclass(frozen=True, slots=True)
class BoxTexts(PairedTexts):
    """A source of such text files.

    Attributes:
        folder: Root of the source.
        groups: The folders of images with text files.
        title: Name of the format.
    """

    folder: Folder
    groups: tuple[FolderPair, ...]
    title: str

    layout = LAYOUTS["box-text"].title
    schema = detection_schema(())

    @property
    def note(self) -> str:
        """See PairedTexts."""
        return f"texts of {self.title}; {_FORMATS[self.title].note}"

    def object_of(self, line: str, found: Annotation) -> Object | str | None:
        """See PairedTexts."""
        return _FORMATS[self.title].object_of(line, found)


def is_box_texts(folder: Folder) -> bool:
    """Return whether a folder has such text files, judging by names and the first lines of a few files."""
    return _find(folder) is not None


def _find(folder: Folder) -> tuple[str, tuple[FolderPair, ...]] | None:
    bases = ["", *(name for name in folders_in(folder) if split_of(name))]
    for one in _FORMATS.values():
        found = [
            FolderPair(join(base, "images"), join(base, name), split_of(base) if base else None)
            for base in bases
            if is_folder(folder, join(base, "images"))
            for name in one.folders
            if has_lines(folder, join(base, name), one.is_line)
        ]
        if len({pair.images for pair in found}) == len(found) > 0:
            return one.title, tuple(found)
    return None


def open_box_texts(opening: Opening) -> BoxTexts:
    """Find the text files and their images.

    Raises:
        DataError: There are none.
    """
    found = _find(opening.folder)
    if found is None:
        msg = (
            f"{opening.folder.url}: there are no text files of VisDrone (annotations/*.txt) or DOTA (labelTxt/*.txt) "
            "next to images/"
        )
        raise DataError(msg)
    return BoxTexts(opening.folder, found[1], found[0])
