"""Columns of an inventory, and the rows that are rejected."""

from typing import NamedTuple

import pyarrow as pa

from shardkit.inventory.columns import MASK_PATH
from shardkit.sources.listing import LISTING_SCHEMA

HAS_GPS = pa.field("has_gps", pa.bool_())  # whether the file's metadata holds a GPS position
# Null if the file was not opened (`--check header`) or is rejected.
CHECKED_FIELDS = [
    pa.field("format", pa.string()),
    pa.field("width", pa.int32()),  # pixels, as stored
    pa.field("height", pa.int32()),
    pa.field("orientation", pa.int8()),  # EXIF's 1 to 8
    pa.field("changes", pa.string()),  # what normalisation will change, separated by commas
    HAS_GPS,
    pa.field("content_sha256", pa.binary(32)),
    pa.field("content_crc32c", pa.int64()),  # lets the writer check cheaply that the file has not changed
]
MASK_SHA256 = pa.field("mask_sha256", pa.binary(32))  # only in layouts with masks

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


def inventory_schema(listing_schema: pa.Schema) -> pa.Schema:
    """Return the columns of a source's inventory: those of its listings, and the results of checking."""
    masks = [MASK_SHA256] if MASK_PATH in listing_schema.names else []
    return pa.schema([*listing_schema, *CHECKED_FIELDS, *masks])
