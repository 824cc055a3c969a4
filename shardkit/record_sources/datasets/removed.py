"""What was removed from the datasets of a source stays out of the new one; see dataset.withdrawn."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.withdrawn import WithdrawnExamples, joined, read_withdrawn, salt_of, withdrawn_table, without
from shardkit.record_sources.datasets.members import DatasetPart, Member
from shardkit.storage import Folder

_IDENTITY = ["key", "content_sha256"]


def without_removed(
    folder: Folder, parts: Sequence[DatasetPart], manifests: Sequence[Manifest], *, with_prefix: bool
) -> Iterator[DatasetPart]:
    """Yield the parts without the rows that were removed from another one of the datasets.

    A dataset from which one of two copies was removed still has the content: of that content, only the key counts.
    """
    lists = [WithdrawnExamples.of(read_withdrawn(one)) for one in manifests]
    held = [set[bytes]() for _ in manifests]
    for part in parts if len(manifests) > 1 else ():
        if lists[part.member].salts:
            contents = read_columns(folder, part.shard, _IDENTITY)["content_sha256"].to_pylist()
            are_listed = lists[part.member].are_in([None] * len(contents), contents)
            held[part.member].update(contents[row] for row in np.flatnonzero(are_listed).tolist())
    for part in parts:
        others = [number for number, one in enumerate(lists) if one.salts and number != part.member]
        if not others:
            yield part
            continue
        rows = read_columns(folder, part.shard, _IDENTITY)
        examples = list(zip(*(rows[name].to_pylist() for name in _IDENTITY), strict=True))
        are_in = np.zeros(len(rows), np.bool_)
        for number in others:
            # Equal keys with prefixes are those of different examples: only contents count.
            keys = [key if content in held[number] or not with_prefix else None for key, content in examples]
            contents = [None if content in held[number] else content for _, content in examples]
            are_in |= lists[number].are_in(keys, contents)
        found = np.flatnonzero(are_in).astype(np.int32).tobytes()
        yield replace(part, changes=replace(part.changes, withdrawn=found))


def removed_from(
    folder: Folder, parts: Sequence[DatasetPart], members: Sequence[Member], *, readmits: bool
) -> pa.Table | None:
    """Return the list of what the datasets list and what `drop` removes; None if there is nothing."""
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
