"""Folds of a split for cross-validation, dealt over all of its examples.

A fold depends on the split and on the number of folds alone, never on a condition: training and evaluation may choose
different parts of their folds, and still share no example.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.errors import CallError
from shardkit.planning.grouping import digest_prefixes, digest_words, group_codes, merge_atomic_groups, repeated_codes
from shardkit.planning.labels import ExampleLabels
from shardkit.planning.stratifying import split_atomic_groups
from shardkit.reader.table.records import RecordTable, read_columns

GROUP, CONTENT = "group", "content_sha256"


def in_fold(table: RecordTable, index: int, count: int, *, training: bool) -> npt.NDArray[np.bool_]:
    """Return bool[N], the examples that evaluation reads of a fold, or in training those of all other folds.

    Folds are stratified by class. Groups and exact duplicates stay whole, also where both together tie examples.

    Args:
        table: All examples of a split.
        index: Number of the fold.
        count: Number of folds.
        training: Whether to return the other folds.

    Raises:
        CallError: The fold does not exist, or no example is left for it.
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
        msg = (
            f"fold={(index, count)} has no example to {'train on' if training else 'evaluate'}: groups and exact "
            f"duplicates stay together, and {table.num_examples:,} examples make too few of them; use fewer folds"
        )
        raise CallError(msg)
    return chosen


def _atomic_groups(table: RecordTable) -> npt.NDArray[np.int64]:
    """int64[N], the examples that share a group or a content; -1 for those that share neither."""
    groups = list[pa.Array]()
    # Eight of the 32 bytes of each content; the others are read again where two of these are equal.
    prefixes = np.empty(table.num_examples, np.uint64)
    for shard_index, start in enumerate(table.starts[:-1].tolist()):
        index = read_columns(table.roots[shard_index], table.shards[shard_index], [GROUP, CONTENT])
        groups += index[GROUP].chunks
        prefixes[start : start + len(index)] = digest_prefixes(index[CONTENT])
    codes = group_codes(pa.chunked_array(groups, pa.string()))
    return merge_atomic_groups(codes, repeated_codes(prefixes, lambda rows: _contents(table, rows)))


def _contents(table: RecordTable, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    shard_of = np.searchsorted(table.starts, rows, side="right") - 1
    found = []
    for shard_index in np.unique(shard_of):
        index = read_columns(table.roots[shard_index], table.shards[shard_index], [CONTENT])
        found.append(digest_words(index[CONTENT])[rows[shard_of == shard_index] - table.starts[shard_index]])
    return np.concatenate(found)
