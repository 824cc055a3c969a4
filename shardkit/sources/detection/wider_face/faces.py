"""Parse a list of WIDER FACE: for each image its path, the number of faces, and a line per face.

    0--Parade/0_Parade_marchingband_1_849.jpg
    1
    449 330 122 149 0 0 0 0 0 0

A face is x, y, width, height in pixels, blur, expression, illumination, invalid, occlusion, pose. An image without
faces has the number 0 and, after it, one line of zeros.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shardkit.sources.detection.rows import Object, counted
from shardkit.sources.listing import IMAGE_ENDINGS, MAX_OBJECTS, ending
from shardkit.sources.tables.formats.lines import Line

FACE = "face"
ATTRIBUTES = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")
_NUM_FIELDS = 4 + len(ATTRIBUTES)
_SHOWN = 80  # characters of a bad line


@dataclass(slots=True)
class Faces:
    """An image of a list: the line of its path, its path, its faces, and (line, what is wrong) of bad lines."""

    line: int
    path: str
    objects: list[Object] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse_faces(lines: Iterable[Line]) -> Iterator[Faces]:
    """Yield the images of a list; lines before the first path belong to an image with the path ''."""
    image, wanted, num_seen = Faces(0, ""), 0, 0
    for line in lines:
        text = line.text.strip()
        if not text:
            continue
        if line.problem is None and _is_path(text):
            yield from _finished(image, wanted, num_seen)
            image, wanted, num_seen = Faces(line.number, text), -1, 0
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


def _finished(image: Faces, wanted: int, num_seen: int) -> Iterator[Faces]:
    if image.path and wanted < 0:
        image.problems.append((image.line, "no number of faces follows the path"))
    elif image.path and wanted != num_seen and not (wanted == 0 and num_seen <= 1):
        image.problems.append((image.line, f"{counted(num_seen, 'face')} follow the path, but the count is {wanted:,}"))
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
        attributes = dict(zip(ATTRIBUTES, map(int, fields[4:]), strict=True))
    except ValueError:
        return f"{text[:_SHOWN]!r} has a field that is no number"
    return {"bbox": [y, x, y + height, x + width], "label_name": FACE, **attributes}
