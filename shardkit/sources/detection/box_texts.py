"""A text file of boxes for each image: VisDrone's ``annotations/`` and DOTA's ``labelTxt/`` next to ``images/``.

Those of ICDAR and of WIDER Person are known by their content: they are next to a folder of images, or with the images.

A line of VisDrone is an object of eight numbers with commas, as in the toolkit of the challenge: left, top, width,
height, score, category, truncation, occlusion. Category 0 is a region to ignore, and so is an object with score 0; they
are left out. Category 11 is a class, ``others``.

A line of DOTA is an object of four corners, its class and its difficulty; lines of ``imagesource:`` and ``gsd:`` come
first. The box encloses the corners, because shardkit stores no turned boxes.

A line of ICDAR, in ``gt_img_1.txt`` of ``img_1.jpg``, is a text of four corners with commas. All texts are of one
class; a text of ``###`` cannot be read by people and is left out.

The first line of WIDER Person, in ``1.jpg.txt``, is the number of the others, each a class and two corners. Class 4 is
a region to ignore, as the dataset's page says.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import counted
from shardkit.sources.context import Opening
from shardkit.sources.detection.image_paths import split_of
from shardkit.sources.detection.paired_files import FolderPair
from shardkit.sources.detection.paired_texts import PairedTexts, texts_in
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.record import NUMBER, ImageRecord, Object, encodable, number_problem
from shardkit.sources.listing import count_skipped
from shardkit.sources.walking import children, files_in, folders_in, is_folder, is_image, join
from shardkit.storage import Folder

_CLASSES = (
    *("pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor"),
    "others",
)
_VISDRONE_FIELDS = 8
_NUM_CORNERS = 8  # numbers of four corners
_DOTA_FIELDS = (9, 10)  # without or with the difficulty
_DOTA_HEADER = ("imagesource", "gsd")
_UNREADABLE = "###"
_NUMBERS = re.compile(r"[-+.,0-9\s]*")
# Classes of WIDER Person by number, from 1; None for regions to ignore.
_PEOPLE = ("pedestrians", "riders", "partially-visible persons", None, "crowd")
_NAME = re.compile(r"(?:gt_)?(?P<stem>.+?)(?:\.(?:jpe?g|png|bmp))?", re.IGNORECASE)  # of a text, without its ending
_MAX_FOLDERS = 12  # folders next to each other that may hold images and texts
_NUM_MATCHED = 8  # texts whose images are looked up


def _visdrone(line: str, found: ImageRecord) -> Object | str | None:
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


def _dota(line: str, found: ImageRecord) -> Object | str | None:
    """Return the object of a line, why it is bad, or None if it is part of the header."""
    del found
    fields = line.split()
    if line.partition(":")[0].lower() in _DOTA_HEADER:
        return None
    if len(fields) not in _DOTA_FIELDS:
        return f"{counted(len(fields), 'field')}, where an object has {_DOTA_FIELDS[-1]}"
    if problem := number_problem(fields[:_NUM_CORNERS]):
        return problem
    return {"bbox": _around(fields), "label_name": encodable(fields[_NUM_CORNERS])}


def _icdar(line: str, found: ImageRecord) -> Object | str | None:
    """Return the text of a line, why it is bad, or None if it is left out."""
    fields = line.split(",", _NUM_CORNERS)
    if problem := number_problem(map(str.strip, fields[:_NUM_CORNERS])):
        return f"four corners need {_NUM_CORNERS} numbers: {problem}"
    if len(fields) <= _NUM_CORNERS:
        return f"{counted(len(fields), 'field')}, where a text has {_NUM_CORNERS} numbers and its characters"
    if fields[-1].rpartition(",")[2].strip() == _UNREADABLE:
        count_skipped(found.left_out, "texts that cannot be read (###)")
        return None
    return {"bbox": _around(fields), "label_name": "text"}


def _around(fields: Sequence[str]) -> list[float]:
    numbers = list(map(float, fields[:_NUM_CORNERS]))
    xs, ys = numbers[::2], numbers[1::2]
    return [min(ys), min(xs), max(ys), max(xs)]


def _wider_person(line: str, found: ImageRecord) -> Object | str | None:
    """Return the person of a line, why it is bad, or None if it is left out."""
    fields = line.split()
    if len(fields) == 1 and not found.objects and fields[0].isdecimal():
        return None  # the number of lines
    if len(fields) != len(_PEOPLE) or not fields[0].isdecimal():
        return f"{counted(len(fields), 'field')}, where a person has a class and {len(_PEOPLE) - 1} numbers"
    if problem := number_problem(fields):
        return problem
    if not 1 <= int(fields[0]) <= len(_PEOPLE):
        return f"the class {fields[0]} is none of 1 to {len(_PEOPLE)}"
    label = _PEOPLE[int(fields[0]) - 1]
    if label is None:
        count_skipped(found.left_out, "regions to ignore")
        return None
    left, top, right, bottom = map(float, fields[1:])
    return {"bbox": [top, left, bottom, right], "label_name": label}


def _are_icdar(lines: Sequence[str]) -> bool:
    """Return whether lines are four corners and a text, and not all of them numbers only, as of other formats."""
    fields = [line.split(",", _NUM_CORNERS) for line in lines[:-1] or lines]  # the last one may be cut
    corners = [all(NUMBER.fullmatch(one.strip()) for one in line[:_NUM_CORNERS]) for line in fields]
    return corners[0] and any(len(one) > _NUM_CORNERS and not _NUMBERS.fullmatch(one[-1]) for one in fields)


def _are_wider_person(lines: Sequence[str]) -> bool:
    """Return whether lines are their number and persons whose corners are not exchanged."""
    people = [line.split() for line in lines[1:]]
    if not lines[0].isdecimal() or len(people) != int(lines[0]) or not people:
        return False
    return all(
        len(one) == len(_PEOPLE)
        and all(map(str.isdecimal, one))
        and 1 <= int(one[0]) <= len(_PEOPLE)
        and int(one[1]) < int(one[3])
        and int(one[2]) < int(one[4])
        for one in people
    )


def _are_visdrone(lines: Sequence[str]) -> bool:
    fields = lines[0].rstrip(",").split(",")
    return len(fields) == _VISDRONE_FIELDS and all(NUMBER.fullmatch(one.strip()) for one in fields)


def _are_dota(lines: Sequence[str]) -> bool:
    line, fields = lines[0], lines[0].split()
    is_header = line.partition(":")[0].lower() in _DOTA_HEADER and ":" in line
    return is_header or (
        len(fields) in _DOTA_FIELDS
        and all(map(NUMBER.fullmatch, fields[:_NUM_CORNERS]))
        and not NUMBER.fullmatch(fields[_NUM_CORNERS])
    )


@dataclass(frozen=True, slots=True)
class _Format:
    """A format.

    Attributes:
        title: Its name in descriptions.
        folders: The folders of its texts next to images/; () if folders are known by their content.
        are_lines: Function that returns whether the first lines of a text are of the format.
        object_of: Function that returns the object of a line.
        note: What the user should know.
    """

    title: str
    folders: tuple[str, ...]
    are_lines: Callable[[Sequence[str]], bool]
    object_of: Callable[[str, ImageRecord], Object | str | None]
    note: str


# By name, because a function cannot be sent to a worker.
_FORMATS = {
    one.title: one
    for one in (
        _Format("VisDrone", ("annotations",), _are_visdrone, _visdrone, "regions to ignore are left out"),
        _Format("DOTA", ("labelTxt", "labelTxt-v1.0", "labelTxt-v1.5"), _are_dota, _dota, "boxes enclose turned boxes"),
        _Format("ICDAR", (), _are_icdar, _icdar, "boxes enclose the corners of texts, whose characters are left out"),
        _Format("WIDER Person", (), _are_wider_person, _wider_person, "regions to ignore are left out"),
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

    def image_stem(self, stem: str) -> str:
        """See PairedTexts."""
        return _stem_of(stem)

    def object_of(self, line: str, found: ImageRecord) -> Object | str | None:
        """See PairedTexts."""
        return _FORMATS[self.title].object_of(line, found)


def is_box_texts(folder: Folder) -> bool:
    """Return whether a folder has such text files, judging by names and the first lines of a few files."""
    return _find(folder) is not None


def _stem_of(stem: str) -> str:
    """Return the stem of an image from that of its text: ``gt_img_1`` and ``img_1.jpg`` are ``img_1``'s."""
    name = _NAME.fullmatch(stem)
    return name["stem"] if name else stem


def _find(folder: Folder) -> tuple[str, tuple[FolderPair, ...]] | None:
    bases = ["", *(name for name in folders_in(folder) if split_of(name))]
    for one in _FORMATS.values():
        find = _named_pairs if one.folders else _pairs_by_content
        found = list(dict.fromkeys(pair for base in bases for pair in find(folder, base, one)))
        if len({pair.images for pair in found}) == len(found) > 0:
            return one.title, tuple(found)
    return None


def _named_pairs(folder: Folder, base: str, kind: _Format) -> Iterator[FolderPair]:
    images = join(base, "images")
    for name in kind.folders if is_folder(folder, images) else ():
        if _has_texts(folder, join(base, name), kind):
            yield FolderPair(images, join(base, name), split_of(base) if base else None)


def _pairs_by_content(folder: Folder, base: str, kind: _Format) -> Iterator[FolderPair]:
    """Yield folders of texts with the folder next to them, or the same, that has images of most of their names."""
    places = [base, *(join(base, name) for name in folders_in(folder, base))]
    for texts in places if len(places) <= _MAX_FOLDERS else ():
        if not _has_texts(folder, texts, kind):
            continue
        stems = [_stem_of(posixpath.splitext(posixpath.basename(path))[0]) for path in files_in(folder, texts, ".txt")]
        for images in places:
            names = (one.name for one in children(folder, images) if not one.is_folder and is_image(one.name))
            there = {posixpath.splitext(name)[0] for name in names}
            if 2 * len(there.intersection(stems[:_NUM_MATCHED])) > len(stems[:_NUM_MATCHED]):
                yield FolderPair(images, texts, split_of(images) if images else None)


def _has_texts(folder: Folder, path: str, kind: _Format) -> bool:
    return any(kind.are_lines(lines) for lines in islice(texts_in(folder, path), 1))


def open_box_texts(opening: Opening) -> BoxTexts:
    """Find the text files and their images.

    Raises:
        DataError: There are none.
    """
    found = _find(opening.folder)
    if found is None:
        msg = (
            f"{opening.folder.url}: there are no text files of VisDrone (annotations/*.txt) or DOTA (labelTxt/*.txt) "
            "next to images/, nor of ICDAR or WIDER Person with images of their names"
        )
        raise DataError(msg)
    return BoxTexts(opening.folder, found[1], found[0])
