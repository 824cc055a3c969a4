"""Find boxes that reach beyond their images, and images that were resized after they were annotated."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import OBJECTS
from shardkit.conversion.planning.checks.finding import Finding, Keys, Kind
from shardkit.conversion.planning.rows import Rows
from shardkit.layouts import LAYOUTS
from shardkit.naming import counted
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, NUM_CLIPPED

_MAX_SHARE = 0.02  # of the boxes of a format that was inferred: more of them say that the boxes are something else


def check_boxes(good: Rows, layout: str) -> Iterator[Finding]:
    """Yield findings about boxes that were cut off or scaled.

    Args:
        good: The rows that are planned.
        layout: Name of the source's layout.
    """
    if OBJECTS not in good.column_names or good.lazy_column("width").column.null_count == len(good.table):
        return
    has_boxes = _numbers(pc.list_value_length(good[OBJECTS])) > 0
    if NUM_CLIPPED.name in good.column_names:
        yield from _clipped(good, layout)
    if ANNOTATED_WIDTH.name in good.column_names:
        yield from _resized(good, has_boxes)


def _clipped(good: Rows, layout: str) -> Iterator[Finding]:
    numbers = _numbers(good[NUM_CLIPPED.name])
    if not (num_clipped := int(numbers.sum())):
        return
    num_boxes = int(_numbers(pc.list_value_length(good[OBJECTS])).sum())
    kind: Kind = "warns"
    if layout == LAYOUTS["boxes"].title and num_clipped > _MAX_SHARE * num_boxes:
        kind = "stops"
    images = np.flatnonzero(numbers)
    sentence = (
        f"{counted(num_clipped, 'box')} of {num_boxes:,} in {counted(len(images), 'image')} reach beyond the image by "
        "more than a pixel and are cut off at its edge"
    )
    key = good.lazy_column("key").slice(int(images[0]), 1)[0].as_py()
    remedy = "if many do, their numbers may mean something else: look at one"
    yield Finding("clipped_boxes", kind, sentence, Keys(good.lazy_column("key"), images), remedy=remedy, look_at=key)


def _resized(good: Rows, has_boxes: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    named = [_numbers(good[one.name]) for one in (ANNOTATED_WIDTH, ANNOTATED_HEIGHT)]
    sizes = [_numbers(good[name]) for name in ("width", "height")]
    is_as_named = (np.minimum(*named) == 0) | ((named[0] == sizes[0]) & (named[1] == sizes[1]))
    is_as_named |= (named[0] == sizes[1]) & (named[1] == sizes[0])  # turned by EXIF
    images = np.flatnonzero(has_boxes & ~is_as_named)
    if not len(images):
        return
    first = int(images[0])
    sentence = (
        f"{counted(len(images), 'image')} of {len(good):,} have another size than their annotations say and the same "
        f"shape, such as {sizes[0][first]} x {sizes[1][first]}, not {named[0][first]} x {named[1][first]}: their boxes "
        "are scaled"
    )
    key = good.lazy_column("key").slice(first, 1)[0].as_py()
    remedy = "look at one: they may have been cut instead of resized"
    yield Finding("scaled_boxes", "warns", sentence, Keys(good.lazy_column("key"), images), remedy=remedy, look_at=key)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the values of a column; null as 0."""
    numbers: npt.NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    return numbers
