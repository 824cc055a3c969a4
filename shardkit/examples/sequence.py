"""The examples of a split as a sequence, read record by record without TensorFlow.

Of the indexes it keeps offsets, lengths and keys: about 100 bytes for each example. A record is read when it is asked
for, and both of its CRCs are checked. No file stays open, so a sequence works in forked and spawned processes; pickled,
it is the dataset's path, and the process that unpickles it reads the indexes again.
"""

import bisect
import difflib
import itertools
import operator
import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.arguments.checks import optional, text
from shardkit.dataset.conditions import Condition
from shardkit.dataset.index import SCHEMA
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.pinning import pinned
from shardkit.dataset.shard_indexes import parse_columns, read_indexes
from shardkit.errors import CallError, ManifestError, RecordError, UnknownNameError
from shardkit.examples.example import Example, Schema
from shardkit.examples.reading import read_data
from shardkit.storage import OpenFiles

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
        text("split", split)
        optional(text)("where", where)
        self.manifest: Manifest = read_manifest(dataset)
        self.split = split
        # A process that unpickles the sequence may have another working directory.
        place = dataset if "://" in dataset else os.path.abspath(os.path.expanduser(dataset))
        self._call = (place, split, where, tuple(columns), num_shards)
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
        self._paths = [shard.path for shard in shards]
        self._starts: list[int] = [0, *itertools.accumulate(len(table) for table in tables)]
        none = np.zeros(0, np.int64)
        self._record: npt.NDArray[np.int64] = np.concatenate([none, *records])
        self._offset: npt.NDArray[np.int64] = np.concatenate([none, *offsets])
        self._length: npt.NDArray[np.int64] = np.concatenate([none, *lengths])
        self._table = pa.concat_tables(tables).unify_dictionaries() if tables else SCHEMA.empty_table().select(names)
        self._chosen: range | npt.NDArray[np.int64] = range(len(self._table))
        self._files = OpenFiles(root)
        self._schema = Schema.of(self.manifest)

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
        try:
            row = int(self._chosen[operator.index(at)])
        except IndexError:
            msg = f"there are {len(self):,} examples; found the number {at}"
            raise IndexError(msg) from None
        except TypeError:
            msg = f"an example has a number or a key, and examples a slice; found {at!r}"
            raise TypeError(msg) from None
        return self._read(row)

    def __iter__(self) -> Iterator[Example]:
        return (self._read(int(row)) for row in self._chosen)

    def has_key(self, key: str) -> bool:
        """Return whether there is an example with this key."""
        return bool(pc.index(self.index["key"], key).as_py() >= 0)

    def _repr_html_(self) -> str:
        from shardkit.examples.html import examples_html

        return examples_html(self)

    def __repr__(self) -> str:
        url, classes = self._schema.dataset, len(self.class_names)
        return f"<Examples {url} {self.split}: {len(self):,} examples, {classes:,} classes>"

    @property
    def class_names(self) -> Sequence[str]:
        """Class names of the dataset, in label order."""
        return self._schema.class_names

    @property
    def shard_counts(self) -> list[int]:
        """Number of examples that the condition chose in each shard."""
        return [stop - start for start, stop in itertools.pairwise(self._starts)]

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
        shard = bisect.bisect_right(self._starts, row) - 1
        path, record, offset = self._paths[shard], self._record.item(row), self._offset.item(row)
        key = self._table["key"][row].as_py() if self._schema.stored_as else None
        try:
            data = read_data(self._files, self._schema.dataset, path, offset, self._length.item(row))
        except RecordError as error:
            msg = f"{self._schema.dataset}/{path}, record {record} ({self._table['key'][row].as_py()}): {error}"
            raise RecordError(msg) from None
        return Example(data, self._schema, path, record, offset, key)


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
