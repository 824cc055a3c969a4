"""Which examples of a split are read: by a condition on the index, by fold, or the first few of a fixed random order.

A selection is made once, when the function is made, and what is left is read as if it were the whole split: the same
order, exact lengths, and steps as every split has.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc

from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.errors import CallError
from shardkit.reader.table.folds import in_fold
from shardkit.reader.table.records import RecordTable, read_columns, taken

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
_Tree = Any  # JSON

_REMEDY = "a condition is one expression over the columns of one example; or give a pyarrow.compute expression"
# Expressions of DuckDB's parser that say the same of a row wherever, whenever and beside whatever it is asked.
_EXPRESSIONS = {"COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR", "CAST", "TYPE", "CASE", "BETWEEN", "COLLATE"}
_REFUSED = {
    "SUBQUERY": "a subquery (or ANY, ALL), which would see one shard at a time",
    "WINDOW": "a window function, which would see one shard at a time",
    "STAR": "* or COLUMNS, which stand for several columns",
    "PARAMETER": "a parameter, which nobody gives",
    "POSITIONAL_REFERENCE": "a column by its position",
    "LAMBDA": "a lambda, a list comprehension or ->; list_contains, list_has_any and len do without",
}
# Macros are refused, since any query may lie behind one; these are CASE and functions of a single value.
_PLAIN_MACROS = {"if", "nullif", "split_part", "list_min", "list_max", "list_sum"}


def select(
    table: RecordTable,
    *,
    where: Any,
    fold: tuple[int, int] | None,
    take: int | None,
    training: bool,
) -> RecordTable:
    """Return the table of the chosen examples; see make_dataset_fn for the arguments.

    Raises:
        CallError: a condition that cannot be read, or that nothing meets; a fold or a number out of range.
    """
    # Folds of the whole split, whatever the condition: two conditions would otherwise give two different folds.
    chosen = None if fold is None else in_fold(table, *fold, training=training)
    if where is not None:
        meeting = _meeting(table, where)
        rows = meeting if chosen is None else meeting[chosen[meeting]]
        if not len(rows):
            msg = f"where={str(where)!r} is met by {len(meeting):,} examples of the split, none of them in fold={fold}"
            raise CallError(f"{msg}{' of training' if training else ''}; choose another fold, or fewer")
        table = _selected(table, rows)
    elif chosen is not None:
        table = _selected(table, np.flatnonzero(chosen))
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
    meets, named = _sql(where) if isinstance(where, str) else _expression(where)
    found, empty = [np.zeros(0, np.int64)], set(named)
    for start, index in _indexes(table, list(CONDITION_COLUMNS)):
        found.append(start + meets(index))
        empty -= {name for name in empty if _says_something(index[name])}
    rows = np.concatenate(found)
    if not len(rows):
        msg = f"where={str(where)!r} is met by none of the examples of the split"
        raise CallError(msg + "".join(f"; {_why_empty(name, table)}" for name in CONDITION_COLUMNS if name in empty))
    return rows


def _says_something(column: pa.ChunkedArray) -> bool:
    if pa.types.is_list(column.type):
        return bool(pc.any(pc.greater(pc.list_value_length(column), 0)).as_py())
    return int(column.null_count) < len(column)


def _why_empty(name: str, table: RecordTable) -> str:
    said = f"the column {name} is empty in this dataset"
    if name in {"label", "label_name"}:
        if {LABELS, OBJECT_LABELS} & set(table.features):
            return (
                f"{said}, whose examples have several labels: use labels, their class numbers in the order of the "
                "manifest's classes, as in where='list_contains(labels, 3)'"
            )
        if LABEL in table.features:
            return f"{said}, whose labels are numbers that stand in the records only: none of the columns has them"
        return f"{said}, whose examples have no class"
    if name == "labels" and LABEL in table.features:
        return f"{said}, whose examples have one label each: use label_name or label"
    return f"{said}, which was converted without groups" if name == "group" else said


def _indexes(table: RecordTable, columns: list[str]) -> Iterator[tuple[int, pa.Table]]:
    """First row and index of every shard."""
    for shard_index, shard in enumerate(table.shards):
        yield int(table.starts[shard_index]), read_columns(table.roots[shard_index], shard, columns)


_Condition = tuple[Callable[[pa.Table], _Rows], set[str]]  # rows of an index that meet it, and the columns it names


def _expression(where: Any) -> _Condition:
    if not isinstance(where, pc.Expression):
        msg = (
            f"where must be a SQL condition as a string, or a pyarrow.compute expression; found {type(where).__name__}"
        )
        raise CallError(msg)
    # The one function of Arrow's that gives a row another value each time; all others of an expression are of one row.
    if re.search(r"\brandom\(\{initializer=", str(where)):
        msg = f"where={str(where)!r} calls random(), which gives every worker another selection; use take= for a few"
        raise CallError(msg)

    def meets(index: pa.Table) -> _Rows:
        source = acero.Declaration("table_source", acero.TableSourceNodeOptions(index))
        condition = acero.Declaration("project", acero.ProjectNodeOptions([where], ["meets"]))
        try:
            found = acero.Declaration.from_sequence([source, condition]).to_table(use_threads=False)["meets"]
        except (pa.ArrowException, KeyError) as error:
            raise CallError(_unreadable(str(where), error)) from None
        if not pa.types.is_boolean(found.type):
            msg = f"where={str(where)!r} is of type {found.type}, neither true nor false; compare it with something"
            raise CallError(msg)
        return np.flatnonzero(found.fill_null(False).to_numpy())  # noqa: FBT003 - the value to fill in

    return meets, set(re.findall(r"\w+", str(where))) & set(CONDITION_COLUMNS)


def _sql(where: str) -> _Condition:
    try:
        import duckdb
    except ModuleNotFoundError:
        msg = "a condition as a string needs DuckDB: pip install 'shardkit[sql]', or give a pyarrow.compute expression"
        raise CallError(msg) from None
    # No file, no network, no extension, and nobody may turn that off from within the condition.
    connection = duckdb.connect(
        config={"enable_external_access": "false", "lock_configuration": "true", "threads": "1"}
    )
    named = _check_sql(connection, where)

    def meets(index: pa.Table) -> _Rows:
        connection.register("examples", index.append_column("row", pa.array(np.arange(len(index)))))
        try:
            # DuckDB takes 8 and '1' for true.
            ((_, kind, *_),) = connection.execute(f"DESCRIBE SELECT ({where}\n) FROM examples").fetchall()  # noqa: S608 - as in _query
            if kind != "BOOLEAN":
                msg = f"where={where!r} is of type {kind}, neither true nor false; compare it with something"
                raise CallError(msg)
            found = connection.execute(f"{_query(where)} ORDER BY row").fetchnumpy()
        except duckdb.Error as error:
            raise CallError(_unreadable(where, error)) from None
        rows: _Rows = np.asarray(found["row"], np.int64)
        if len(rows) and (rows[0] < 0 or rows[-1] >= len(index) or (np.diff(rows) <= 0).any()):
            msg = f"where={where!r} gives examples twice, or such as there are not; {_REMEDY}"
            raise CallError(msg)
        return rows

    return meets, named


def _query(where: str) -> str:
    # On a line of its own, so that a comment in it ends.
    return f"SELECT row FROM examples WHERE ({where}\n)"  # noqa: S608 - their own words, in a cell, see _check_sql


def _check_sql(connection: Any, where: str) -> set[str]:
    """Columns that a condition names, once it is known to be one expression over one row, the same on all workers.

    Raises:
        CallError: it is none, or not such a one.
    """

    def refuse(found: str, remedy: str = _REMEDY) -> CallError:
        return CallError(f"where={where!r} cannot be read: {found}; {remedy}")

    if not where.strip():
        raise refuse("it is empty", "leave where out to read everything")
    parsed = _parsed(connection, _query(where))
    if parsed["error"]:
        raise refuse(f"{parsed['error_message']}")
    if len(parsed["statements"]) != 1:
        raise refuse("it holds several statements")
    # Around the condition nothing but what was put there: no UNION, LIMIT, GROUP BY behind a parenthesis of its own.
    node, plain = (one["statements"][0]["node"] for one in (parsed, _parsed(connection, _query("true"))))
    condition = node.pop("where_clause", None)
    plain.pop("where_clause")
    if node != plain:
        raise refuse("it closes its parenthesis and goes on with another part of the query")
    scalar = _scalar_functions(connection)
    named: set[str] = set()
    for kind, expression in _walk(condition):
        if kind == "COLUMN_REF":
            *table, name = [part.lower() for part in expression["column_names"]]
            if name not in CONDITION_COLUMNS or table not in ([], ["examples"]):
                shown = ".".join(expression["column_names"])
                columns = f"it may name {', '.join(CONDITION_COLUMNS)}; text stands in single quotes"
                raise refuse(f"there is no column {shown!r}", columns)
            named.add(name)
        elif kind == "FUNCTION":
            name = expression["function_name"].lower()
            if name not in scalar:
                raise refuse(f"it calls {name}(), which is no function of one row that always gives the same")
        elif kind not in _EXPRESSIONS or expression["type"] == "GROUPING_FUNCTION":
            raise refuse(f"it holds {_REFUSED.get(kind, expression['type'])}")
    return named


def _parsed(connection: Any, query: str) -> _Tree:
    return json.loads(connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()[0])


def _scalar_functions(connection: Any) -> set[str]:
    """Names of DuckDB's functions of one row that give the same for the same arguments, whatever their types."""
    query = """
        SELECT function_name FROM duckdb_functions() WHERE function_type NOT IN ('table', 'table_macro', 'pragma')
        GROUP BY function_name HAVING bool_and(function_type = 'scalar' AND stability = 'CONSISTENT')
    """
    return _PLAIN_MACROS | {name for (name,) in connection.execute(query).fetchall()}


def _walk(tree: _Tree) -> Iterator[tuple[str, _Tree]]:
    """Class and content of each expression; what is refused comes before its parts.

    DuckDB has changed the names of the parts from version to version, so all of them are gone through.
    """
    if isinstance(tree, dict) and "class" in tree:
        yield tree["class"], tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _walk(part)


def _unreadable(where: str, error: Exception) -> str:
    found = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"where={where!r} cannot be read: {found}; it may name {', '.join(CONDITION_COLUMNS)}"
