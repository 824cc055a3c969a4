"""Hold the inventory of a whole source as one table, in little enough memory for a hundred million files.

Every column is one chunk of its narrowest type. Taking rows of a column with many chunks would make Arrow concatenate
them, again for every shard. Digests of columns depend on their values alone: not on chunks, encodings and the bytes
under nulls.
"""

import hashlib
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import MASK_PATH, annotation_columns
from shardkit.hashing import canonical_json
from shardkit.sources.columns import GROUP, LINE, MASK_SHA256

_FEW_VALUES = {"label_name", "format", "changes", "profile", "reason", "message", "split"}
_WHOLE_NUMBERS = {"source_bytes", "width", "height", "content_crc32c"}
_SIGNED = (pa.int8(), pa.int16(), pa.int32())
_UNSIGNED = (pa.uint8(), pa.uint16(), pa.uint32())
BLOCK_ROWS = 1 << 20  # rows hashed, and so held in another form, at a time
_ONLY_IN_MESSAGES = {"name"}  # of an object, such as "line 3"


def compact(table: pa.Table) -> pa.Table:
    """Return the same rows in less memory: texts as dictionaries, numbers and nulls in their narrowest types."""
    for i, name in enumerate(table.column_names):
        column = table[name]
        if column.null_count == len(column):
            column = pa.nulls(len(column))
        elif name in _FEW_VALUES:
            column = column.dictionary_encode()
        elif name in _WHOLE_NUMBERS:
            column = column.cast(_narrowest(column))
        table = table.set_column(i, name, column)
    return table


def _narrowest(column: pa.ChunkedArray) -> pa.DataType:
    found = pc.min_max(column).as_py()
    fitting = [type_ for type_ in _UNSIGNED if found["min"] >= 0 and found["max"] < 1 << type_.bit_width]
    return fitting[0] if fitting else column.type


def plain_type(type_: pa.DataType) -> pa.DataType:
    """Return the type that a column of this type has in listings, plans and fingerprints."""
    return pa.string() if pa.types.is_large_string(type_) else type_


def ordered_by_key(tables: list[pa.Table]) -> list[pa.Table]:
    """Return the tables in the order of their keys if that sorts all rows; otherwise as they are.

    Parts of one folder follow each other, so this often saves sorting the rows. Otherwise rows of one key must stay in
    the order of the source, which must not depend on where tables begin.
    """
    if not all(_is_sorted(table["key"]) for table in tables):
        return tables
    ordered = sorted(tables, key=lambda table: str(table["key"][0]))
    follow = (str(one["key"][-1]) < str(other["key"][0]) for one, other in itertools.pairwise(ordered))
    return ordered if all(follow) else tables


def _is_sorted(keys: pa.ChunkedArray) -> bool:
    return pc.all(pc.less_equal(keys[:-1], keys[1:])).as_py() is not False


def concat_sorted(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables sorted by key, rows of one key in the order of their file.

    The list of tables is emptied, and each column is freed once it is copied.
    """
    whole = pa.concat_tables(tables, promote_options="permissive")
    tables.clear()
    names, columns = whole.column_names, dict(zip(whole.column_names, whole.columns, strict=True))
    del whole
    sorting = {name: _as_one(columns, name) for name in ("key", LINE.name) if name in names}
    order = _order(pa.table(sorting))
    made = {}
    for name in names:
        column = sorting.pop(name) if name in sorting else _as_one(columns, name)
        made[name] = column if order is None else column.take(order)
        del column
        release_unused()
    return pa.table(made)


def _as_one(columns: dict[str, pa.ChunkedArray], name: str) -> pa.Array:
    """Return a column, which is removed from the others, as one array."""
    column = columns.pop(name)
    if pa.types.is_string(column.type):
        column = column.cast(pa.large_string())  # one chunk of `string` holds at most 2 GiB
    if not pa.types.is_dictionary(column.type):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    column = column.unify_dictionaries()
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks], column.type.index_type)
    names = column.chunk(0).dictionary
    fitting = next(type_ for type_ in _SIGNED if len(names) <= 1 << (type_.bit_width - 1))
    return pa.DictionaryArray.from_arrays(pa.concat_arrays(indices.cast(fitting).chunks), names)


def release_unused() -> None:
    """Return freed memory to the operating system."""
    # Arrow's allocator keeps freed memory, here as much as the inventory takes.
    pa.default_memory_pool().release_unused()


def _order(columns: pa.Table) -> pa.Array | None:
    """Return the rows in sorted order; None if they are sorted already."""
    keys = columns["key"]
    if LINE.name not in columns.column_names and _is_sorted(keys):
        return None
    order = pc.sort_indices(columns, [(name, "ascending") for name in columns.column_names])
    return order.cast(pa.uint32()) if len(order) < 1 << 32 else order


class Column(Protocol):
    """Values that are read block by block."""

    def __len__(self) -> int: ...

    def slice(self, start: int, count: int) -> pa.ChunkedArray:
        """Return the values of rows [start, start + count), of fewer at the end."""


def fingerprint(table: pa.Table, origin: str | None = None) -> str:
    """Return the sha256 of an inventory with its rejected rows, and of the source's `origin`; see `rows_digest`."""
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
    """Return the sha256 of rows of an inventory by their `decisive_columns`, in their order."""
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
