"""The images of a PCollection: where they are, and how a shard's writer reads them.

An image with a URI is read again there. One that is given as bytes is normalised when it passes by, and its stored form
is appended to a file of many images. The row has what the inventory finds out about the image as it was given.
"""

from collections.abc import Mapping
from typing import Any

import google_crc32c
import pyarrow as pa

from shardkit import images
from shardkit.errors import MachineError
from shardkit.sources.columns import OFFSET, PATH
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.retry import retried

STORED_BYTES = pa.field("stored_bytes", pa.int64())  # of the image, at PATH and OFFSET
STORED_MASK_BYTES = pa.field("stored_mask_bytes", pa.int64())  # of the mask, which follows it; 0 without masks
STORED_CRC32C = pa.field("stored_crc32c", pa.int64())  # of both
STORED_WIDTH = pa.field("stored_width", pa.int32())
STORED_HEIGHT = pa.field("stored_height", pa.int32())
STORED_CHANGES = pa.field("stored_changes", pa.string())  # see NormalisedImage, separated by commas
URI = pa.field("uri", pa.string())  # of an image that is read again; then the others are null
MASK_URI = pa.field("mask_uri", pa.string())  # of its mask
STORED_FIELDS = [
    *(PATH, OFFSET, STORED_BYTES, STORED_MASK_BYTES, STORED_CRC32C, STORED_WIDTH, STORED_HEIGHT, STORED_CHANGES),
]
STAGED_FIELDS = [*STORED_FIELDS, URI, MASK_URI]


def is_staged(row: Mapping[str, Any]) -> bool:
    """Return whether a row's image is stored in its final form already."""
    return row.get(STORED_BYTES.name) is not None


def read_staged(files: OpenFiles, row: Mapping[str, Any]) -> tuple[images.NormalisedImage, bytes | None]:
    """Read a row's image and mask as they are stored."""
    path, start = row[PATH.name], row[OFFSET.name]
    num_bytes, mask_bytes = row[STORED_BYTES.name], row[STORED_MASK_BYTES.name]
    try:
        data = retried(lambda: files.read_range(path, start, num_bytes + mask_bytes))
    except FileNotFoundError:
        data = b""
    if google_crc32c.value(data) != row[STORED_CRC32C.name] or len(data) != num_bytes + mask_bytes:
        found = "is gone" if not data else "is not what was stored in it"
        msg = f"{files.url}/{path}: this file of staged images {found}; another run may have removed it"
        raise MachineError(f"{msg}: run the pipeline again when no other one writes into this folder")
    changes = row[STORED_CHANGES.name]
    image = images.NormalisedImage(
        data[:num_bytes],
        row[STORED_WIDTH.name],
        row[STORED_HEIGHT.name],
        tuple(changes.split(",")) if changes else (),
    )
    return image, data[num_bytes:] if mask_bytes else None
