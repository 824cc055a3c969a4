"""A digest of a table's columns that depends on their values alone: not on chunks, nor on what lies under nulls."""

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def columns_digest(table: pa.Table, names: Iterable[str]) -> bytes:
    """sha256 of those columns, in that order."""
    digest = hashlib.sha256(len(table).to_bytes(8, "little"))
    for name in names:
        for chunk in _canonical(table[name]):
            digest.update(chunk)
    return digest.digest()


def _canonical(column: pa.ChunkedArray) -> Iterator[bytes | memoryview]:
    type_ = column.type
    if pa.types.is_nested(type_):
        array = column.combine_chunks()
        yield from _nested(pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array)
    elif pa.types.is_string(type_) or pa.types.is_fixed_size_binary(type_):
        # The values' bytes end to end, without making a Python object of each of a hundred million keys.
        strings = column.cast(pa.large_binary())
        yield pc.fill_null(pc.binary_length(strings), -1).to_numpy().astype("<i8").tobytes()
        present = strings.drop_null().combine_chunks()
        if len(present):
            _, offsets, data = present.buffers()
            ends = np.frombuffer(offsets, "<i8")[present.offset : present.offset + len(present) + 1]
            yield memoryview(data)[ends[0] : ends[-1]]
    else:
        if column.null_count:
            yield np.packbits(column.is_null().to_numpy()).tobytes()
            column = pc.fill_null(column, False if pa.types.is_boolean(type_) else 0)
        yield column.to_numpy().astype("<f8" if pa.types.is_floating(type_) else "<i8").tobytes()


def _nested(array: pa.Array) -> Iterator[bytes | memoryview]:
    if array.null_count:
        yield np.packbits(array.is_null().to_numpy(zero_copy_only=False)).tobytes()
    if pa.types.is_struct(array.type):
        # flatten() puts a struct's own nulls onto its fields.
        for field in array.flatten():
            yield from _canonical(pa.chunked_array([field]))
    else:
        lengths = pc.fill_null(pc.list_value_length(array), -1)
        yield lengths.to_numpy(zero_copy_only=False).astype("<i8").tobytes()
        yield from _canonical(pa.chunked_array([array.flatten()], array.type.value_type))
