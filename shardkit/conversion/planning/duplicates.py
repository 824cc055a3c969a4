"""Reject repeated keys and, on request, exact duplicates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import LABEL_NAMES, TARGET
from shardkit.conversion.planning.earlier_examples import reject_rows
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.assign_splits import Relations
from shardkit.reject_reasons import DUPLICATE_KEY
from shardkit.sources.columns import LINE

_OF_SEVERAL = "several label files are about this image; keep one of them"


def drop_duplicates(good: Rows, rejected: pa.Table, relations: Relations) -> tuple[Rows, pa.Table]:
    """Keep the first key of every content and reject the others.

    Contents must be known; ConvertOptions refuses `dedupe=drop` with `check=header`.

    Return the rows that are left, and all rejected rows, sorted by key.
    """
    codes = relations.duplicate_codes
    if codes is None:
        raise AssertionError
    rows = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[rows], return_index=True)
    dropped = np.delete(rows, first)
    keys = good["key"]
    first_keys = (keys[int(rows[first[codes[row]]])] for row in dropped)
    messages = {row: f"it has the same bytes as {key}" for row, key in zip(dropped.tolist(), first_keys, strict=True)}
    return reject_rows(good, rejected, messages)


def reject_repeated_keys(inventory: pa.Table) -> pa.Table:
    """Return the inventory with every row but the first of a key rejected.

    If the rows of a key have different labels, or are of different files, all of them are rejected: nothing tells which
    is right.
    """
    if len(inventory) < 2:
        return inventory
    keys = inventory["key"].combine_chunks()
    has_lines = LINE.name in inventory.column_names
    lines = inventory[LINE.name].combine_chunks() if has_lines else pa.nulls(len(inventory))
    is_same = pc.fill_null(pc.equal(keys[1:], keys[:-1]), fill_value=False).to_numpy(zero_copy_only=False)
    repeated = np.flatnonzero(is_same) + 1
    if not len(repeated):
        return inventory
    messages = inventory["message"].to_pylist()
    reasons = inventory["reason"].to_pylist()
    labels = _labels_of(inventory, np.union1d(repeated, repeated - 1))
    for run in np.split(repeated, np.flatnonzero(np.diff(repeated) > 1) + 1):
        rows = [int(run[0]) - 1, *run.tolist()]  # all of a key
        usable = [row for row in rows if not reasons[row]]
        if not has_lines and len(usable) < 2:
            continue
        said = _different_labels(usable, lines, labels) if has_lines else _OF_SEVERAL
        for i in usable if said else [row for row in usable if row != rows[0]]:
            reasons[i] = DUPLICATE_KEY
            messages[i] = said or f"record {lines[i]} repeats the key of record {lines[i - 1]}; keep one of them"
    for name, values in (("reason", reasons), ("message", messages)):
        at = inventory.schema.get_field_index(name)
        inventory = inventory.set_column(
            at, name, pa.array(values, pa.string())
        )  # a compacted column of nulls has no type
    return inventory


def _labels_of(inventory: pa.Table, rows: npt.NDArray[np.int64]) -> dict[int, Any]:
    """Return the label of each row: a name, a list of names, or a list of numbers; empty if rows have no label."""
    name = next((one for one in (LABEL_NAMES, TARGET, "label_name") if one in inventory.column_names), None)
    return (
        {} if name is None else dict(zip(rows.tolist(), inventory[name].take(pa.array(rows)).to_pylist(), strict=True))
    )


def _different_labels(rows: list[int], lines: pa.Array, labels: Mapping[int, Any]) -> str:
    """Return the sentence about records of one image that have different labels; '' if they have the same.

    `rows` are those of one key that are not rejected yet, in the order of their records.
    """
    if not rows:
        return ""
    first = rows[0]
    label = _comparable(labels.get(first))
    other = next((row for row in rows if _comparable(labels.get(row)) != label), None)
    if other is None:
        return ""
    said = (
        f"records {lines[first]} and {lines[other]} of this image have different labels, {_shown(labels[first])} and "
        f"{_shown(labels[other])}; keep the right one"
    )
    is_class = isinstance(labels[first], str) and isinstance(labels[other], str)
    several = "write all labels of an image into one record, such as 'cat;dog', with `label_separator=;`"
    return f"{said}, or {several}" if is_class else said


def _comparable(label: Any) -> Any:
    """Return the same value for the same classes in any order; numbers have an order."""
    return frozenset(label) if isinstance(label, list) and all(isinstance(one, str) for one in label) else label


def _shown(label: Any) -> str:
    if label is None:
        return "none"
    return ", ".join(map(str, label)) if isinstance(label, list) else repr(label)
