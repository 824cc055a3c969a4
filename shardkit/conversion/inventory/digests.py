"""Digests of a table's columns by their values alone, independent of chunks, encodings and the bytes under nulls."""

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import MASK_PATH, annotation_columns
from shardkit.conversion.inventory.schema import MASK_SHA256
from shardkit.conversion.inventory.table import plain_type
from shardkit.hashing import canonical_json
from shardkit.sources.columns import GROUP

BLOCK_ROWS = 1 << 20  # rows hashed, and so held in another form, at a time
_ONLY_IN_MESSAGES = {"name"}  # of an object, such as "line 3"


class Column(Protocol):
    """Values that are read block by block."""

    def __len__(self) -> int: ...

    def slice(self, start: int, count: int) -> pa.ChunkedArray:
        """Return the values of rows [start, start + count), of fewer at the end."""


def fingerprint(table: pa.Table, origin: str | None = None) -> str:
    """Return the sha256 of an inventory, including its rejected rows; see `rows_digest`.

    The source's `origin` is hashed too.
    """
    return rows_digest(table.schema, {name: table[name] for name in decisive_columns(table)}, origin)


def decisive_columns(table: pa.Table) -> list[str]:
    """Return the columns of an inventory that say which examples it has, in the order in which they are hashed.

    Modification times and the location of images in files are left out: a copy of the source is the same source.
    """
    names = ["key", "split", "label_name", "source_bytes", "content_sha256"]
    names += [GROUP.name] if _has_values(table, GROUP.name) else []
    names += [MASK_SHA256.name] if MASK_SHA256.name in table.column_names else []
    knows_masks = _has_values(table, MASK_SHA256.name)
    return names + [one for one in sorted(annotation_columns(table.schema)) if one != MASK_PATH or not knows_masks]


def _has_values(table: pa.Table, name: str) -> bool:
    return name in table.column_names and table[name].null_count < len(table)


def rows_digest(schema: pa.Schema, columns: Mapping[str, Column], origin: str | None = None) -> str:
    """Return the sha256 of rows of an inventory.

    `columns` are the rows' `decisive_columns`, in their order.
    """
    digest = hashlib.sha256(columns_digest(columns.values(), but=_ONLY_IN_MESSAGES))
    annotations = sorted(annotation_columns(schema))
    digest.update(canonical_json([[name, str(plain_type(schema.field(name).type))] for name in annotations]))
    if origin is not None:
        digest.update(origin.encode())
    return digest.hexdigest()


def columns_digest(columns: Iterable[Column], *, but: Container[str] = ()) -> bytes:
    """Return the sha256 of columns of one length, in the given order; the type of a column of nulls does not matter.

    Fields of structs that `but` names are left out.
    """
    digest = hashlib.sha256()
    for number, column in enumerate(columns):
        if number == 0:
            digest.update(len(column).to_bytes(8, "little"))
        for start in range(0, len(column), BLOCK_ROWS):
            for chunk in _canonical(column.slice(start, BLOCK_ROWS), but):
                digest.update(chunk)
    return digest.digest()


def _canonical(column: pa.ChunkedArray, but: Container[str]) -> Iterator[bytes | memoryview]:
    """Yield a bit for each row that says whether it has a value, then the values."""
    yield np.packbits(column.is_valid().to_numpy()).tobytes()
    array = pa.concat_arrays(column.drop_null().chunks) if column.num_chunks else pa.nulls(0)
    if not len(array):
        return
    type_ = array.type
    if pa.types.is_dictionary(type_):
        array, type_ = array.cast(type_.value_type), type_.value_type
    if pa.types.is_struct(type_):
        for field, values in zip(type_, array.flatten(), strict=True):
            if field.name not in but:
                yield from _canonical(pa.chunked_array([values]), but)
    elif pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        yield pc.list_value_length(array).to_numpy().astype("<i8").tobytes()
        yield from _canonical(pa.chunked_array([array.flatten()]), but)
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
