"""Build the rows of annotated images and of bad records, with the texts and counts in them."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from shardkit.reject_reasons import MISSING
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, UNMEASURED, objects_field
from shardkit.sources.file_names import encodable_path
from shardkit.sources.formats.record import ImageRecord, Object, Size
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, rejected_row, unicode_problem
from shardkit.storage import Entry

_KEPT = "; the image is kept"


def detection_fields(extra: Sequence[pa.Field]) -> tuple[pa.Field, ...]:
    """Return the columns of the objects, with their further fields, and of the size in pixels that boxes refer to."""
    return objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT


def image_row(
    key: str, split: str | None, entry: Entry | None, objects: Sequence[Object], size: Size, *more: Any
) -> ListingRow:
    """Return the row of a good image."""
    num_bytes, mtime_ns = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
    return ListingRow(key, split, None, num_bytes, mtime_ns, extra=(list(objects), *size, *more))


def annotated_rows(
    row: ListingRow | None, found: ImageRecord, path: str, skipped: dict[str, int], advice: str = ""
) -> Iterator[ListingRow]:
    """Yield an image's row, then rows of its bad objects, and count what is left out."""
    for kind, count in found.left_out.items():
        count_skipped(skipped, kind, count)
    if row is not None:
        yield row
    for name, reason, message in found.problems:
        kept = "" if row is None else _KEPT
        problem = RecordProblem(encodable_path(f"{path}, {name}"), reason, f"{message}{kept}{advice}")
        yield rejected_row(problem, None if row is None else row.split)


def rejected_image(path: str, split: str | None, entry: Entry, reason: str, message: str) -> ListingRow:
    """Return the row of a bad image; that its path cannot be stored counts before the reason."""
    return rejected_row(unicode_problem(path) or RecordProblem(path, reason, message), split, entry)


def rejected_file(path: str, split: str | None, message: str) -> ListingRow:
    """Return the row of an annotation file without image."""
    return rejected_row(RecordProblem(encodable_path(path), MISSING, message), split)
