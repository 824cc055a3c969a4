"""Columns of an inventory, and the rows that are rejected."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from shardkit.conversion.inventory.columns import MASK_PATH, OBJECTS
from shardkit.images.info import ImageInfo
from shardkit.sources.columns import (
    CHECKED_FIELDS,
    HAS_GPS,
    LAST_CLASS,
    LISTING_SCHEMA,
    MASK_SHA256,
    NUM_CLIPPED,
    THUMBNAIL,
)

__all__ = [
    "HAS_GPS",
    "INVENTORY_SCHEMA",
    "LAST_CLASS",
    "MASK_SHA256",
    "REJECTED_SCHEMA",
    "Reject",
    "info_of",
    "inventory_schema",
]

INVENTORY_SCHEMA = pa.schema([*LISTING_SCHEMA, *CHECKED_FIELDS])

REJECTED_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("source_bytes", pa.int64(), nullable=False),
    ]
)


class Reject(NamedTuple):
    """A rejected file or, with 0 bytes, a rejected annotation of a file; a row of REJECTED_SCHEMA."""

    key: str
    reason: str
    message: str
    source_bytes: int
    split: str | None = None  # the source's own, of a file that reading has rejected
    facts: str | None = None  # what else the source says of that file, as a JSON object of a listing's columns


def info_of(row: Mapping[str, Any]) -> ImageInfo:
    """Return what checking found in the header of a row's image."""
    changes = tuple(row["changes"].split(",")) if row["changes"] else ()
    return ImageInfo(row["format"], row["width"], row["height"], row["orientation"], changes)


def inventory_schema(listing_schema: pa.Schema, *, thumbnails: bool = False) -> pa.Schema:
    """Return the columns of a source's inventory: those of its listings, and the results of checking."""
    masks = [MASK_SHA256, LAST_CLASS] if MASK_PATH in listing_schema.names else []
    boxes = [NUM_CLIPPED] if OBJECTS in listing_schema.names else []
    pictures = [THUMBNAIL] if thumbnails else []
    more = [field for field in (*CHECKED_FIELDS, *masks, *boxes, *pictures) if field.name not in listing_schema.names]
    return pa.schema([*listing_schema, *more])
