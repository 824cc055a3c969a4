"""What the detection layouts share: their rows, and how rows become batches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from shardkit.sources.listing import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    LISTING_SCHEMA,
    Listing,
    objects_field,
)
from shardkit.storage import Entry

# Of one image: each object takes about a kilobyte while it is checked. The densest published photographs have a few
# thousand.
MAX_OBJECTS = 50_000

Row = tuple[Any, ...]
Object = dict[str, Any]


def detection_schema(extra: Sequence[pa.Field]) -> pa.Schema:
    """LISTING_SCHEMA, the objects with those extra fields, and the size in pixels that their boxes refer to."""
    return pa.schema([*LISTING_SCHEMA, objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT])


def image_row(
    key: str, split: str | None, entry: Entry, objects: Sequence[Object], size: tuple[int | None, int | None]
) -> Row:
    """A good image.

    Args:
        key: its path.
        split: as the source gives it.
        entry: the image's file.
        objects: dicts of the fields of `objects`; empty for background.
        size: width and height that the boxes refer to: pixels, (0, 0) for shares of the sides, None where the label
            file does not say it: then they are the image's.
    """
    return (key, split, None, entry.num_bytes, entry.mtime_ns, None, None, list(objects), *size)


def problem_row(key: str, split: str | None, reason: str, message: str, entry: Entry | None = None) -> Row:
    """A bad image, whose file is `entry`, or a bad record of a label file."""
    num_bytes, mtime_ns = (entry.num_bytes, entry.mtime_ns) if entry else (0, 0)
    return (key, split, None, num_bytes, mtime_ns, reason, message, None, None, None)


def batches(
    schema: pa.Schema, rows: Iterable[Row], batch_rows: int, skipped: Mapping[str, int] | None = None
) -> Iterator[Listing]:
    """Rows in batches of at most batch_rows, fewer if they have many objects; the first one tells what was skipped."""
    batch = Listing(schema, skipped=dict(skipped or {}))
    at, num_objects = schema.get_field_index("objects"), 0
    for row in rows:
        batch.rows.append(row)
        num_objects += len(row[at] or ())
        if len(batch.rows) == batch_rows or num_objects >= MAX_OBJECTS:
            yield batch
            batch, num_objects = Listing(schema), 0
    if batch.rows or batch.skipped:
        yield batch


def encodable(text: str) -> str:
    """The text with lone surrogates written out, which JSON and YAML can spell and no table can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def counted(number: int, what: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
