"""Formats whose file is about one image; the file or the reading says which."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import ImageRecord, Object, Options, Size

# The object of a line, why it is bad, or None if it is none; counts in the record what is left out.
ObjectOfLine: TypeAlias = Callable[[str, ImageRecord, Options], "Object | str | None"]
JSON_BYTES = 64 << 20  # 64 MiB: a JSON file may hold the image itself
_ADVICE = "; correct the line, or remove it"


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """A format with one file for each image."""

    name: str
    title: str
    ending: str  # usual ending of its files
    # Function from a file's content to what it says; `bad` is set if it cannot be read
    parse: Callable[[bytes, Options], ImageRecord]
    sniff: Callable[[bytes], bool]  # returns whether the beginning of a file is of the format
    object_fields: tuple[pa.Field, ...] = ()
    advice: str = ""  # end of the message of a bad object
    note: str = ""  # what the user should know about what is read; '' for nothing
    missing: str = "restore it, or remove the file"  # what to do if a file's image is not there
    # Why a file with classes of the whole image only gives no boxes; '' if it gives an image without any
    of_classes: str = ""
    side_files: frozenset[str] = frozenset()  # names of files with its ending that are none of its files
    numbers_classes: bool = False  # whether classes are numbers, which another file names
    settings: frozenset[str] = frozenset()
    # Size above which a file is not read
    max_bytes: int = 16 << 20  # 16 MiB for the annotations of one image


def line_format(
    name: str,
    title: str,
    are_lines: Callable[[list[str]], bool],
    object_of: ObjectOfLine,
    size: Size = (None, None),
    **settings: Any,
) -> ImageFormat:
    """Return a format of text with an object a line."""
    is_head = partial(_has_lines, are_lines)
    parse = partial(_parse_lines, object_of, size)
    return ImageFormat(name, title, ".txt", parse, is_head, advice=_ADVICE, **settings)


def lines_of(head: bytes) -> list[str]:
    """Return the lines at the beginning of a file that are not empty."""
    text = head.decode("utf-8-sig", "replace")
    return [line.strip() for line in text.split("\n") if line.strip()]


def _has_lines(are_lines: Callable[[list[str]], bool], head: bytes) -> bool:
    lines = lines_of(head)
    return bool(lines) and are_lines(lines)


def _parse_lines(object_of: ObjectOfLine, size: Size, data: bytes, options: Options) -> ImageRecord:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(lines) > MAX_OBJECTS + 1:
        return ImageRecord(bad=f"it has {len(lines) - 1:,} lines, more than {MAX_OBJECTS:,}")
    record = ImageRecord(size=size)
    for number, raw in enumerate(lines, 1):
        line = raw.decode("utf-8", "replace").strip()
        found = object_of(line, record, options) if line else None
        if isinstance(found, str):
            record.add_line_problem(number, found)
        elif found is not None:
            record.objects.append({**found, "name": f"line {number}"})
    return record
