"""What was removed from the datasets of a source stays out of the new one; see dataset.withdrawn."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.withdrawn import WithdrawnExamples, joined, read_withdrawn, salt_of, withdrawn_table, without
from shardkit.sources.datasets.members import DatasetPart, Member
from shardkit.storage import Folder

_IDENTITY = ["key", "content_sha256"]


def without_removed(
    folder: Folder, parts: Sequence[DatasetPart], manifests: Sequence[Manifest], *, with_prefix: bool
) -> Iterator[DatasetPart]:
    """Yield the parts without the rows that were removed from another one of the datasets.

    Args:
        folder: The source's folder.
        parts: The shards.
        manifests: The datasets.
        with_prefix: Whether keys get the name of their dataset's folder: then equal keys of two datasets are those of
            different examples, and only contents count.
    """
    lists = [read_withdrawn(one) for one in manifests]
    for part in parts:
        others = joined([one for number, one in enumerate(lists) if number != part.member])
        if not len(others):
            yield part
            continue
        rows = read_columns(folder, part.shard, _IDENTITY)
        keys = [None] * len(rows) if with_prefix else rows["key"].to_pylist()
        are_in = WithdrawnExamples.of(others).are_in(keys, rows["content_sha256"].to_pylist())
        found = np.flatnonzero(are_in).astype(np.int32).tobytes()
        yield replace(part, changes=replace(part.changes, withdrawn=found))


def removed_from(
    folder: Folder, parts: Sequence[DatasetPart], members: Sequence[Member], *, readmits: bool
) -> pa.Table | None:
    """Return the list of what the datasets list and what `drop` removes; None if there is nothing.

    Args:
        folder: The source's folder.
        parts: The shards.
        members: The datasets.
        readmits: Whether the examples that are converted are taken from the list.

    Raises:
        DataError: A list or an index is damaged.
        MachineError: A dataset cannot be read.
    """
    lists = [read_withdrawn(read_manifest(f"{one.url}@sha256:{one.digest}")) for one in members]
    listed = joined(lists)
    # With one salt for all removals, an append hashes each key once.
    salt = listed["salt"][0].as_py() if len(listed) else salt_of(one.digest for one in members)
    for part in parts:
        if len(part.changes.dropped):
            dropped = pa.array(part.changes.are_dropped(part.shard.num_examples))
            rows = read_columns(folder, part.shard, _IDENTITY).filter(dropped)
            lists.append(withdrawn_table(salt, *(rows[name].to_pylist() for name in _IDENTITY)))
    table = joined(lists)
    for part in parts if readmits else ():
        rows = read_columns(folder, part.shard, _IDENTITY)
        rows = rows.filter(pa.array(part.changes.kept(len(rows))))
        table = without(table, *(rows[name].to_pylist() for name in _IDENTITY))
    return table if len(table) else None
