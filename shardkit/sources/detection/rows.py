"""Build the rows that the detection layouts list, with the texts and counts in them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shardkit.sources.listing import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    LISTING_SCHEMA,
    ListingRow,
    objects_field,
)
from shardkit.storage import Entry

Object = dict[str, Any]


def detection_schema(extra: Sequence[pa.Field]) -> pa.Schema:
    """Return LISTING_SCHEMA with the objects, their further fields, and the size in pixels that boxes refer to."""
    return pa.schema([*LISTING_SCHEMA, objects_field(extra), ANNOTATED_WIDTH, ANNOTATED_HEIGHT])


def image_row(
    key: str, split: str | None, entry: Entry, objects: Sequence[Object], size: tuple[int | None, int | None]
) -> ListingRow:
    """Return the row of a good image.

    Args:
        key: The image's path.
        split: The source's own split.
        entry: The image's file.
        objects: Fields of each object, as dicts; empty for background.
        size: Width and height that the boxes refer to: pixels, (0, 0) if boxes are fractions of the sides, None if the
            label file does not give them: then they are the image's.
    """
    return ListingRow(key, split, None, entry.num_bytes, entry.mtime_ns, extra=(list(objects), *size))


def encodable(text: str) -> str:
    """Return the text with lone surrogates escaped: JSON and YAML can contain them, and no table can store them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def counted(number: int, what: str) -> str:
    """Return a number with its noun: ``1 file``, ``2 files``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
