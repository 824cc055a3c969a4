"""Which examples of a split are read: by a condition on the index, by fold, or the first few of a fixed random order.

A selection is made once, when the function is made, and what is left is read as if it were the whole split: the same
order, exact lengths, and steps as every split has.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import CallError
from shardkit.planning.grouping import group_codes
from shardkit.planning.labelling import Labels
from shardkit.planning.stratifying import split_units
from shardkit.reader.table import RecordTable, read_columns, taken

# What a condition may name: columns of the index that say something of the example.
CONDITION_COLUMNS = (
    "key",
    "label",
    "label_name",
    "labels",
    "height",
    "width",
    "format",
    "group",
    "source_bytes",
    "image_bytes",
    "changes",
)

_Rows = npt.NDArray[np.int64]


def select(
    table: RecordTable,
    *,
    where: Any,
    fold: tuple[int, int] | None,
    take: int | None,
    training: bool,
) -> RecordTable:
    """The table of the examples asked for; see make_dataset_fn for the arguments.

    Raises:
        CallError: a condition that cannot be read, or that nothing meets; a fold or a number out of range.
    """
    if where is not None:
        table = _selected(table, _meeting(table, where))
        if not table.num_examples:
            msg = f"where={str(where)!r} is met by none of the examples of the split"
            raise CallError(msg)
    if fold is not None:
        table = _selected(table, _of_fold(table, *fold, training=training))
    if take is not None:
        if not 1 <= take <= table.num_examples:
            msg = f"take must be from 1 to {table.num_examples:,}, the examples that there are; found {take!r}"
            raise CallError(msg)
        # By key: of a grown dataset, most of the same ones.
        table = _selected(table, np.sort(np.argsort(table.key_hash, kind="stable")[:take]))
    return table


def _selected(table: RecordTable, rows: _Rows) -> RecordTable:
    columns = ["offset", "key_hash", "label", "height", "width", "image_start", "image_bytes"]
    columns += [] if table.frame_bytes is None else ["frame_bytes"]
    kept: dict[str, Any] = {name: taken(getattr(table, name), rows) for name in columns}
    records = np.arange(table.num_examples) if table.record is None else table.record
    return replace(
        table,
        record=taken(records, rows),
        is_png=None if table.is_png is None else table.is_png[rows],
        **kept,
    )


def _meeting(table: RecordTable, where: Any) -> _Rows:
    """Rows that meet a condition, shard by shard: no more than one shard's index is held."""
    meets = _sql(where) if isinstance(where, str) else _expression(where)
    found = [np.zeros(0, np.int64)]
    for start, index in _indexes(table, list(CONDITION_COLUMNS)):
        found.append(start + meets(index))
    return np.concatenate(found)


def _indexes(table: RecordTable, columns: list[str]) -> Iterator[tuple[int, pa.Table]]:
    """First row and index of every shard."""
    for shard_index, shard in enumerate(table.shards):
        yield int(table.starts[shard_index]), read_columns(table.roots[shard_index], shard, columns)


def _expression(where: Any) -> Any:
    if not isinstance(where, pc.Expression):
        msg = (
            f"where must be a SQL condition as a string, or a pyarrow.compute expression; found {type(where).__name__}"
        )
        raise CallError(msg)

    def meets(index: pa.Table) -> _Rows:
        numbered = index.append_column("row", pa.array(np.arange(len(index))))
        try:
            rows: _Rows = numbered.filter(where)["row"].to_numpy()
        except (pa.ArrowException, KeyError) as error:
            raise CallError(_unreadable(str(where), error)) from None
        return rows

    return meets


def _sql(where: str) -> Any:
    try:
        import duckdb
    except ModuleNotFoundError:
        msg = "a condition as a string needs DuckDB: pip install 'shardkit[sql]', or give a pyarrow.compute expression"
        raise CallError(msg) from None
    # No file, no network, no extension, and nobody may turn that off from within the condition.
    connection = duckdb.connect(
        config={"enable_external_access": "false", "lock_configuration": "true", "threads": "1"}
    )

    def meets(index: pa.Table) -> _Rows:
        connection.register("examples", index.append_column("row", pa.array(np.arange(len(index)))))
        try:
            query = f"SELECT row FROM examples WHERE ({where}) ORDER BY row"  # noqa: S608 - their own words, in a cell
            found = connection.execute(query).fetchnumpy()
        except duckdb.Error as error:
            raise CallError(_unreadable(where, error)) from None
        rows: _Rows = np.asarray(found["row"], np.int64)
        return rows

    return meets


def _unreadable(where: str, error: Exception) -> str:
    found = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"where={where!r} cannot be read: {found}; it may name {', '.join(CONDITION_COLUMNS)}"


def _of_fold(table: RecordTable, index: int, count: int, *, training: bool) -> _Rows:
    """Rows of a fold, or in training of all others; stratified by class, groups kept whole."""
    if not 2 <= count <= table.num_examples or not 0 <= index < count:
        msg = f"fold must be (index, count) with 2 <= count <= {table.num_examples:,} and 0 <= index < count; found "
        raise CallError(msg + repr((index, count)))
    groups = [index["group"] for _, index in _indexes(table, ["group"])]
    column = pa.chunked_array([chunk for group in groups for chunk in group.chunks], pa.string())
    column = column if table.record is None else column.take(pa.array(table.record))
    units = None if column.null_count == len(column) else group_codes(column)
    ratios = {str(number): Fraction(1, count) for number in range(count)}
    folds = split_units(table.key_hash.view(np.uint64), Labels([], table.label), ratios, units)
    rows: _Rows = np.flatnonzero((folds != index) if training else (folds == index))
    return rows
