"""A text file of boxes for each image, an object a line: KITTI, VisDrone, DOTA, ICDAR, WIDER Person.

A line of KITTI is an object of 15 fields, or 16 with a score, as in its object development kit: type, truncated,
occluded, alpha, the box (left, top, right, bottom) in pixels, and seven numbers in three dimensions, which are left
out.

A line of VisDrone is an object of eight numbers with commas, as in the toolkit of the challenge: left, top, width,
height, score, category, truncation, occlusion. Category 0 is a region to ignore, and so is an object with score 0; they
are left out. Category 11 is a class, ``others``.

A line of DOTA is an object of four corners, its class and its difficulty; lines of ``imagesource:`` and ``gsd:`` come
first. The box encloses the corners, because shardkit stores no turned boxes.

A line of ICDAR, in ``gt_img_1.txt`` of ``img_1.jpg``, is a text of four corners with commas. All texts are of one
class; a text of ``###`` cannot be read by people and is left out.

The first line of WIDER Person, in ``1.jpg.txt``, is the number of the others, each a class and two corners. Class 4 is
a region to ignore, as the dataset's page says.

WIDER FACE's lists are of many images: the path of each, the number of faces, and a line per face: x, y, width, height
in pixels, and six attributes. An image without faces has the number 0 and, after it, one line of zeros.

    0--Parade/0_Parade_marchingband_1_849.jpg
    1
    449 330 122 149 0 0 0 0 0 0
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

import pyarrow as pa

from shardkit.naming import IMAGE_ENDINGS, counted
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import (
    NUMBER,
    Format,
    ImageRecord,
    Object,
    Options,
    encodable,
    line_format,
    number_problem,
)
from shardkit.sources.formats.tables.lines import MAX_LINE_BYTES
from shardkit.sources.walking import ending

_CLASSES = (
    *("pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor"),
    "others",
)
_VISDRONE_FIELDS = (8,)
_NUM_CORNERS = 8  # numbers of four corners
_DOTA_FIELDS = (9, 10)  # without or with the difficulty
_DOTA_HEADER = ("imagesource", "gsd")
_UNREADABLE = "###"
_NUMBERS = re.compile(r"[-+.,0-9\s]*")
# Classes of WIDER Person by number, from 1; None for regions to ignore.
_PEOPLE = ("pedestrians", "riders", "partially-visible persons", None, "crowd")
_DONT_CARE = "DontCare"  # regions without labels, not objects; TFDS leaves them out too
_KITTI_FIELDS = (16, 15)  # with and without a score


def _fields(line: str, separator: str | None, widths: Sequence[int], numbers: slice, what: str) -> list[str] | str:
    """Return the fields of a line, or why it has others than it should."""
    fields = [one.strip() for one in line.split(separator)]
    if len(fields) not in widths:
        return f"{counted(len(fields), 'field')}, where {what} has {widths[-1]}"
    return number_problem(fields[numbers]) or fields


def _kitti(line: str, record: ImageRecord, options: Options) -> Object | str | None:
    if line.split(maxsplit=1)[0] == _DONT_CARE:
        record.leave_out("DontCare regions")
        return None
    if isinstance(fields := _fields(line, None, _KITTI_FIELDS, slice(1, None), "an object"), str):
        return fields
    truncated, occluded, alpha, left, top, right, bottom = map(float, fields[1:8])
    return {
        "bbox": [top, left, bottom, right],
        "label_name": fields[0],
        "truncated": truncated,
        "occluded": int(occluded),
        "alpha": alpha,
    }


def _are_kitti(lines: Sequence[str]) -> bool:
    fields = _fields(lines[0], None, _KITTI_FIELDS, slice(1, None), "")
    return not isinstance(fields, str) and not NUMBER.fullmatch(fields[0])


def _visdrone(line: str, record: ImageRecord, options: Options) -> Object | str | None:
    if isinstance(fields := _fields(line.rstrip(","), ",", _VISDRONE_FIELDS, slice(None), "an object"), str):
        return fields
    left, top, width, height, score, category = map(float, fields[:6])
    if score == 0 or category == 0:
        record.leave_out("regions to ignore")
        return None
    if not category.is_integer() or not 1 <= category <= len(_CLASSES):
        return f"the category {category:g} is none of 0 to {len(_CLASSES)}"
    return {"bbox": [top, left, top + height, left + width], "label_name": _CLASSES[int(category) - 1]}


def _dota(line: str, record: ImageRecord, options: Options) -> Object | str | None:
    if line.partition(":")[0].lower() in _DOTA_HEADER:
        return None
    if isinstance(fields := _fields(line, None, _DOTA_FIELDS, slice(_NUM_CORNERS), "an object"), str):
        return fields
    return {"bbox": _around(fields), "label_name": encodable(fields[_NUM_CORNERS])}


def _icdar(line: str, record: ImageRecord, options: Options) -> Object | str | None:
    fields = line.split(",", _NUM_CORNERS)
    if problem := number_problem(map(str.strip, fields[:_NUM_CORNERS])):
        return f"four corners need {_NUM_CORNERS} numbers: {problem}"
    if len(fields) <= _NUM_CORNERS:
        return f"{counted(len(fields), 'field')}, where a text has {_NUM_CORNERS} numbers and its characters"
    if fields[-1].rpartition(",")[2].strip() == _UNREADABLE:
        record.leave_out("texts that cannot be read (###)")
        return None
    return {"bbox": _around(fields), "label_name": "text"}


def _around(fields: Sequence[str]) -> list[float]:
    numbers = list(map(float, fields[:_NUM_CORNERS]))
    xs, ys = numbers[::2], numbers[1::2]
    return [min(ys), min(xs), max(ys), max(xs)]


def _wider_person(line: str, record: ImageRecord, options: Options) -> Object | str | None:
    fields = line.split()
    if len(fields) == 1 and not record.objects and fields[0].isdecimal():
        return None  # the number of lines
    if len(fields) != len(_PEOPLE) or not fields[0].isdecimal():
        return f"{counted(len(fields), 'field')}, where a person has a class and {len(_PEOPLE) - 1} numbers"
    if problem := number_problem(fields):
        return problem
    if not 1 <= int(fields[0]) <= len(_PEOPLE):
        return f"the class {fields[0]} is none of 1 to {len(_PEOPLE)}"
    label = _PEOPLE[int(fields[0]) - 1]
    if label is None:
        record.leave_out("regions to ignore")
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
    return not isinstance(_fields(lines[0].rstrip(","), ",", _VISDRONE_FIELDS, slice(None), ""), str)


def _are_dota(lines: Sequence[str]) -> bool:
    line, fields = lines[0], _fields(lines[0], None, _DOTA_FIELDS, slice(_NUM_CORNERS), "")
    is_header = line.partition(":")[0].lower() in _DOTA_HEADER and ":" in line
    return is_header or (not isinstance(fields, str) and not NUMBER.fullmatch(fields[_NUM_CORNERS]))


KITTI = line_format(
    "kitti",
    "KITTI",
    _are_kitti,
    _kitti,
    object_fields=(
        pa.field("truncated", pa.float32()),
        pa.field("occluded", pa.int64()),
        pa.field("alpha", pa.float32()),
    ),
    note="DontCare regions and 3D values are left out",
)
_IGNORED = "regions to ignore are left out"
VISDRONE = line_format("visdrone", "VisDrone", _are_visdrone, _visdrone, note=_IGNORED)
DOTA = line_format("dota", "DOTA", _are_dota, _dota, note="boxes enclose turned boxes")
ICDAR = line_format(
    "icdar", "ICDAR", _are_icdar, _icdar, note="boxes enclose the corners of texts, whose characters are left out"
)
WIDER_PERSON = line_format("wider-person", "WIDER Person", _are_wider_person, _wider_person, note=_IGNORED)


_FACE = "face"
_ATTRIBUTES = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")
_NUM_FIELDS = 4 + len(_ATTRIBUTES)
_SHOWN = 80  # characters of a bad line
_ADVICE = "; correct the line, or download the list again"


class _WiderFace(Format):
    """WIDER FACE's lists; the one class is ``face``."""

    name = "wider-face"
    title = "WIDER FACE's list"
    noun = "line"
    object_fields = tuple(pa.field(name, pa.int64()) for name in _ATTRIBUTES)
    note = "one class, 'face'"

    def classes(self, file: BinaryIO, name: str, options: Options) -> Mapping[int, str]:
        return {0: _FACE}

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        """See Format; lines before the first path belong to a record without image."""
        record, wanted, num_seen, number = ImageRecord(), 0, 0, 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
            if not text:
                continue
            if ending(text) in IMAGE_ENDINGS:
                yield from _finished(record, wanted, num_seen)
                record, wanted, num_seen = ImageRecord(text, number=number), -1, 0
            elif wanted < 0 and text.isascii() and text.isdecimal():
                wanted = int(text[:_SHOWN])
            else:
                num_seen += 1
                found = _face(text)
                if isinstance(found, str):
                    record.add_line_problem(number, found + _ADVICE)
                elif wanted != 0 and len(record.objects) <= MAX_OBJECTS:  # 0: the line of zeros
                    record.objects.append({**found, "name": f"line {number}"})
        yield from _finished(record, wanted, num_seen)


def _finished(record: ImageRecord, wanted: int, num_seen: int) -> Iterator[ImageRecord]:
    if record.image and wanted < 0:
        record.add_line_problem(record.number, f"no number of faces follows the path{_ADVICE}")
    elif record.image and wanted != num_seen and not (wanted == 0 and num_seen <= 1):
        what = f"{counted(num_seen, 'face')} follow the path, but the count is {wanted:,}"
        record.add_line_problem(record.number, what + _ADVICE)
    if record.image or record.problems:
        yield record


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


WIDER_FACE = _WiderFace()
