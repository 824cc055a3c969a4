"""Read a split in ranges of its shards' bytes, so that several workers read one shard.

A record belongs to the range in which its frame begins. The manifest has the sizes of the shards, so ranges are known
before an index is read, and the index says where a range's first record begins: no worker reads a shard from its start.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from shardkit.dataset.conditions import Condition
from shardkit.dataset.index.shards import parse_columns, read_indexes, shard_errors
from shardkit.dataset.manifest import Manifest, Shard
from shardkit.dataset.record_files import RecordFiles
from shardkit.errors import RecordError
from shardkit.records.example import Example
from shardkit.records.record import Schema, damaged
from shardkit.storage import Folder

RANGE_BYTES = 32 << 20  # 32 MiB: a second or two of work, and enough that reading the shard's index costs little
LEAST_RANGE_BYTES = 1 << 20  # 1 MiB: a range of one byte would be an element of the job for each byte of the dataset
_READ_BYTES = 8 << 20  # 8 MiB: read at once, which bounds the memory


class DamagedExample(NamedTuple):
    """An example whose record is damaged.

    Attributes:
        key: Its key, from the index.
        message: One sentence: the shard, the record, what was found, and the remedy.
        num_bytes: Length of the record's data in bytes.
    """

    key: str
    message: str
    num_bytes: int


def split_ranges(manifest: Manifest, split: str, range_bytes: int = RANGE_BYTES) -> Iterator[tuple[Shard, int, int]]:
    """Yield the ranges of a split, in the order of its shards.

    Args:
        manifest: The dataset's manifest.
        split: Name of the split.
        range_bytes: Size of a range; the last one of a shard is smaller.

    Yields:
        The shard, and the bytes [start, stop) in which the records of the range begin.
    """
    for shard in manifest.split(split).shards:
        for start in range(0, shard.num_bytes, range_bytes):
            yield shard, start, min(start + range_bytes, shard.num_bytes)


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads the examples of ranges; small and pickled into a job.

    Attributes:
        root: The dataset's folder.
        schema: What all examples of the dataset share.
        where: A condition on the index; None for all examples.
    """

    root: Folder
    schema: Schema
    where: str | None = None

    def read(self, shard: Shard, start: int, stop: int) -> Iterator[Example | DamagedExample]:
        """Yield the examples of a range, in the order of the shard; see `split_ranges`.

        Raises:
            DataError: The shard or its index is missing, or is not the manifest's.
            MachineError: The disk or the network failed.
        """
        condition = None if self.where is None else Condition(self.where)
        columns = list(dict.fromkeys(["offset", "length", "key", *(condition.columns if condition else ())]))
        [raw] = read_indexes(self.root, [shard])
        table = parse_columns(self.root, shard, raw, columns)
        mask = pc.and_(pc.greater_equal(table["offset"], start), pc.less(table["offset"], stop))
        if condition is not None:
            mask = pc.and_(mask, condition.mask(table))
        rows = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        offsets, lengths = table["offset"].to_numpy()[rows], table["length"].to_numpy()[rows]
        keys = table["key"].take(rows).to_pylist()
        files, first = RecordFiles([(self.root, shard.path)]), 0
        while first < len(rows):
            fitting = int(np.searchsorted(np.cumsum(lengths[first:]), _READ_BYTES, "right"))
            end = first + max(1, fitting)
            found = files.read(np.zeros(end - first, np.int64), offsets[first:end], lengths[first:end])
            for at, data in zip(range(first, end), found, strict=True):
                record, offset = int(rows[at]), int(offsets[at])
                if isinstance(data, RecordError):
                    error = damaged(self.root, shard.path, record, keys[at], data)
                    yield DamagedExample(keys[at], str(error), int(lengths[at]))
                    continue
                if isinstance(data, Exception):
                    with shard_errors(self.root, shard.path):
                        raise data
                key = keys[at] if self.schema.stored_as else None
                yield Example(data, self.schema, shard.path, record, offset, key)
            first = end
