"""Rows that stand twice: a key that a table names again, and, on demand, contents that another key has already."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.planning.assign_splits import Ties
from shardkit.planning.rows import Rows
from shardkit.reject_reasons import DUPLICATE, DUPLICATE_KEY
from shardkit.sources.listing import LINE

REJECTED_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("source_bytes", pa.int64(), nullable=False),
    ]
)


def without_duplicates(good: Rows, rejected: pa.Table, ties: Ties) -> tuple[Rows, pa.Table]:
    """Return the first key of every content, and the rejects with the others among them.

    Contents must be known: ConvertOptions refuses `--dedupe drop` with `--check header`.
    """
    codes = ties.duplicate_codes
    if codes is None:
        raise AssertionError
    rows = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[rows], return_index=True)
    dropped = np.delete(rows, first)
    keys = good["key"]
    made = {
        "key": keys.take(dropped).to_pylist(),
        "reason": [DUPLICATE] * len(dropped),
        "message": [f"it has the same bytes as {keys[int(rows[first[codes[row]]])]}" for row in dropped],
        "source_bytes": good["source_bytes"].take(dropped).to_pylist(),
    }
    rejected = pa.concat_tables([rejected, pa.Table.from_pydict(made, REJECTED_SCHEMA)]).sort_by("key")
    kept = np.ones(len(good), np.bool_)
    kept[dropped] = False
    return good.kept(kept), rejected


def without_repeats(inventory: pa.Table) -> pa.Table:
    """The inventory with all rows of a key but the first rejected; only layouts with lines can repeat one."""
    if LINE.name not in inventory.column_names or len(inventory) < 2:
        return inventory
    keys, lines = inventory["key"].combine_chunks(), inventory[LINE.name].combine_chunks()
    same = pc.and_(pc.equal(keys[1:], keys[:-1]), pc.is_null(inventory["reason"][1:]))
    again = np.flatnonzero(pc.fill_null(same, fill_value=False).to_numpy(zero_copy_only=False)) + 1
    if not len(again):
        return inventory
    messages = inventory["message"].to_pylist()
    reasons = inventory["reason"].to_pylist()
    for i in again.tolist():
        reasons[i] = DUPLICATE_KEY
        messages[i] = f"record {lines[i]} names it again after record {lines[i - 1]}; keep one of them"
    for name, values in (("reason", reasons), ("message", messages)):
        at = inventory.schema.get_field_index(name)
        inventory = inventory.set_column(at, name, pa.array(values, pa.string()))  # a compacted one has no type
    return inventory
