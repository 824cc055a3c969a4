"""Reject repeated keys and, on request, exact duplicates."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.inventory.schema import REJECTED_SCHEMA
from shardkit.planning.rows import Rows
from shardkit.planning.splits.assign_splits import Relations
from shardkit.reject_reasons import DUPLICATE, DUPLICATE_KEY
from shardkit.sources.listing import LINE


def drop_duplicates(good: Rows, rejected: pa.Table, relations: Relations) -> tuple[Rows, pa.Table]:
    """Keep the first key of every content and reject the others.

    Contents must be known; ConvertOptions refuses `--dedupe drop` with `--check header`.

    Args:
        good: The rows.
        rejected: The rows rejected so far.
        relations: Duplicates among the rows.

    Returns:
        The rows that are left, and all rejected rows, sorted by key.
    """
    codes = relations.duplicate_codes
    if codes is None:
        raise AssertionError
    rows = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[rows], return_index=True)
    dropped = np.delete(rows, first)
    keys = good["key"]
    dropped_columns = {
        "key": keys.take(dropped).to_pylist(),
        "reason": [DUPLICATE] * len(dropped),
        "message": [f"it has the same bytes as {keys[int(rows[first[codes[row]]])]}" for row in dropped],
        "source_bytes": good["source_bytes"].take(dropped).to_pylist(),
    }
    rejected = pa.concat_tables([rejected, pa.Table.from_pydict(dropped_columns, REJECTED_SCHEMA)]).sort_by("key")
    kept = np.ones(len(good), np.bool_)
    kept[dropped] = False
    return good.filter(kept), rejected


def reject_repeated_keys(inventory: pa.Table) -> pa.Table:
    """Return the inventory with every row but the first of a key rejected; only layouts with lines repeat keys."""
    if LINE.name not in inventory.column_names or len(inventory) < 2:
        return inventory
    keys, lines = inventory["key"].combine_chunks(), inventory[LINE.name].combine_chunks()
    is_repeated = pc.and_(pc.equal(keys[1:], keys[:-1]), pc.is_null(inventory["reason"][1:]))
    repeated = np.flatnonzero(pc.fill_null(is_repeated, fill_value=False).to_numpy(zero_copy_only=False)) + 1
    if not len(repeated):
        return inventory
    messages = inventory["message"].to_pylist()
    reasons = inventory["reason"].to_pylist()
    for i in repeated.tolist():
        reasons[i] = DUPLICATE_KEY
        messages[i] = f"record {lines[i]} repeats the key of record {lines[i - 1]}; keep one of them"
    for name, values in (("reason", reasons), ("message", messages)):
        at = inventory.schema.get_field_index(name)
        inventory = inventory.set_column(
            at, name, pa.array(values, pa.string())
        )  # a compacted column of nulls has no type
    return inventory
