"""Build the rows that the detection layouts list, with the texts and counts in them."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shardkit.reject_reasons import BAD_ANNOTATION, MISSING
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, LISTING_SCHEMA, UNMEASURED, objects_field
from shardkit.sources.listing import (
    ListingRow,
    RecordProblem,
    count_skipped,
    encodable_path,
    rejected_row,
    unicode_problem,
)
from shardkit.storage import Entry

Object = dict[str, Any]
Size = tuple[int | None, int | None]
# float() also accepts 1_000, infinity and the digits of other scripts.
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_KEPT = "; the image is kept"
_SHOWN = 80  # characters of a bad field


@dataclass(slots=True)
class Annotation:
    """What an annotation file says about one image.

    Attributes:
        image: The image's path or name as written; '' if the file gives none.
        size: Width and height that the boxes refer to: pixels, (0, 0) if boxes are fractions of the sides, None if the
            file does not give them: then they are the image's.
        objects: Fields of each good object.
        problems: The bad objects; the key is the object's name in the file, such as "line 3".
        left_out: Number of shapes that are not read, by a phrase for the user.
        attributes: Classes of the whole image, by the name of what gives them.
        file: Path of the file, if it is about this image only.
    """

    image: str = ""
    size: Size = (None, None)
    objects: list[Object] = field(default_factory=list)
    problems: list[RecordProblem] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, list[str]] = field(default_factory=dict)
    file: str = ""

    def add_line_problem(self, line: int, what: str) -> None:
        """Add a bad line of a text file with one object per line."""
        self.problems.append(RecordProblem(f"line {line}", BAD_ANNOTATION, what))


def detection_schema(extra: Sequence[pa.Field]) -> pa.Schema:
    """Return LISTING_SCHEMA with the objects, their further fields, and the size in pixels that boxes refer to."""
    return pa.schema([*LISTING_SCHEMA, objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT])


def image_row(
    key: str, split: str | None, entry: Entry | None, objects: Sequence[Object], size: Size, *more: Any
) -> ListingRow:
    """Return the row of a good image.

    Args:
        key: The image's path.
        split: The source's own split.
        entry: The image's file; None if it is not looked up.
        objects: Fields of each object, as dicts; empty for background.
        size: Width and height that the boxes refer to; see Annotation.
        more: Values of the columns after those of detection_schema.
    """
    num_bytes, mtime_ns = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
    return ListingRow(key, split, None, num_bytes, mtime_ns, extra=(list(objects), *size, *more))


def annotated_rows(
    row: ListingRow, found: Annotation, path: str, skipped: dict[str, int], advice: str = ""
) -> Iterator[ListingRow]:
    """Yield an image's row, then rows of its bad objects, and count what is left out.

    Args:
        row: Row of the image.
        found: What the annotation file says about the image.
        path: The annotation file.
        skipped: Counts of skipped files.
        advice: End of the message of a bad object.
    """
    for kind, count in found.left_out.items():
        count_skipped(skipped, kind, count)
    yield row
    for name, reason, message in found.problems:
        problem = RecordProblem(encodable_path(f"{path}, {name}"), reason, f"{message}{_KEPT}{advice}")
        yield rejected_row(problem, row.split)


def rejected_image(path: str, split: str | None, entry: Entry, reason: str, message: str) -> ListingRow:
    """Return the row of a bad image; that its path cannot be stored counts before the reason."""
    return rejected_row(unicode_problem(path) or RecordProblem(path, reason, message), split, entry)


def rejected_file(path: str, split: str | None, message: str, reason: str = MISSING) -> ListingRow:
    """Return the row of an annotation file without image."""
    return rejected_row(RecordProblem(encodable_path(path), reason, message), split)


def number_problem(texts: Iterable[str]) -> str | None:
    """Return which field of a text file is not a finite number; None if all are."""
    for text in texts:
        if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            return f"{text[:_SHOWN]!r} is not a finite number"
    return None


def encodable(text: str) -> str:
    """Return the text with lone surrogates escaped: JSON and YAML can contain them, and no table can store them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def counted(number: int, what: str) -> str:
    """Return a number with its noun: ``1 file``, ``2 files``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
