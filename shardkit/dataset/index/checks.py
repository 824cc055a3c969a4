"""Check the columns of an index when it is read: types, bounds, and offsets that cover the shard.

An index decides which bytes are read and how much memory is taken. It may come from a stranger, with a sha256 that is
right for its content, so its numbers are compared with the size of the shard and with the limits of images before any
command uses them. All checks run over whole columns: an index of a million rows takes some milliseconds.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.features import NO_LABEL
from shardkit.dataset.manifest.parts import MAX_COUNT
from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.image_limits import MAX_PIXELS, MAX_SIDE

Kind = tuple[pa.DataType, bool]
# The smallest value of each column of whole numbers.
_LOWEST = {"offset": 0, "length": 0, "height": 1, "width": 1, "image_start": 0, "image_bytes": 0, "source_bytes": 0}
_Numbers = Mapping[str, npt.NDArray[np.integer]]


def column_problem(
    table: pa.Table, fields: Mapping[str, Kind], num_bytes: int, labels: range | None = None
) -> str | None:
    """Return the first thing that is wrong with some columns of an index; None if nothing is.

    Args:
        table: All rows of the index, with some or all of the columns.
        fields: Type of each column of an index, and whether its values may be missing.
        num_bytes: Size of the shard in bytes.
        labels: The labels that the manifest allows; None if they are not known.
    """
    return next(_problems(table, fields, num_bytes, labels), None)


def _problems(table: pa.Table, fields: Mapping[str, Kind], num_bytes: int, labels: range | None) -> Iterator[str]:
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, column in columns.items():
        kind, is_nullable = fields[name]
        if column.type != kind:
            yield f"the column {name!r} has the type {column.type}, not {kind}"
        if not is_nullable and column.null_count:
            yield f"the column {name!r} lacks {column.null_count:,} values"
    if not len(table):
        if num_bytes:
            yield f"it has no records, and the shard has {num_bytes:,} bytes"
        return
    # Converted once for all checks: this runs for each of thousands of indexes when a dataset is opened.
    numbers = {name: columns[name].to_numpy() for name in _LOWEST if name in columns}
    highest = {"height": MAX_SIDE, "width": MAX_SIDE, "source_bytes": MAX_COUNT}
    for name, values in numbers.items():
        span = int(values.min()), int(values.max())
        yield from _range_problems(name, span, _LOWEST[name], highest.get(name, num_bytes))
    yield from _pixel_problems(numbers)
    yield from _label_problems(columns, labels)
    if {"offset", "length"} <= columns.keys() and (problem := coverage_problem(table, num_bytes)):
        yield problem
    yield from _place_problems(numbers, num_bytes)


def _range_problems(name: str, span: tuple[int, int], low: int, high: int, why: str = "") -> Iterator[str]:
    for value in span:
        if not low <= value <= high:
            yield f"the {name} of a record is {value}{why or f', which is not in [{low}, {high}]'}"


def _label_problems(columns: Mapping[str, pa.ChunkedArray], allowed: range | None) -> Iterator[str]:
    span = range(NO_LABEL, 1 << 31) if allowed is None else allowed
    why = "" if allowed is None else f", which is none of the manifest's {allowed.stop:,} classes"
    found = [columns["label"]] if "label" in columns else []
    if "labels" in columns:
        several = pc.list_flatten(columns["labels"])
        if several.null_count:
            yield "the column 'labels' has a list with a missing label"
        found.append(several)
    for labels in found:
        values = (labels.drop_null() if labels.null_count else labels).to_numpy()
        if len(values):
            yield from _range_problems("label", (int(values.min()), int(values.max())), span.start, span.stop - 1, why)
    if "label" in columns and "label_name" in columns:
        num_named = pc.sum(pc.not_equal(columns["label"], NO_LABEL)).as_py() or 0
        if len(columns["label_name"]) - columns["label_name"].null_count != num_named:
            yield "the columns 'label' and 'label_name' do not lack the same values"


def _pixel_problems(numbers: _Numbers) -> Iterator[str]:
    heights, widths = numbers.get("height"), numbers.get("width")
    if heights is None or widths is None or int(heights.max()) * int(widths.max()) <= MAX_PIXELS:
        return
    pixels = np.multiply(heights, widths, dtype=np.int64)
    row = int(pixels.argmax())
    if pixels[row] > MAX_PIXELS:
        yield f"record {row} has {pixels[row]:,} pixels; at most {MAX_PIXELS:,} are stored"


def _place_problems(numbers: _Numbers, num_bytes: int) -> Iterator[str]:
    """Yield the records and images that are not where the columns say; all numbers are in [0, num_bytes]."""
    frames: Any = num_bytes  # length of each frame, as far as the columns tell
    if "length" in numbers:
        frames = numbers["length"] + OVERHEAD_BYTES
    elif "offset" in numbers:
        offsets = numbers["offset"]
        frames = np.empty_like(offsets)
        np.subtract(offsets[1:], offsets[:-1], out=frames[:-1])
        frames[-1] = num_bytes - offsets[-1]
        if offsets[0] != 0 or frames.min() < OVERHEAD_BYTES:
            yield "the offsets of its records do not rise from 0 to the end of the shard"
    if {"image_start", "image_bytes"} <= numbers.keys():
        ends = np.add(numbers["image_start"], numbers["image_bytes"], dtype=np.int64)
        ends += OVERHEAD_BYTES
        beyond = ends > frames
        if beyond.any():
            yield f"the image of record {int(beyond.argmax())} ends behind the record"


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
