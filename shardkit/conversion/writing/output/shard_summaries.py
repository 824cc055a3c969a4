"""Summaries of finished shards: what their indexes say, so that one worker publishes without reading all indexes.

Each writer gives the summary of its shard; one worker stores all of them as a file in the work folder. A summary is
used while the shard and its index have the sizes that it names; otherwise, or without one, the index is read.
"""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from shardkit import naming
from shardkit.dataset.index.file import ShardSummary, indexed_labels
from shardkit.dataset.manifest import Index, Shard
from shardkit.hashing import sha256_hex
from shardkit.naming import ShardName
from shardkit.parallel.run_token import Fence
from shardkit.storage import Folder
from shardkit.storage.retry import retried

PATH = f"{naming.WORK_FOLDER}/shard-summaries.parquet"
_DIGEST_KEY = b"shardkit.plan_digest"
_SCHEMA = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("index_bytes", pa.int64()),
        pa.field("shard", pa.string()),  # as in the manifest, JSON
        pa.field("labels", pa.binary()),  # int32[m]
        pa.field("label_counts", pa.binary()),  # int64[m]
    ]
)

# A row of the file, which every engine encodes.
SummaryRow = tuple[str, int, str, bytes, bytes]


@dataclass(frozen=True, slots=True)
class CountedShard:
    """A shard with the labels that occur in it; all labels of all shards would not fit in memory."""

    shard: Shard
    labels: npt.NDArray[np.int32]
    label_counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, shard: Shard, index: pa.Table) -> "CountedShard":
        """Return a shard with the labels in the columns ``label`` and ``labels`` of its index."""
        return cls(shard, *np.unique(indexed_labels(index), return_counts=True))


@dataclass(frozen=True, slots=True)
class FinishedShard:
    """A finished shard, described by its index.

    Attributes:
        name: The shard's name.
        index_bytes: Size of the index in bytes.
        counted: The shard, as the manifest describes it, with its labels.
    """

    name: ShardName
    index_bytes: int
    counted: CountedShard

    @classmethod
    def of(cls, name: ShardName, summary: ShardSummary, index: pa.Table, raw: bytes) -> "FinishedShard":
        """Return a shard.

        Args:
            name: The shard's name.
            summary: The summary in its index.
            index: The columns ``label`` and ``labels`` of its index.
            raw: The bytes of its index.
        """
        shard = Shard(
            path=name.records,
            num_examples=summary.num_examples,
            num_bytes=summary.num_bytes,
            sha256=summary.sha256,
            index=Index(path=name.index, sha256=sha256_hex(raw)),
            num_with_gps=summary.num_with_gps,
        )
        return cls(name, len(raw), CountedShard.of(shard, index))

    def as_row(self) -> SummaryRow:
        """Return the shard as a row of the file."""
        counted = self.counted
        labels, counts = counted.labels.astype("<i4").tobytes(), counted.label_counts.astype("<i8").tobytes()
        return self.name.stem, self.index_bytes, counted.shard.model_dump_json(), labels, counts

    def has_sizes(self, num_bytes: Mapping[str, int]) -> bool:
        """Return whether the shard and its index are there with their sizes.

        Args:
            num_bytes: The size of each file in the output, by name.
        """
        expected = self.counted.shard.num_bytes, self.index_bytes
        return (num_bytes.get(self.name.records), num_bytes.get(self.name.index)) == expected


def write_summaries(rows: Iterable[SummaryRow], plan_digest: str, fence: Fence) -> None:
    """Add the summaries of the shards that this run has written to those of earlier runs of the plan."""
    known = {row[0]: row for row in _read_rows(fence.folder, plan_digest)}
    known.update((row[0], row) for row in rows)
    columns = zip(*known.values(), strict=True) if known else [()] * len(_SCHEMA)
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, _SCHEMA.types, strict=True)]
    out = io.BytesIO()
    schema = _SCHEMA.with_metadata({_DIGEST_KEY: plan_digest.encode()})
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    fence.write(PATH, out.getvalue())


def summarised_shards(
    output: Folder, names: Iterable[ShardName], plan_digest: str, num_bytes: Mapping[str, int]
) -> dict[ShardName, FinishedShard]:
    """Return the shards of a plan whose summaries fit the sizes of their files.

    Args:
        output: The output folder.
        names: Names of shards.
        plan_digest: The plan's digest.
        num_bytes: The size of each file in the output, by name.
    """
    rows = {row[0]: row for row in _read_rows(output, plan_digest)}
    found = (_from_row(name, rows[name.stem]) for name in names if name.stem in rows)
    return {one.name: one for one in found if one.has_sizes(num_bytes)}


def _from_row(name: ShardName, row: SummaryRow) -> FinishedShard:
    _, index_bytes, shard, labels, counts = row
    counted = CountedShard(Shard.model_validate_json(shard), np.frombuffer(labels, "<i4"), np.frombuffer(counts, "<i8"))
    return FinishedShard(name, index_bytes, counted)


def _read_rows(output: Folder, plan_digest: str) -> list[SummaryRow]:
    if output.stat(PATH) is None:
        return []
    table = pq.ParquetFile(io.BytesIO(retried(lambda: output.read(PATH)))).read()  # read_table imports pyarrow.dataset
    if table.schema.metadata.get(_DIGEST_KEY) != plan_digest.encode():
        return []
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
