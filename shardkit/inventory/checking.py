"""Check every file of a listing: read, hash and decode it, and place its boxes on the upright image."""

import hashlib
from typing import Any

import google_crc32c
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.errors import BombError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images.boxes import mask_orientation
from shardkit.images.gps import has_gps
from shardkit.images.info import too_many_bytes
from shardkit.inventory.checking_records import are_records, check_records
from shardkit.inventory.columns import MASK_PATH
from shardkit.inventory.row_boxes import place_boxes
from shardkit.inventory.schema import HAS_GPS, MASK_SHA256, inventory_schema
from shardkit.option_values import Check
from shardkit.reject_reasons import DECOMPRESSION_BOMB, UNREADABLE
from shardkit.sources.listing import MASK_COLOURS, OFFSET, PATH
from shardkit.sources.visibility import refuse_unseen
from shardkit.sources.walking import parent_of
from shardkit.storage import Folder, raise_store_failure
from shardkit.storage.retry import retried


def check_batch(folder: Folder, table: pa.Table, check: Check, max_file_bytes: int = MAX_FILE_BYTES) -> pa.Table:
    """Return the inventory of a measured listing.

    Args:
        folder: The source's folder.
        table: The listing, with all sizes.
        check: ``decode`` reads, hashes and decodes every file and places boxes on the upright image. A box outside the
            image becomes a row of its own, with a reason. ``header`` opens no file.
        max_file_bytes: Size above which a mask is not read; see `measure_files` for images.
    """
    if are_records(table.schema):
        return check_records(folder, table, check)
    schema = inventory_schema(table.schema)
    if check == "header":
        nulls = [pa.nulls(len(table), field.type) for field in list(schema)[len(table.schema) :]]
        return pa.Table.from_arrays([*table.columns, *nulls], schema=schema)
    rows, rejected = table.to_pylist(), []
    for row in rows:
        if row["reason"] is None:
            try:
                rejected += _check_row(folder, row, max_file_bytes)
            except images.BadImage as error:
                row["reason"], row["message"] = error.reason, str(error)
            except OSError as error:
                raise_store_failure(f"{folder.url}/{image_path(row)}", error)
                if isinstance(error, FileNotFoundError):
                    refuse_unseen(folder, parent_of(image_path(row)))
                row["reason"] = reason_of(error)
                row["message"] = f"the file cannot be read: {error.strerror or error}"
    return pa.Table.from_pylist(rows + rejected, schema)


def reason_of(error: OSError) -> str:
    """Return the reason with which a file that cannot be read is rejected."""
    return DECOMPRESSION_BOMB if isinstance(error, BombError) else UNREADABLE


def _check_row(folder: Folder, row: dict[str, Any], max_file_bytes: int) -> list[dict[str, Any]]:
    """Fill in the columns of one file; return a row for each bad annotation."""
    data = retried(lambda: read_image(folder, row))
    info = images.check(data)
    row |= {
        "format": info.format,
        "width": info.width,
        "height": info.height,
        "orientation": info.orientation,
        "changes": ",".join(info.changes),
        HAS_GPS.name: has_gps(data),
        "content_sha256": hashlib.sha256(data).digest(),
        "content_crc32c": google_crc32c.value(data),
    }
    if MASK_PATH in row:
        mask = read_mask(folder, row[MASK_PATH], max_file_bytes)
        mask_orientation(images.check_mask(mask, row.get(MASK_COLOURS.name)), info)
        row[MASK_SHA256.name] = hashlib.sha256(mask).digest()
    return place_boxes(row, info)


def image_path(row: dict[str, Any]) -> str:
    """Return the file that holds a row's image, relative to the source's folder."""
    path: str = row.get(PATH.name) or row["key"]
    return path


def read_image(folder: Folder, row: dict[str, Any]) -> bytes:
    """Read the bytes of a row's image: a file or a part of one."""
    path = image_path(row)
    offset = row.get(OFFSET.name)
    return folder.read(path) if offset is None else folder.read_range(path, offset, row["source_bytes"])


def read_mask(folder: Folder, path: str, max_file_bytes: int) -> bytes:
    """Read the file of a mask.

    Raises:
        BadImage: "too_many_bytes".
    """
    found = retried(lambda: folder.stat(path))
    if found is not None and found.num_bytes > max_file_bytes:
        raise too_many_bytes(f"The mask {path}", found.num_bytes, max_file_bytes)
    return retried(lambda: folder.read(path))


def has_recovered(
    folder: Folder, table: pa.Table, part: bytes, check: Check, max_file_bytes: int = MAX_FILE_BYTES
) -> bool:
    """Return whether an image that an earlier run rejected is good now.

    A copy restored from a backup has its old size and time, so the part's name is the same.

    Args:
        folder: The source's folder.
        table: The listing, with all sizes.
        part: The part that the earlier run wrote of it.
        check: The check that the part was made with.
        max_file_bytes: See check_batch.
    """
    with pa.ipc.open_file(pa.BufferReader(part)) as reader:
        before = reader.read_all()
    rejected = before.filter(pc.is_valid(before["reason"]))["key"].combine_chunks()
    again = table.filter(pc.and_(pc.is_in(table["key"], rejected), pc.is_null(table["reason"])))
    return len(again) > 0 and check_batch(folder, again, check, max_file_bytes)["reason"].null_count > 0
