"""Select the examples of a split that are read: by a condition on the index, by fold, or a fixed number of them.

A selection is made once, when the input function is made. It is then read as if it were the whole split: the same
order, exact lengths, and the same steps as any split.

A fold depends only on the split and the number of folds, not on a condition: training and evaluation may select
different parts of their folds, and still share no example.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc

from shardkit.arguments.checks import optional, several, whole_number
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.splits.grouping import (
    digest_prefixes,
    digest_words,
    group_codes,
    merge_atomic_groups,
    repeated_codes,
)
from shardkit.conversion.planning.splits.stratifying import split_atomic_groups
from shardkit.dataset.conditions import CONDITION_COLUMNS, Condition
from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.unlabelled import check_labelled
from shardkit.errors import CallError
from shardkit.fetch.table.classes import count_unlabelled
from shardkit.fetch.table.records import RecordTable

# The index tells whether there are as many.
SELECTION_CHECKS = {
    "fold": optional(
        several(whole_number(), "(index, count), two whole numbers such as (0, 5)", lambda values: len(values) == 2)
    ),
    "take": optional(whole_number()),
}


# bool[N], the rows of an index that meet a condition, from the index; and the names of the columns that it reads.
_Condition = tuple[Callable[[pa.Table], npt.NDArray[np.bool_]], frozenset[str]]


def select(
    table: RecordTable,
    *,
    where: Any,
    fold: tuple[int, int] | None,
    take: int | None,
    training: bool,
) -> RecordTable:
    """Return the table of the selected examples."""
    # Folds of the whole split, whatever the condition: two conditions would otherwise give two different folds.
    chosen = None if fold is None else in_fold(table, *fold, training=training)
    if where is not None:
        meeting = _rows_that_meet(table, where)
        rows = meeting if chosen is None else meeting[chosen[meeting]]
        if not len(rows):
            msg = f"where={str(where)!r} is met by {len(meeting):,} examples of the split, none of them in fold={fold}"
            raise CallError(f"{msg}{' of training' if training else ''}; choose another fold, or fewer folds")
        table = table.select(rows)
    elif chosen is not None:
        table = table.select(np.flatnonzero(chosen))
    if take is not None:
        if not 1 <= take <= table.num_examples:
            raise CallError(f"take must be from 1 to {table.num_examples:,}, the number of examples; found {take!r}")
        # By the hash of the key: a later version of the dataset, with more examples, keeps most of them.
        table = table.select(np.sort(np.argsort(table.key_hash, kind="stable")[:take]))
    return table


def select_labelled(table: RecordTable, *, where: Any, **chosen: Any) -> RecordTable:
    """Return the table of the examples selected for training or evaluation; see `select` and `check_labelled`."""
    table = select(table, where=where, **chosen)
    check_labelled(table.features, count_unlabelled(table), table.num_examples, where)
    return table


def _rows_that_meet(table: RecordTable, where: Any) -> npt.NDArray[np.int64]:
    """Return the rows that meet a condition; reads one shard's index at a time, to bound the memory."""
    meets, columns = _condition(where)
    found, empty = [np.zeros(0, np.int64)], set(columns)
    for start, root, shard in zip(table.starts.tolist(), table.roots, table.shards, strict=False):
        index = read_columns(root, shard, list(CONDITION_COLUMNS))
        found.append(start + np.flatnonzero(meets(index)))
        empty -= {name for name in empty if _has_values(index[name])}
    rows = np.concatenate(found)
    if not len(rows):
        msg = f"where={str(where)!r} is met by none of the examples of the split"
        raise CallError(msg + "".join(f"; {_why_empty(name, table)}" for name in CONDITION_COLUMNS if name in empty))
    return rows


def _has_values(column: pa.ChunkedArray) -> bool:
    if pa.types.is_list(column.type):
        return bool(pc.any(pc.greater(pc.list_value_length(column), 0)).as_py())
    return int(column.null_count) < len(column)


def _why_empty(name: str, table: RecordTable) -> str:
    empty = f"the column {name} is empty in this dataset"
    if name in {"label", "label_name"}:
        if {LABELS, OBJECT_LABELS} & set(table.features):
            return (
                f"{empty}, whose examples have several labels: use the column labels, which holds class numbers (in "
                "the order of the manifest's classes), as in where='3 in labels'"
            )
        if LABEL in table.features:
            return f"{empty}, whose labels are numbers that only the records hold, not the index"
        return f"{empty}, whose examples have no class"
    if name == "labels" and LABEL in table.features:
        return f"{empty}, whose examples have one label each: use label_name or label"
    return f"{empty}, which was converted without groups" if name == "group" else empty


def _condition(where: Any) -> _Condition:
    if isinstance(where, str):
        condition = Condition(where)
        return lambda index: condition.mask(index).to_numpy(zero_copy_only=False), condition.columns
    if isinstance(where, pc.Expression):
        return _of_expression(where)
    msg = f"where must be a condition as a string, or a pyarrow.compute expression; found {type(where).__name__}"
    raise CallError(msg)


def _of_expression(where: pc.Expression) -> _Condition:
    # random() is the only function of an Arrow expression whose value depends on anything but the row.
    if re.search(r"\brandom\(\{initializer=", str(where)):
        msg = f"where={str(where)!r} calls random(), which gives every worker another selection; use take= for a few"
        raise CallError(msg)

    def mask(index: pa.Table) -> npt.NDArray[np.bool_]:
        source = acero.Declaration("table_source", acero.TableSourceNodeOptions(index))
        condition = acero.Declaration("project", acero.ProjectNodeOptions([where], ["meets"]))
        try:
            found = acero.Declaration.from_sequence([source, condition]).to_table(use_threads=False)["meets"]
        except (pa.ArrowException, KeyError) as error:
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
            columns = ", ".join(CONDITION_COLUMNS)
            raise CallError(f"where={str(where)!r} cannot be evaluated: {problem}; the columns are {columns}") from None
        if not pa.types.is_boolean(found.type):
            msg = f"where={str(where)!r} is a value of type {found.type}, no condition; compare it with something"
            raise CallError(msg)
        meets: npt.NDArray[np.bool_] = found.fill_null(False).to_numpy()  # noqa: FBT003 - the value to fill in
        return meets

    return mask, frozenset(re.findall(r"\w+", str(where))) & frozenset(CONDITION_COLUMNS)


GROUP, CONTENT = "group", "content_sha256"


def in_fold(table: RecordTable, index: int, count: int, *, training: bool) -> npt.NDArray[np.bool_]:
    """Return bool[N], the examples of a fold, or in training those of all other folds.

    Folds are stratified by class. Examples that share a group or are exact duplicates are in the same fold, also if
    only a chain of groups and duplicates connects them.
    """
    if not 2 <= count <= table.num_examples or not 0 <= index < count:
        msg = f"fold must be (index, count) with 2 <= count <= {table.num_examples:,} and 0 <= index < count; found "
        raise CallError(msg + repr((index, count)))
    ratios = {str(number): Fraction(1, count) for number in range(count)}
    folds = split_atomic_groups(
        table.key_hash.view(np.uint64), ExampleLabels([], table.label), ratios, _atomic_groups(table)
    )
    chosen: npt.NDArray[np.bool_] = (folds != index) if training else (folds == index)
    if not chosen.any():
        raise CallError(
            f"fold={(index, count)} has no example to {'train on' if training else 'evaluate'}: groups and exact "
            f"duplicates stay together, so {table.num_examples:,} examples are too few; use fewer folds"
        )
    return chosen


def _atomic_groups(table: RecordTable) -> npt.NDArray[np.int64]:
    """Return the atomic group of each example, int64[N]: the same for examples that share group or content, else -1."""
    groups = list[pa.Array]()
    # 8 of the 32 bytes of each digest; the others are read again for those that are equal.
    prefixes = np.empty(table.num_examples, np.uint64)
    for shard_index, start in enumerate(table.starts[:-1].tolist()):
        index = read_columns(table.roots[shard_index], table.shards[shard_index], [GROUP, CONTENT])
        groups += index[GROUP].chunks
        prefixes[start : start + len(index)] = digest_prefixes(index[CONTENT])
    codes = group_codes(pa.chunked_array(groups, pa.string()))
    return merge_atomic_groups(codes, repeated_codes(prefixes, lambda rows: _contents(table, rows)))


def _contents(table: RecordTable, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    shard_of = table.shard_of(rows)
    found = []
    for shard_index in np.unique(shard_of):
        index = read_columns(table.roots[shard_index], table.shards[shard_index], [CONTENT])
        found.append(digest_words(index[CONTENT])[rows[shard_of == shard_index] - table.starts[shard_index]])
    return np.concatenate(found)
