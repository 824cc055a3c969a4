"""Check the records of a dataset that is a source: what its indexes say is not found out again."""

import hashlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.dataset import example
from shardkit.dataset.features import MASK
from shardkit.dataset.tfrecord import read_record
from shardkit.errors import RecordError
from shardkit.images.boxes import mask_orientation
from shardkit.images.gps import has_gps
from shardkit.inventory.columns import MASK_PATH
from shardkit.inventory.row_boxes import place_boxes
from shardkit.inventory.schema import HAS_GPS
from shardkit.option_values import Check
from shardkit.reject_reasons import DAMAGED, UNREADABLE
from shardkit.sources.checked_columns import CONTENT_SHA256, FORMAT
from shardkit.sources.datasets.columns import IMAGE_START, RAW_SHA256, RECORD_BYTES, STORED_KEY, STORED_MASK
from shardkit.sources.listing import OFFSET, PATH
from shardkit.storage import Folder, raise_store_failure
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.retry import retried


def are_records(schema: pa.Schema) -> bool:
    """Return whether the rows of a listing are records of a dataset."""
    return RECORD_BYTES.name in schema.names


def read_stored_record(folder: Folder | OpenFiles, row: dict[str, Any]) -> bytes:
    """Return the data of a row's record.

    Raises:
        BadImage: "damaged".
        OSError: The shard cannot be read.
    """
    try:
        return read_record(folder, row[PATH.name], row[OFFSET.name], row[RECORD_BYTES.name])
    except RecordError as error:
        message = f"{error}; restore the dataset {folder.url} from a copy"
        raise images.BadImage(DAMAGED, message) from error


def image_of_record(record: bytes, row: dict[str, Any]) -> bytes:
    """Return the image in a row's record."""
    start: int = row[IMAGE_START.name]
    return record[start : start + row["source_bytes"]]


def check_records(folder: Folder, table: pa.Table, check: Check) -> pa.Table:
    """Return the inventory of a listing of records.

    Args:
        folder: The source's folder.
        table: The listing.
        check: ``decode`` decodes the images that no conversion has decoded yet, and reads those that may have a GPS
            position. ``header`` reads none, and leaves contents out of planning as for any other source.
    """
    if check == "header":
        raw = pc.coalesce(table[RAW_SHA256.name], table[CONTENT_SHA256.name])
        unknown = pa.nulls(len(table), CONTENT_SHA256.type)
        return _replaced(_replaced(table, RAW_SHA256, raw), CONTENT_SHA256, unknown)
    unread = pc.or_(pc.is_null(table[FORMAT.name]), pc.is_null(table[HAS_GPS.name]))
    if not pc.any(pc.and_(unread, pc.is_null(table["reason"]))).as_py():
        return table
    rows, rejected = table.to_pylist(), []
    for row in rows:
        if row["reason"] is None and (row[FORMAT.name] is None or row[HAS_GPS.name] is None):
            try:
                rejected += _check_row(folder, row)
            except images.BadImage as error:
                row |= {"reason": error.reason, "message": str(error)}
            except OSError as error:
                raise_store_failure(f"{folder.url}/{row[PATH.name]}", error)
                row |= {"reason": UNREADABLE, "message": f"the record cannot be read: {error.strerror or error}"}
    return pa.Table.from_pylist(rows + rejected, table.schema)


def _check_row(folder: Folder, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Fill in the columns of one record; return a row for each bad annotation."""
    record = retried(lambda: read_stored_record(folder, row))
    data = image_of_record(record, row)
    row[HAS_GPS.name] = has_gps(data)
    if row[FORMAT.name] is not None:
        return []
    # The sha256 of a dataset's image is that of its raw file, which may have been another one.
    if row.get(STORED_KEY.name) is not None and row[RAW_SHA256.name] != hashlib.sha256(data).digest():
        raise images.BadImage(DAMAGED, not_of_index(folder.url, row))
    info = images.check(data)
    row |= {
        FORMAT.name: info.format,
        "width": info.width,
        "height": info.height,
        "orientation": info.orientation,
        "changes": ",".join(info.changes),
        CONTENT_SHA256.name: row[RAW_SHA256.name],
        RAW_SHA256.name: None,
    }
    if row.get(MASK_PATH) is not None and row.get(STORED_MASK.name) is not None:  # those of datasets were checked
        mask_orientation(images.check_mask(mask_of_record(record, row)), info)
    return place_boxes(row, info)


def mask_of_record(record: bytes, row: dict[str, Any]) -> bytes:
    """Return the mask in a row's record.

    Raises:
        BadImage: "damaged": the record has none.
    """
    name = row.get(STORED_MASK.name) or MASK
    try:
        return bytes(example.decode(record)[name][0])  # type: ignore[arg-type] # of another type: no image, as reported
    except (RecordError, KeyError, IndexError, TypeError) as error:
        where = f"{row[PATH.name]}: record at byte {row[OFFSET.name]}"
        raise images.BadImage(DAMAGED, f"{where}: it has no mask {name!r} ({error!r})") from error


def not_of_index(url: str, row: dict[str, Any]) -> str:
    """Return the sentence about a record that is not the example of its row."""
    where = f"{row[PATH.name]}: record at byte {row[OFFSET.name]}"
    return f"{where}: it is not the example of the index; restore the dataset {url} from a copy"


def _replaced(table: pa.Table, field: pa.Field, column: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(field.name), field, column)
