"""Digests of a table's columns by their values alone, independent of chunks, encodings and the bytes under nulls."""

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import annotation_columns
from shardkit.conversion.inventory.schema import MASK_SHA256
from shardkit.conversion.inventory.table import plain_type
from shardkit.hashing import canonical_json
from shardkit.sources.columns import GROUP

BLOCK_ROWS = 1 << 20  # rows hashed, and so held in another form, at a time


def fingerprint(table: pa.Table, origin: str | None = None) -> str:
    """Return the sha256 of keys, splits, labels, sizes, annotations and, if known, contents of a sorted inventory.

    Modification times and the location of images in files are left out: a copy of the source is the same source.

    Args:
        table: The inventory.
        origin: The source's `origin`, which is hashed too; None for none.
    """
    columns = ["key", "split", "label_name", "source_bytes", "content_sha256"]
    columns += [name for name in (GROUP.name, MASK_SHA256.name) if name in table.column_names]
    annotations = sorted(annotation_columns(table.schema))
    digest = hashlib.sha256(columns_digest(table, [*columns, *annotations]))
    digest.update(canonical_json([[name, str(plain_type(table.schema.field(name).type))] for name in annotations]))
    if origin is not None:
        digest.update(origin.encode())
    return digest.hexdigest()


def columns_digest(table: pa.Table, names: Iterable[str]) -> bytes:
    """Return the sha256 of some columns, in the given order; the type of a column of nulls does not matter."""
    digest = hashlib.sha256(len(table).to_bytes(8, "little"))
    for name in names:
        for start in range(0, len(table), BLOCK_ROWS):
            for chunk in _canonical(table[name].slice(start, BLOCK_ROWS)):
                digest.update(chunk)
    return digest.digest()


def _canonical(column: pa.ChunkedArray) -> Iterator[bytes | memoryview]:
    """Yield a bit for each row that says whether it has a value, then the values."""
    yield np.packbits(column.is_valid().to_numpy()).tobytes()
    array = pa.concat_arrays(column.drop_null().chunks) if column.num_chunks else pa.nulls(0)
    if not len(array):
        return
    type_ = array.type
    if pa.types.is_dictionary(type_):
        array, type_ = array.cast(type_.value_type), type_.value_type
    if pa.types.is_struct(type_):
        for field in array.flatten():
            yield from _canonical(pa.chunked_array([field]))
    elif pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        yield pc.list_value_length(array).to_numpy().astype("<i8").tobytes()
        yield from _canonical(pa.chunked_array([array.flatten()]))
    elif pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_fixed_size_binary(type_):
        # The values' bytes end to end, without a Python object for each.
        array = array.cast(pa.large_binary())
        yield pc.binary_length(array).to_numpy().astype("<i8").tobytes()
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, "<i8")[array.offset : array.offset + len(array) + 1]
        yield memoryview(data)[ends[0] : ends[-1]]
    elif pa.types.is_floating(type_):
        yield array.to_numpy().astype("<f8").tobytes()
    else:
        yield array.to_numpy(zero_copy_only=False).astype("<i8").tobytes()
