"""Check the columns of an index when it is read: types, bounds, and offsets that cover the shard.

An index decides which bytes are read and how much memory is taken. It may come from a stranger, with a sha256 that is
right for its content, so its numbers are compared with the size of the shard and with the limits of images before any
command uses them. All checks run over whole columns: an index of a million rows takes some milliseconds.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.image_limits import MAX_PIXELS, MAX_SIDE


def column_problem(table: pa.Table, schema: pa.Schema, num_bytes: int, num_classes: int | None = None) -> str | None:
    """Return the first thing that is wrong with some columns of an index; None if nothing is.

    Args:
        table: All rows of the index, with some or all of the columns.
        schema: The schema of an index with all columns.
        num_bytes: Size of the shard in bytes.
        num_classes: Number of classes of the dataset, which bounds the labels; None if it is not known.
    """
    return next(_problems(table, schema, num_bytes, num_classes), None)


def _problems(table: pa.Table, schema: pa.Schema, num_bytes: int, num_classes: int | None) -> Iterator[str]:
    for name in table.column_names:
        field, column = schema.field(name), table[name]
        if column.type != field.type:
            yield f"the column {name!r} has the type {column.type}, not {field.type}"
        if column.null_count and not field.nullable:
            yield f"the column {name!r} lacks {column.null_count:,} values"
    highest = {"offset": num_bytes, "length": num_bytes, "height": MAX_SIDE, "width": MAX_SIDE}
    highest |= {"image_start": num_bytes, "image_bytes": num_bytes, "source_bytes": (1 << 53) - 1}
    lowest = {"height": 1, "width": 1}
    for name in highest.keys() & set(table.column_names):
        yield from _range_problems(f"{name} of a record", table[name], lowest.get(name, 0), highest[name])
    last_label = np.iinfo(np.int32).max if num_classes is None else num_classes - 1
    classes = "" if num_classes is None else f", which is none of the manifest's {num_classes:,} classes"
    if "label" in table.column_names:
        yield from _range_problems("label of a record", table["label"], 0, last_label, classes)
    if "labels" in table.column_names:
        several = pc.list_flatten(table["labels"])
        if several.null_count:
            yield "the column 'labels' has a list with a missing label"
        yield from _range_problems("label of a record", several, 0, last_label, classes)
    if {"height", "width"} <= set(table.column_names):
        yield from _pixel_problems(table)
    yield from _place_problems(table, num_bytes)


def _range_problems(what: str, column: pa.ChunkedArray, low: int, high: int, why: str = "") -> Iterator[str]:
    found = pc.min_max(column)
    for value in (found["min"].as_py(), found["max"].as_py()):
        if value is not None and not low <= value <= high:
            yield f"the {what} is {value}{why or f', which is not in [{low}, {high}]'}"


def _pixel_problems(table: pa.Table) -> Iterator[str]:
    pixels = np.multiply(table["height"].to_numpy(), table["width"].to_numpy(), dtype=np.int64)
    if pixels.max(initial=0) > MAX_PIXELS:
        row = int(pixels.argmax())
        yield f"record {row} has {pixels[row]:,} pixels; at most {MAX_PIXELS:,} are stored"


def _place_problems(table: pa.Table, num_bytes: int) -> Iterator[str]:
    """Yield the records and images that are not where the columns say; all numbers are in [0, num_bytes]."""
    names = set(table.column_names)
    if "offset" in names and (problem := _frame_problem(table["offset"].to_numpy(), num_bytes)):
        yield problem
        return
    lengths: npt.NDArray[np.int64] | None = None
    if "length" in names:
        lengths = table["length"].to_numpy()
        if "offset" in names and (problem := coverage_problem(table, num_bytes)):
            yield problem
            return
    elif "offset" in names:
        lengths = np.diff(table["offset"].to_numpy(), append=num_bytes) - OVERHEAD_BYTES
    if {"image_start", "image_bytes"} <= names:
        ends = np.add(table["image_start"].to_numpy(), table["image_bytes"].to_numpy(), dtype=np.int64)
        over = np.flatnonzero(ends > (num_bytes if lengths is None else lengths))
        if len(over):
            yield f"the image of record {over[0]} ends at byte {ends[over[0]]} of the record, which is shorter"


def _frame_problem(offsets: npt.NDArray[np.int64], num_bytes: int) -> str | None:
    """Return why offsets alone cannot be those of frames that fill the shard."""
    if not len(offsets):
        return None if num_bytes == 0 else f"it has no records, and the shard has {num_bytes} bytes"
    if offsets[0] != 0:
        return f"record 0 should start at byte 0, its row says byte {offsets[0]}"
    short = np.flatnonzero(np.diff(offsets, append=num_bytes) < OVERHEAD_BYTES)
    if len(short):
        return (
            f"record {short[0]}, at byte {offsets[short[0]]}, has no room before the next one or the end of the shard"
        )
    return None


def coverage_problem(table: pa.Table, num_bytes: int) -> str | None:
    """Return why the records of an index do not cover the shard end to end; None if they do."""
    offsets, lengths = table["offset"].to_numpy(), table["length"].to_numpy()
    ends = np.concatenate(([0], np.cumsum(lengths + OVERHEAD_BYTES)))
    wrong = np.flatnonzero(offsets != ends[:-1])
    if len(wrong):
        return f"record {wrong[0]} should start at byte {ends[wrong[0]]}, its row says byte {offsets[wrong[0]]}"
    if ends[-1] != num_bytes:
        return f"its records end at byte {ends[-1]}, the shard at {num_bytes}"
    return None
