"""Parse WIDER FACE's lists: for each image its path, the number of faces, and a line per face.

    0--Parade/0_Parade_marchingband_1_849.jpg
    1
    449 330 122 149 0 0 0 0 0 0

A face is x, y, width, height in pixels, and six attributes. An image without faces has the number 0 and, after it, one
line of zeros.
"""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import pyarrow as pa

from shardkit.naming import IMAGE_ENDINGS, counted
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import Format, ImageRecord, Object, Options
from shardkit.sources.formats.tables.lines import MAX_LINE_BYTES
from shardkit.sources.walking import ending

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
            if _is_path(text):
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


WIDER_FACE = _WiderFace()
