"""Check the records of a dataset that is a source: what its indexes say is not found out again."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.dataset.records import read_record
from shardkit.errors import RecordError
from shardkit.images.gps import has_gps
from shardkit.inventory.schema import HAS_GPS
from shardkit.option_values import Check
from shardkit.reject_reasons import DAMAGED, UNREADABLE
from shardkit.sources.checked_columns import CONTENT_SHA256, FORMAT
from shardkit.sources.datasets.columns import IMAGE_START, RAW_SHA256, RECORD_BYTES
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
    rows = table.to_pylist()
    for row in rows:
        if row["reason"] is None and (row[FORMAT.name] is None or row[HAS_GPS.name] is None):
            try:
                _check_row(folder, row)
            except images.BadImage as error:
                row |= {"reason": error.reason, "message": str(error)}
            except OSError as error:
                raise_store_failure(f"{folder.url}/{row[PATH.name]}", error)
                row |= {"reason": UNREADABLE, "message": f"the record cannot be read: {error.strerror or error}"}
    return pa.Table.from_pylist(rows, table.schema)


def _check_row(folder: Folder, row: dict[str, Any]) -> None:
    data = image_of_record(retried(lambda: read_stored_record(folder, row)), row)
    row[HAS_GPS.name] = has_gps(data)
    if row[FORMAT.name] is not None:
        return
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


def _replaced(table: pa.Table, field: pa.Field, column: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(field.name), field, column)
