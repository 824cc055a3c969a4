"""Read a part of the rows of a dataset's indexes: those whose keys have a given hash.

Two datasets of any size are compared part by part. The hash of a key is the same in every dataset, so an example of
both is in the same part of both, and only one part of each is in memory.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.index.file import SCHEMA
from shardkit.dataset.index.shards import parse_columns, read_indexes
from shardkit.dataset.manifest import Manifest, Shard
from shardkit.errors import DataError
from shardkit.naming import printable

COLUMNS = [
    *("offset", "length", "key", "key_hash", "label", "labels", "height", "width", "format"),
    *("image_start", "image_bytes", "group", "content_sha256", "changes"),
]
SHARD = "shard"  # added to the columns: the position of the row's shard in Dataset.shards


@dataclass(frozen=True, slots=True)
class Dataset:
    """The shards of a dataset that are compared.

    Attributes:
        manifest: The manifest, read from the dataset's folder.
        splits: Name of the split of each shard.
        shards: The shards.
    """

    manifest: Manifest
    splits: Sequence[str]
    shards: Sequence[Shard]

    @property
    def num_examples(self) -> int:
        """Number of examples in the shards."""
        return sum(shard.num_examples for shard in self.shards)


def compared_shards(manifest: Manifest, skipped: Collection[tuple[str, str, str]]) -> Dataset:
    """Return the shards of a dataset without those to be skipped and the empty ones.

    Args:
        manifest: The manifest, read from the dataset's folder.
        skipped: Identities of shards, see `identity`.
    """
    kept = [
        (split, shard)
        for split, shard in manifest.shards()
        if shard.num_examples and identity(split, shard) not in skipped
    ]
    return Dataset(manifest, [split for split, _ in kept], [shard for _, shard in kept])


def identity(split: str, shard: Shard) -> tuple[str, str, str]:
    """Return what two shards with the same records, rows and split have in common."""
    return split, shard.sha256, shard.index.sha256


def read_part(dataset: Dataset, part: int, num_parts: int) -> pa.Table:
    """Return the rows of one part, with the columns COLUMNS and SHARD.

    Args:
        dataset: The shards.
        part: Number of the part, in [0, num_parts).
        num_parts: Number of parts.

    Raises:
        DataError: A shard or an index is missing or damaged, or a key occurs twice.
        MachineError: One cannot be read.
    """
    root = dataset.manifest.root
    tables = [_empty()]
    for i, raw in enumerate(read_indexes(root, [*dataset.shards])):
        table = parse_columns(root, dataset.shards[i], raw, COLUMNS).select(COLUMNS)
        if num_parts > 1:
            mine = table["key_hash"].to_numpy().view(np.uint64) % np.uint64(num_parts) == part
            table = table.filter(pa.array(mine))
        tables.append(table.append_column(SHARD, pa.array(np.full(len(table), i, np.int32))))
    rows = pa.concat_tables([table.replace_schema_metadata(None) for table in tables]).unify_dictionaries()
    _refuse_repeated_keys(root.url, rows)
    return rows


def _empty() -> pa.Table:
    fields = [SCHEMA.field(name) for name in COLUMNS]
    return pa.schema([*fields, pa.field(SHARD, pa.int32())]).empty_table()


def _refuse_repeated_keys(url: str, rows: pa.Table) -> None:
    if pc.count_distinct(rows["key"]).as_py() == len(rows):
        return
    counts = pc.value_counts(rows["key"])
    key = printable(counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py())
    msg = f"{url}: the key {key!r} occurs more than once, so its examples cannot be compared; convert the dataset again"
    raise DataError(msg)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rows of two datasets, paired by key.

    Attributes:
        a: int64[n], the rows of A that B has too.
        b: int64[n], the rows of B with the same keys.
        removed: int64[m], the rows that only A has.
        added: int64[k], the rows that only B has.
    """

    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    removed: npt.NDArray[np.int64]
    added: npt.NDArray[np.int64]


def pair_by_key(a: pa.Table, b: pa.Table) -> Pairs:
    """Find the rows of two datasets that have the same key."""
    found = pc.fill_null(pc.index_in(a["key"], value_set=b["key"]), -1).to_numpy().astype(np.int64)
    rows = np.flatnonzero(found >= 0)
    is_added = np.ones(len(b), bool)
    is_added[found[rows]] = False
    return Pairs(rows, found[rows], np.flatnonzero(found < 0), np.flatnonzero(is_added))
