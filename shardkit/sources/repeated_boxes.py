"""Boxes that repeat an earlier one of their image, with the same class: found, and left out if the user says so."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.sources.columns import OBJECTS
from shardkit.sources.listing import Listing, count_skipped
from shardkit.sources.recognising.wrapped_source import WrappedSource

_REPEATED = "boxes that repeat an earlier one of their image"
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)


def repeated_objects(objects: pa.Array) -> npt.NDArray[np.bool_]:
    """Return for each object of a column of objects whether an earlier one of its image has its class and its box."""
    flat = objects.flatten()
    if not len(flat):
        return np.zeros(0, np.bool_)
    images = pc.list_parent_indices(objects).to_numpy().astype(np.uint64)
    labels = _codes(flat.field("label_name" if flat.type.get_field_index("label_name") >= 0 else "label"))
    sides = pc.list_flatten(flat.field("bbox")).to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, 4)
    # One number instead of six columns to sort: two different boxes of one image get the same one in 2**64 cases.
    with np.errstate(over="ignore"):
        hashes = images * _ODD[0] + (labels.astype(np.uint64) + np.uint64(1)) * _ODD[1]
        for side in (sides + 0.0).T:
            bits = np.ascontiguousarray(side).view(np.uint64)
            hashes = (hashes ^ (hashes >> np.uint64(29))) * _ODD[2] + bits * _ODD[3]
    is_repeated = np.zeros(len(flat), np.bool_)
    in_order = np.sort(hashes)  # ten times as fast as finding the first of each, which most sources do not need
    if (in_order[1:] == in_order[:-1]).any():
        _, first = np.unique(hashes, return_index=True)
        is_repeated[:] = True
        is_repeated[first] = False
    return is_repeated


def _codes(labels: pa.Array) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = pc.fill_null(labels.dictionary_encode().indices, -1).to_numpy().astype(np.int64)
    return codes


@dataclass(frozen=True, slots=True)
class WithoutRepeatedBoxes(WrappedSource):
    """A source of which repeated boxes are left out, and counted."""

    def list_inner(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        return map(_without_repeated, self.inner.list_part(part, batch_rows))


def _without_repeated(listing: Listing) -> Listing:
    table = listing.table()
    at = table.schema.get_field_index(OBJECTS)
    if at < 0:
        return listing
    objects = table[OBJECTS].combine_chunks()
    is_repeated = repeated_objects(objects)
    if not (num := int(is_repeated.sum())):
        return listing
    skipped = dict(listing.skipped)
    count_skipped(skipped, _REPEATED, num)
    kept = np.bincount(pc.list_parent_indices(objects).to_numpy()[~is_repeated], minlength=len(objects))
    offsets = pa.array(np.concatenate([[0], np.cumsum(kept)]).astype(np.int32))
    values = objects.flatten().filter(pa.array(~is_repeated))
    column = pa.ListArray.from_arrays(offsets, values, type=objects.type, mask=objects.is_null())
    return replace(listing, rows=[], columns=table.set_column(at, table.schema.field(at), column), skipped=skipped)
