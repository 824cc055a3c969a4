"""Divide a split into folds for cross-validation.

A fold depends only on the split and the number of folds, not on a condition: training and evaluation may select
different parts of their folds, and still share no example.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.splits.grouping import (
    digest_prefixes,
    digest_words,
    group_codes,
    merge_atomic_groups,
    repeated_codes,
)
from shardkit.conversion.planning.splits.stratifying import split_atomic_groups
from shardkit.dataset.index.shards import read_columns
from shardkit.errors import CallError
from shardkit.fetch.table.records import RecordTable

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
