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

from shardkit.dataset.manifest_parts import MAX_COUNT
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
    names = set(table.column_names)
    for name in table.column_names:
        field, column = schema.field(name), table[name]
        if column.type != field.type:
            yield f"the column {name!r} has the type {column.type}, not {field.type}"
        if column.null_count and not field.nullable:
            yield f"the column {name!r} lacks {column.null_count:,} values"
    for name in ("offset", "length", "image_start", "image_bytes"):
        if name in names:
            yield from _range_problems(name, table[name], 0, num_bytes)
    if "source_bytes" in names:
        yield from _range_problems("source_bytes", table["source_bytes"], 0, MAX_COUNT)
    for name in ("height", "width"):
        if name in names:
            yield from _range_problems(name, table[name], 1, MAX_SIDE)
    if {"height", "width"} <= names:
        yield from _pixel_problems(table["height"], table["width"])
    yield from _label_problems(table, num_classes)
    yield from _place_problems(table, num_bytes)


def _label_problems(table: pa.Table, num_classes: int | None) -> Iterator[str]:
    highest = np.iinfo(np.int32).max if num_classes is None else num_classes - 1
    classes = "" if num_classes is None else f", which is none of the manifest's {num_classes:,} classes"
    if "label" in table.column_names:
        yield from _range_problems("label", table["label"], 0, highest, classes)
    if "labels" in table.column_names:
        several = pc.list_flatten(table["labels"])
        if several.null_count:
            yield "the column 'labels' has a list with a missing label"
        yield from _range_problems("label", several, 0, highest, classes)


def _range_problems(name: str, column: pa.ChunkedArray, low: int, high: int, why: str = "") -> Iterator[str]:
    found = pc.min_max(column)
    for value in (found["min"].as_py(), found["max"].as_py()):
        if value is not None and not low <= value <= high:
            yield f"the {name} of a record is {value}{why or f', which is not in [{low}, {high}]'}"


def _pixel_problems(heights: pa.ChunkedArray, widths: pa.ChunkedArray) -> Iterator[str]:
    highest = [pc.max(column).as_py() or 0 for column in (heights, widths)]
    if highest[0] * highest[1] <= MAX_PIXELS:  # of nearly all datasets
        return
    pixels = np.multiply(heights.to_numpy(), widths.to_numpy(), dtype=np.int64)
    row = int(pixels.argmax())
    if pixels[row] > MAX_PIXELS:
        yield f"record {row} has {pixels[row]:,} pixels; at most {MAX_PIXELS:,} are stored"


def _place_problems(table: pa.Table, num_bytes: int) -> Iterator[str]:
    """Yield the records and images that are not where the columns say; all numbers are in [0, num_bytes]."""
    names = set(table.column_names)
    if not len(table):
        if num_bytes:
            yield f"it has no records, and the shard has {num_bytes:,} bytes"
        return
    if {"offset", "length"} <= names and (problem := coverage_problem(table, num_bytes)):
        yield problem
    frames: npt.NDArray[np.int64] | None = None
    if "length" in names:
        frames = table["length"].to_numpy() + OVERHEAD_BYTES
    elif "offset" in names:
        frames = _frames(table["offset"].to_numpy(), num_bytes)
        if table["offset"][0].as_py() != 0 or frames.min() < OVERHEAD_BYTES:
            yield "the offsets of its records do not rise from 0 to the end of the shard"
    if {"image_start", "image_bytes"} <= names:
        ends = np.add(table["image_start"].to_numpy(), table["image_bytes"].to_numpy(), dtype=np.int64)
        ends += OVERHEAD_BYTES
        beyond = ends > (num_bytes if frames is None else frames)
        if beyond.any():
            yield f"the image of record {int(beyond.argmax())} ends behind the record"


def _frames(offsets: npt.NDArray[np.int64], num_bytes: int) -> npt.NDArray[np.int64]:
    """Return the length of each frame: it ends where the next one or the end of the shard is."""
    frames = np.empty_like(offsets)
    np.subtract(offsets[1:], offsets[:-1], out=frames[:-1])
    frames[-1] = num_bytes - offsets[-1]
    return frames


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
