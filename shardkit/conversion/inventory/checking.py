"""Check the image of every row of a listing: read, hash and decode it, and place its boxes on the upright image.

Before that, merge the listings of many small parts, such as thousands of folders of ten images, look up the sizes and
times that they left open, and reject the files that are too large to read.
"""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.conversion.inventory.columns import inventory_schema, place_boxes
from shardkit.conversion.inventory.source_files import Row, SourceFiles, are_records
from shardkit.errors import MachineError, StoreError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images.boxes import mask_orientation
from shardkit.images.gps import has_gps
from shardkit.images.info import too_many_bytes
from shardkit.options.values import Check
from shardkit.record_sources.datasets.columns import RAW_SHA256, STORED_MASK
from shardkit.reject_reasons import MISSING, UNREADABLE
from shardkit.sources.columns import (
    CONTENT_SHA256,
    FORMAT,
    HAS_GPS,
    LAST_CLASS,
    MASK_COLOURS,
    MASK_SHA256,
    OBJECTS,
    PATH,
    PERCEPTUAL_HASH,
    UNMEASURED,
)
from shardkit.sources.listing import Listing
from shardkit.sources.walking import file_or_folder
from shardkit.storage import Folder
from shardkit.storage.retry import retried

_BATCH_BYTES = 8 << 20  # 8 MiB of columns: about 100,000 boxes, which take ten times as much while they are checked
# A batch grows to 2,048 rows, to 256 MiB of images, which a core decodes in some seconds, and to a 64th of the rows
# before it, so that workers end at about the same time.
_MOST_ROWS, _IMAGE_BYTES, _BATCHES_BEFORE = 1 << 11, 256 << 20, 64
_UNMEASURED_BYTES = 1 << 20  # what an image of unknown size counts
_OF_CONTENTS = {CONTENT_SHA256.name, MASK_SHA256.name, OBJECTS}


def merge_listings(listings: Iterable[Listing], batch_rows: int) -> Iterator[Listing]:
    """Merge listings, as columns, until each has `batch_rows` rows or 8 MiB; more where many rows came before.

    A Beam element and a temporary file for each of a thousand folders of ten images would cost more than the listing.
    Of a billion images, files of 128 rows are 7.8 million, which one worker would read for hours; so the batches of a
    large source grow.
    """
    waiting: list[Listing] = []
    num_rows = num_bytes = image_bytes = num_before = 0
    for listing in listings:
        # As columns: a million boxes as Python objects took 19 GB between two steps of a pipeline.
        table = listing.table()
        waiting.append(replace(listing, rows=[], columns=table))
        num_rows += len(table)
        num_bytes += table.nbytes
        sizes = table["source_bytes"].to_numpy()
        image_bytes += int(np.where(sizes == UNMEASURED, _UNMEASURED_BYTES, sizes).sum())
        wanted = min(num_before // _BATCHES_BEFORE, _MOST_ROWS) if image_bytes < _IMAGE_BYTES else 0
        if num_rows >= max(batch_rows, wanted) or num_bytes >= _BATCH_BYTES:
            yield _merged(waiting)
            num_before += num_rows
            waiting, num_rows, num_bytes, image_bytes = [], 0, 0, 0
    if waiting:
        yield _merged(waiting)


def _merged(listings: list[Listing]) -> Listing:
    if len(listings) == 1:
        return listings[0]
    merged = Listing(listings[0].schema, columns=pa.concat_tables([listing.table() for listing in listings]))
    for listing in listings:
        merged.add(listing.skipped, listing.classes.items())
    return merged


def measure_files(folder: Folder, table: pa.Table, max_file_bytes: int = MAX_FILE_BYTES) -> pa.Table:
    """Return a listing with all sizes and times filled in; a missing file and one that is too large are rejected.

    Records of a dataset were read when it was written.
    """
    most = sys.maxsize if are_records(table.schema) else max_file_bytes
    sizes = table["source_bytes"].to_numpy()
    unmeasured = np.flatnonzero(sizes == UNMEASURED)
    if not len(unmeasured) and sizes.max(initial=0) <= most:
        return table
    columns = {name: table[name].to_pylist() for name in ("source_bytes", "mtime_ns", "reason", "message")}
    paths = table[PATH.name if PATH.name in table.column_names else "key"].to_pylist()
    for i in unmeasured.tolist():
        entry = None
        if columns["reason"][i] is None:
            try:
                entry = retried(partial(file_or_folder, folder, paths[i]))
            except MachineError as error:
                if isinstance(error, StoreError) or not isinstance(error.__cause__, PermissionError):
                    raise  # the disk or the network
                columns["reason"][i], columns["message"][i] = UNREADABLE, str(error)
        if entry is None or entry.is_folder:
            columns["source_bytes"][i] = 0
            if columns["reason"][i] is None:
                remedy = "restore it, remove its line, or set the folder that paths are relative to with `root`"
                columns["reason"][i] = MISSING
                columns["message"][i] = f"there is no file {folder.url_of(paths[i])}; {remedy}"
        else:
            columns["source_bytes"][i], columns["mtime_ns"][i] = entry.num_bytes, entry.mtime_ns
    for i, num_bytes in enumerate(columns["source_bytes"]):
        if num_bytes > most and columns["reason"][i] is None:
            too_large = too_many_bytes("The file", num_bytes, most)
            columns["reason"][i], columns["message"][i] = too_large.reason, str(too_large)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    return table


def check_batch(folder: Folder, table: pa.Table, check: Check, max_file_bytes: int = MAX_FILE_BYTES) -> pa.Table:
    """Return the inventory of a measured listing.

    ``decode`` reads, hashes and decodes every file and places boxes on the upright image. A box outside the image
    becomes a row of its own, with a reason. ``header`` opens no file. Of records of a dataset, ``decode`` reads only
    what their indexes do not say: images that no conversion has decoded yet, and those that may have a GPS position.
    """
    with_records = are_records(table.schema)
    if check == "header":
        return _unread_records(table) if with_records else _unread_files(table)
    check_row, schema = check_file, inventory_schema(table.schema)
    unread = pc.is_null(table["reason"])
    if with_records:
        check_row, schema = _check_record, table.schema
        unread = pc.and_(unread, pc.or_(pc.is_null(table[FORMAT.name]), pc.is_null(table[HAS_GPS.name])))
        if not pc.any(unread).as_py():
            return table
    files = SourceFiles(folder, max_file_bytes)
    rows, rejected = table.to_pylist(), []
    for row, is_unread in zip(rows, unread.to_pylist(), strict=True):
        if is_unread:
            try:
                image = files.image(row)
                rejected += check_row(row, image.data, partial(files.mask, row, image))
            except images.BadImage as error:
                row |= {"reason": error.reason, "message": str(error)}
        if row["reason"] == UNREADABLE:
            row.update(rejected_row(row, UNREADABLE, row["message"]))
    return pa.Table.from_pylist(rows + rejected, schema)


def rejected_row(row: Row, reason: str, message: str) -> dict[str, Any]:
    """Return a row with the reason why it is rejected."""
    # Nothing that depends on which read failed; see seen_rejects.as_converted.
    unknown = dict.fromkeys(row.keys() & _OF_CONTENTS) if reason == UNREADABLE else {}
    return {**row, **unknown, "reason": reason, "message": message}


def _unread_files(table: pa.Table) -> pa.Table:
    schema = inventory_schema(table.schema)
    nulls = [pa.nulls(len(table), field.type) for field in list(schema)[len(table.schema) :]]
    return pa.Table.from_arrays([*table.columns, *nulls], schema=schema)


def _unread_records(table: pa.Table) -> pa.Table:
    """Return the table without contents, which ``header`` leaves out of planning for any other source, too."""
    raw = pc.coalesce(table[RAW_SHA256.name], table[CONTENT_SHA256.name])
    unknown = pa.nulls(len(table), CONTENT_SHA256.type)
    return _replaced(_replaced(table, RAW_SHA256, raw), CONTENT_SHA256, unknown)


def check_file(row: dict[str, Any], image: bytes, read_mask: Callable[[], bytes | None]) -> list[dict[str, Any]]:
    """Fill in the columns of one file, or raise BadImage; return a row for each bad annotation.

    `read_mask` gives None without masks.
    """
    info = _check_image(row, image)
    row |= {
        HAS_GPS.name: has_gps(image),
        CONTENT_SHA256.name: hashlib.sha256(image).digest(),
        "content_crc32c": google_crc32c.value(image),
    }
    if (mask := read_mask()) is not None:
        mask_info = images.check_mask(mask, row.get(MASK_COLOURS.name))
        mask_orientation(mask_info, info)
        row[MASK_SHA256.name], row[LAST_CLASS.name] = hashlib.sha256(mask).digest(), mask_info.last_class
    return place_boxes(row, info)


def _check_record(row: dict[str, Any], image: bytes, read_mask: Callable[[], bytes | None]) -> list[dict[str, Any]]:
    """Fill in the columns of one record; see `check_file`."""
    row[HAS_GPS.name] = has_gps(image)
    if row[FORMAT.name] is not None:
        return []
    info = _check_image(row, image)
    row |= {CONTENT_SHA256.name: row[RAW_SHA256.name], RAW_SHA256.name: None}
    is_adopted = row.get(STORED_MASK.name) is not None  # masks of conversions were checked
    if is_adopted and (mask := read_mask()) is not None:
        mask_orientation(images.check_mask(mask), info)
    return place_boxes(row, info)


def _check_image(row: dict[str, Any], image: bytes) -> images.ImageInfo:
    info, traits, perceptual_hash = images.check_fully(image)
    row |= {**asdict(traits), **asdict(info), "changes": ",".join(info.changes), PERCEPTUAL_HASH.name: perceptual_hash}
    return info


def _replaced(table: pa.Table, field: pa.Field, column: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(field.name), field, column)


def num_recovered(folder: Folder, table: pa.Table, before: pa.Table, check: Check, max_file_bytes: int) -> int:
    """Return the number of images that an earlier run rejected and that are good now.

    A copy restored from a backup has its old size and time, so the part's name is the same.
    """
    rejected = before.filter(pc.is_valid(before["reason"]))["key"].combine_chunks()
    again = table.filter(pc.and_(pc.is_in(table["key"], rejected), pc.is_null(table["reason"])))
    return check_batch(folder, again, check, max_file_bytes)["reason"].null_count if len(again) else 0
