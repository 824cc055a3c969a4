"""The examples of a split as a sequence, read record by record without TensorFlow.

Of the indexes it keeps offsets, lengths and keys: about 100 bytes for each example. A record is read when it is asked
for, and both of its CRCs are checked. No file stays open, so a sequence works in forked and spawned processes; pickled,
it is the dataset's path, and the process that unpickles it reads the indexes again.
"""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset import example as example_format
from shardkit.dataset.conditions import Condition
from shardkit.dataset.index import SCHEMA
from shardkit.dataset.manifest import Manifest, Shard, read_manifest
from shardkit.dataset.pinning import pinned
from shardkit.dataset.shard_indexes import parse_columns, read_indexes
from shardkit.dataset.tfrecord import HEADER_BYTES, OVERHEAD_BYTES, frame_problem
from shardkit.errors import CONVERT_AGAIN, CallError, DataError, ManifestError, RecordError, UnknownNameError
from shardkit.examples.example import Example, Location
from shardkit.storage import unreadable

_LOCATING = ["offset", "length"]
_SUGGESTIONS = 3
_MAX_COMPARED = 10_000  # keys compared with an unknown one: about a second


class Examples(Sequence[Example]):
    """The examples of a split, in the order of its shards.

    Attributes:
        manifest: The dataset's manifest.
        split: Name of the split.
    """

    def __init__(
        self,
        dataset: str,
        split: str,
        where: str | None = None,
        *,
        columns: Sequence[str] = (),
        num_shards: int | None = None,
    ) -> None:
        """Read the indexes of a split.

        Args:
            dataset: The dataset's folder or its manifest.json; local, s3:// or gs://.
            split: Name of the split.
            where: A condition on the index, such as ``"label_name = 'cat' and height >= 64"``; None for all examples.
            columns: Further columns of the index to keep, see `index`.
            num_shards: Number of shards, the first ones that are not empty; None for all.

        Raises:
            DataError: The dataset or an index is missing or damaged.
            UnknownNameError: There is no such split.
            CallError: The condition is wrong.
            MachineError: The disk or the network failed.
        """
        self.manifest: Manifest = read_manifest(dataset)
        self.split = split
        self._call = (dataset, split, where, tuple(columns), num_shards)
        condition = None if where is None else Condition(where)
        names = list(dict.fromkeys(["key", *columns]))
        wanted = list(dict.fromkeys([*_LOCATING, *names, *(condition.columns if condition else ())]))
        shards = [shard for shard in self.manifest.split(split).shards if shard.num_examples][:num_shards]
        root = self.manifest.root
        tables, records, offsets, lengths = [], [], [], []
        for shard, raw in zip(shards, read_indexes(root, shards), strict=True):
            table = parse_columns(root, shard, raw, wanted)
            numbers = np.arange(len(table))
            if condition is not None:
                mask = condition.mask(table)
                table, numbers = table.filter(mask), numbers[mask.to_numpy(zero_copy_only=False)]
            tables.append(table.select(names))
            records.append(numbers)
            offsets.append(table["offset"].to_numpy())
            lengths.append(table["length"].to_numpy())
        self._shards: list[Shard] = shards
        self._starts = np.concatenate(([0], np.cumsum([len(table) for table in tables]))).astype(np.int64)
        none = np.zeros(0, np.int64)
        self._record: npt.NDArray[np.int64] = np.concatenate([none, *records])
        self._offset: npt.NDArray[np.int64] = np.concatenate([none, *offsets])
        self._length: npt.NDArray[np.int64] = np.concatenate([none, *lengths])
        self._table = pa.concat_tables(tables).unify_dictionaries() if tables else SCHEMA.empty_table().select(names)
        self._chosen: range | npt.NDArray[np.int64] = range(len(self._table))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._call, self.manifest.digest, self._chosen)

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, at: int | str) -> Example: ...

    @overload
    def __getitem__(self, at: slice) -> "Examples": ...

    def __getitem__(self, at: int | str | slice) -> "Example | Examples":
        if isinstance(at, str):
            return self._read(self._row_of(at))
        if isinstance(at, slice):
            return self._with(self._chosen[at])
        if not -len(self) <= at < len(self):
            msg = f"there are {len(self):,} examples; found the number {at}"
            raise IndexError(msg)
        return self._read(int(self._chosen[at]))

    def __iter__(self) -> Iterator[Example]:
        return (self._read(int(row)) for row in self._chosen)

    def has_key(self, key: str) -> bool:
        """Return whether there is an example with this key."""
        return bool(pc.index(self.index["key"], key).as_py() >= 0)

    def __repr__(self) -> str:
        url, classes = self.manifest.root.url, len(self.manifest.classes)
        return f"<Examples {url} {self.split}: {len(self):,} examples, {classes:,} classes>"

    @property
    def classes(self) -> Sequence[str]:
        """Class names of the dataset, in label order."""
        return self.manifest.classes

    @property
    def index(self) -> pa.Table:
        """The column ``key`` and those asked for, a row for each example."""
        if isinstance(self._chosen, range) and self._chosen == range(len(self._table)):
            return self._table
        return self._table.take(pa.array(np.asarray(self._chosen)))

    def select(self, positions: npt.NDArray[np.int64]) -> "Examples":
        """Return the examples at some positions, in their order.

        Args:
            positions: int64[n], positions in this sequence.
        """
        return self._with(np.asarray(self._chosen)[positions])

    def similar_keys(self, key: str) -> list[str]:
        """Return up to three keys like one that does not exist: those with the same file name, else similar ones."""
        keys = self.index["key"]
        name = key.rpartition("/")[2]
        same_name = keys.filter(pc.or_(pc.equal(keys, name), pc.ends_with(keys, f"/{name}"))).slice(0, _SUGGESTIONS)
        if len(same_name):
            return [*same_name.to_pylist()]
        return difflib.get_close_matches(key, keys.slice(0, _MAX_COMPARED).to_pylist(), _SUGGESTIONS)

    def _with(self, chosen: range | npt.NDArray[np.int64]) -> "Examples":
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._chosen = chosen
        return other

    def _row_of(self, key: str) -> int:
        keys = self.index["key"]
        position = pc.index(keys, key).as_py()
        if position >= 0:
            return int(self._chosen[position])
        close = self.similar_keys(key)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        msg = f"the split {self.split!r} of {self.manifest.root.url} has no example with the key {key!r}{hint}"
        raise UnknownNameError(msg)

    def _read(self, row: int) -> Example:
        shard = self._shards[int(np.searchsorted(self._starts, row, side="right")) - 1]
        offset, length = int(self._offset[row]), int(self._length[row])
        return read_example(
            self.manifest, shard, int(self._record[row]), offset, length, self._table["key"][row].as_py()
        )


def read_example(manifest: Manifest, shard: Shard, record: int, offset: int, length: int, key: str) -> Example:
    """Read one record of a shard, and check both of its CRCs.

    Args:
        manifest: The dataset's manifest, read from its folder.
        shard: The shard.
        record: Number of the record in the shard.
        offset: Offset of the record's frame in the shard, in bytes.
        length: Length of the record's data in bytes.
        key: Key of the example, for errors.

    Raises:
        RecordError: The record is damaged.
        DataError: The shard is missing, or the record lacks a feature.
        MachineError: The shard cannot be read.
    """
    root = manifest.root
    location = Location(root.url, shard.path, record, offset, length)
    try:
        framed = root.read_range(shard.path, offset, length + OVERHEAD_BYTES)
    except FileNotFoundError:
        msg = f"{root.url}/{shard.path}: the shard is missing; restore it or {CONVERT_AGAIN}"
        raise DataError(msg) from None
    except OSError as error:
        raise unreadable(f"{root.url}/{shard.path}", error) from error
    if problem := frame_problem(framed, length):
        msg = f"{location} ({key}): {problem}; restore the shard or {CONVERT_AGAIN}"
        raise RecordError(msg)
    data = framed[HEADER_BYTES : HEADER_BYTES + length]
    return Example(example_format.decode(data), manifest.features, manifest.classes, location)


def _reopened(
    call: tuple[str, str, str | None, tuple[str, ...], int | None], digest: str, chosen: range | npt.NDArray[np.int64]
) -> Examples:
    dataset, split, where, columns, num_shards = call
    path = f"{pinned(dataset)[0]}@sha256:{digest}"  # the dataset may have grown since
    try:
        examples = Examples(path, split, where, columns=columns, num_shards=num_shards)
    except ManifestError:
        root = read_manifest(dataset).root  # if there is none any more, this says so
        msg = f"{root.url}: the dataset was replaced after these examples were opened; open it again"
        raise CallError(msg) from None
    return examples._with(chosen)  # noqa: SLF001 - the other half of __reduce__
