"""Parquet tables, whose row groups are listed in parallel."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.parquet import ParquetReader
from shardkit.sources.formats.tables.records import Record, TableFile, check_columns
from shardkit.sources.formats.tables.values import widened
from shardkit.storage import Folder, os_errors_as

_BATCH_RECORDS = 8192
_PANDAS_INDEX = "__index_level_"  # pandas writes its index as such a column; it is no data


class _Unreadable:
    """Placeholder for a text that is not UTF-8."""


@dataclass(frozen=True, slots=True)
class ParquetFile(TableFile):
    """A Parquet file."""

    arrow_types: tuple[pa.DataType, ...]  # stored types of the columns; null for columns without a name
    # (column, names that its integers stand for), as Hugging Face's `datasets` writes them
    numbered: tuple[tuple[int, tuple[str, ...]], ...]
    num_row_groups: int

    def parts(self) -> list[int]:
        return list(range(self.num_row_groups))

    def records(self, part: int, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; columns of types that cannot be stored, such as bytes, are never read."""
        carried = [i for i, type_ in enumerate(self.arrow_types) if carried_type(type_) is not None]
        read = [i for i in carried if wanted is None or i in wanted]
        with _opened(self.folder, self.path) as file:
            line = 1 + sum(file.metadata.row_group(i).num_rows for i in range(part))
            batches = file.iter_batches(_BATCH_RECORDS, row_groups=[part], columns=[self.columns[i] for i in read])
            for batch in batches:
                values: list[Any] = [repeat(None, batch.num_rows) for _ in self.columns]
                for i in read:
                    values[i] = _to_python(batch.column(self.columns[i]))
                for record in zip(*values, strict=True):
                    problem = "it holds a text that is not UTF-8" if _Unreadable in record else None
                    yield Record(line, () if problem else record, problem)
                    line += 1

    def type_of(self, column: int, kinds: set[str]) -> pa.DataType | None:
        """See TableFile; the declared type, except for missing or too large values."""
        return widened(carried_type(self.arrow_types[column]), kinds)

    def class_names(self, column: int) -> tuple[str, ...]:
        return dict(self.numbered).get(column, ())


def carried_type(stored: pa.DataType) -> pa.DataType | None:
    """Return the type of the feature that a column becomes, with times and dates as text; None if it cannot be one."""
    if pa.types.is_list(stored) or pa.types.is_large_list(stored) or pa.types.is_fixed_size_list(stored):
        inner = carried_type(stored.value_type)
        return None if inner is None or pa.types.is_list(inner) else pa.list_(inner)
    if pa.types.is_dictionary(stored):
        return carried_type(stored.value_type)
    if pa.types.is_integer(stored) or pa.types.is_boolean(stored):
        return pa.int64()
    if pa.types.is_floating(stored) or pa.types.is_decimal(stored):
        return pa.float32()
    is_text = pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored)
    return pa.string() if is_text or pa.types.is_temporal(stored) else None


# Without the cast, decimals and (before pyarrow 21) half floats would become objects that are not float.
_DOUBLES = {pa.float32(): pa.float64(), pa.list_(pa.float32()): pa.list_(pa.float64())}


def _to_python(column: pa.Array) -> list[Any]:
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    elif (doubles := _DOUBLES.get(carried_type(column.type))) is not None:
        column = column.cast(doubles)
    try:
        found: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # somewhere in the batch
        return [_value(one) for one in column]
    return found


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return _Unreadable


@contextlib.contextmanager
def _opened(folder: Folder, path: str) -> Iterator[ParquetReader]:
    url = f"{folder.url}/{path}"
    try:
        with os_errors_as("read the table", url), folder.open(path) as file:
            try:
                yield ParquetReader(file)
            except OSError as error:
                if error.errno is not None:  # pyarrow's for damage has none
                    raise
                raise _damage(url, "the Parquet file is damaged", error) from error
    except pa.ArrowInvalid as error:
        raise _damage(url, "this is not a Parquet file, or a damaged one", error) from error


def _damage(url: str, what: str, error: Exception) -> DataError:
    return DataError(f"{url}: {what}: {str(error).splitlines()[0]}")


def open_parquet(folder: Folder, path: str) -> ParquetFile:
    """Read the footer of a Parquet file."""
    url = f"{folder.url}/{path}"
    with _opened(folder, path) as file:
        schema, num_row_groups = file.schema_arrow, file.num_row_groups
    columns = check_columns(url, ["" if name.startswith(_PANDAS_INDEX) else name for name in schema.names])
    # Columns without a name are not read.
    types = tuple(type_ if name else pa.null() for name, type_ in zip(columns, schema.types, strict=True))
    return ParquetFile(folder, path, columns, types, _numbered_classes(schema), num_row_groups)


def _numbered_classes(schema: pa.Schema) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the ClassLabel columns of Hugging Face's ``datasets``, alone or in lists (Features.to_dict as JSON)."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return ()
    found = []
    for i, name in enumerate(schema.names):
        feature = features.get(name) if isinstance(features, dict) else None
        if isinstance(feature, list) and feature:  # how datasets 1 to 3 write a list
            feature = feature[0]
        elif isinstance(feature, dict) and "feature" in feature:  # Sequence, later List
            feature = feature["feature"]
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
        if isinstance(names, list) and names and all(isinstance(one, str) for one in names):
            found.append((i, tuple(names)))
    return tuple(found)
