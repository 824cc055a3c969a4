"""Compare the keys in records with those of the index: a record of another shard has another key."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit import naming
from shardkit.dataset import tfrecord
from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.stored_names import names_in_records
from shardkit.errors import DataError, RecordError
from shardkit.reader.records.manifest_check import REMEDY
from shardkit.reader.table.records import RecordTable

KEY = "key"  # feature of every record that shardkit writes


class RecordKeys:
    """The keys of a table's records, as hashes: the keys themselves are not in memory."""

    def __init__(self, table: RecordTable) -> None:
        """Remember the table.

        Args:
            table: The split's record table.
        """
        self._table = table
        self._names = names_in_records(KEY, table.stored_as) if KEY in table.features else ()

    @property
    def are_stored(self) -> bool:
        """Whether the records have keys; records of others may lack them."""
        return bool(self._names)

    def check(self, example_id: int, data: bytes) -> None:
        """Check that a record is the one of an example.

        Args:
            example_id: Row in the table.
            data: The record's data.

        Raises:
            DataError: It is another record.
        """
        if self._names:
            found = self._key_of(data)
            if found is None or key_hashes([found])[0] != self._table.key_hash[example_id]:
                raise self._replaced(example_id, found)

    def check_shard(self, example_id: int) -> None:
        """Check that the shard of a damaged record is not another one: compare the keys of the records before it.

        Raises:
            DataError: It is another one.
        """
        if not self._names:
            return
        root, (shard, number) = self._table.root(example_id), self._table.location(example_id)
        try:
            keys = read_columns(root, shard, [KEY])[KEY][: number + 1].to_pylist()
            with root.open(shard.path) as file:
                records = tfrecord.read_records(file, name=shard.path)
                for at, (key, (_, data)) in enumerate(zip(keys, records, strict=False)):
                    if (found := self._key_of(data)) != key.encode():
                        raise _replaced(f"{root.url}/{shard.path}", at, found, key)
        except (RecordError, OSError):
            return  # neither of these shows another shard

    def check_batch(self, keys: Sequence[bytes], expected: npt.NDArray[np.int64]) -> None:
        """Check the keys of parsed records; takes about a microsecond for each.

        Args:
            keys: Keys in the records.
            expected: int64[n], hashes of the keys in the index.

        Raises:
            DataError: A key is another one.
        """
        wrong = np.flatnonzero(key_hashes(keys) != expected)
        if len(wrong):
            row = int(wrong[0])
            example_id = int(np.flatnonzero(self._table.key_hash == expected[row])[0])
            raise self._replaced(example_id, keys[row])

    def count_damaged(self, number: int) -> int:
        """Return how many records of a shard are damaged, after checking the keys of all others.

        Args:
            number: Number of the shard in the table; its records have keys.

        Raises:
            DataError: A key is another one: this is another shard.
            OSError: The shard cannot be read.
        """
        root, shard = self._table.roots[number], self._table.shards[number]
        index, damaged = read_columns(root, shard, [KEY, "offset", "length"]), 0
        rows = zip(*(index[name].to_pylist() for name in (KEY, "offset", "length")), strict=True)
        with root.open(shard.path) as file:
            for at, (key, offset, length) in enumerate(rows):
                file.seek(offset)
                try:
                    # The first record of another shard may have another length.
                    data = (
                        tfrecord.unframe(file.read(length + tfrecord.OVERHEAD_BYTES), length)
                        if at
                        else next(tfrecord.read_records(file, name=shard.path), (0, b""))[1]
                    )
                    found = self._key_of(data)
                except RecordError:
                    damaged += 1
                    continue
                if found != key.encode():
                    raise _replaced(f"{root.url}/{shard.path}", at, found, key)
        return damaged

    def _key_of(self, data: bytes) -> bytes | None:
        """Return the key in a record; None if it does not have one."""
        values = tf.train.Example.FromString(data).features.feature[self._names[0]].bytes_list.value
        return bytes(values[0]) if len(values) == 1 else None

    def _replaced(self, example_id: int, found: bytes | None) -> DataError:
        shard, number = self._table.location(example_id)
        key = self._table.keys(np.asarray([example_id]))[0]
        return _replaced(f"{self._table.root(example_id).url}/{shard.path}", number, found, key)


def _replaced(path: str, number: int, found: bytes | None, key: str) -> DataError:
    shown = "no key" if found is None else f"the key {naming.printable(found.decode(errors='replace'))!r}"
    return DataError(
        f"{path}: the shard was replaced by another one: record {number} has {shown} where the index has "
        f"{naming.printable(key)!r}; {REMEDY}"
    )
