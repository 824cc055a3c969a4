"""The examples of a split as a sequence, read record by record without TensorFlow.

Of the indexes it keeps offsets, lengths and keys: about 100 bytes for each example. A record is read when it is asked
for, and both of its CRCs are checked; a damaged one is an error, or is replaced as in the reader. No file stays open,
so a sequence works in forked and spawned processes; pickled, it is the dataset's path, and the process that unpickles
it reads the indexes again.
"""

import bisect
import contextlib
import itertools
import operator
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.arguments.checks import flag, optional, refused, text, whole_number
from shardkit.dataset.conditions import Condition
from shardkit.dataset.index.file import SCHEMA
from shardkit.dataset.index.shards import parse_columns, read_indexes, shard_errors
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.manifest.pinning import pinned
from shardkit.dataset.record_files import Found, RecordFiles
from shardkit.errors import CallError, ManifestError, RecordError, ShardkitError, UnknownNameError
from shardkit.fetch.damaged_records import DamagedRecords, Skip
from shardkit.hashing import MAX_SEED
from shardkit.records.example import Example, example_figure
from shardkit.records.html import figures
from shardkit.records.key_lookup import KeyLookup, similar_keys
from shardkit.records.record import Schema, damaged

if TYPE_CHECKING:
    from shardkit.fetch.table.records import RecordTable

_LOCATING = ["offset", "length"]
# Rows that an iteration reads at once: few at first, so that the first example comes soon.
_FIRST_ROWS, _MAX_ROWS, _MAX_BYTES = 16, 4096, 8 << 20


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
        fold: tuple[int, int] | None = None,
        take: int | None = None,
        training: bool = True,
        on_corrupt: str | Skip = "error",
        seed: int = 0,
        columns: Sequence[str] = (),
        num_shards: int | None = None,
    ) -> None:
        """Read the indexes of a split; see `shardkit.open`.

        Besides, `columns` are further columns of the index to keep, see `index`; and `num_shards` is the number of
        shards, the first ones that are not empty, or None for all.
        """
        text("split", split)
        optional(text)("where", where)
        self.manifest: Manifest = read_manifest(dataset)
        self.split = split
        # A process that unpickles the sequence may have another working directory.
        place = dataset if "://" in dataset else os.path.abspath(os.path.expanduser(dataset))
        chosen = {"where": where, "fold": fold, "take": take, "training": flag("training", training)}
        self._call = {
            "dataset": place,
            "split": split,
            **chosen,
            "on_corrupt": on_corrupt,
            "seed": whole_number(0, MAX_SEED)("seed", seed),
            "columns": tuple(columns),
            "num_shards": num_shards,
        }
        max_corrupt, selected = _max_corrupt(on_corrupt), None
        if fold is not None or take is not None or max_corrupt is not None:
            selected = _selected(self.manifest, split, chosen)
        self._recovery = None
        if selected is not None and max_corrupt is not None:
            from shardkit.fetch.recovery import RecordRecovery
            from shardkit.fetch.sources import Sources

            self._recovery = RecordRecovery(selected, DamagedRecords(max_corrupt), seed, Sources(selected))
        condition = None if where is None or selected is not None else Condition(where)
        names = list(dict.fromkeys(["key", *columns]))
        wanted = list(dict.fromkeys([*_LOCATING, *names, *(condition.columns if condition else ())]))
        shards = [shard for shard in self.manifest.split(split).shards if shard.num_examples][:num_shards]
        root = self.manifest.root
        tables, records, offsets, lengths, first = [], [], [], [], 0
        for shard, raw in zip(shards, read_indexes(root, shards), strict=True):
            table = parse_columns(root, shard, raw, wanted)
            numbers = np.arange(len(table))
            if selected is not None and selected.record is not None:
                numbers = selected.record[slice(*np.searchsorted(selected.record, [first, first + len(table)]))] - first
                first, table = first + len(table), table.take(numbers)
            elif condition is not None:
                mask = condition.mask(table)
                table, numbers = table.filter(mask), numbers[mask.to_numpy(zero_copy_only=False)]
            tables.append(table.select(names))
            records.append(numbers)
            offsets.append(table["offset"].to_numpy())
            lengths.append(table["length"].to_numpy())
        self._paths = [shard.path for shard in shards]
        self._starts: list[int] = [0, *itertools.accumulate(len(table) for table in tables)]  # rows
        none = np.zeros(0, np.int64)
        self._record: npt.NDArray[np.int64] = np.concatenate([none, *records])
        self._offset: npt.NDArray[np.int64] = np.concatenate([none, *offsets])
        self._length: npt.NDArray[np.int64] = np.concatenate([none, *lengths])
        self._table = pa.concat_tables(tables).unify_dictionaries() if tables else SCHEMA.empty_table().select(names)
        self._chosen: range | npt.NDArray[np.int64] = range(len(self._table))
        self._lookup = KeyLookup(self._table["key"])
        self._files = RecordFiles([(root, path) for path in self._paths])
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
        if isinstance(at, slice):
            return self._with(self._chosen[at])
        return self._read(self._row_at(at))

    def __getitems__(self, places: Sequence[int | str]) -> list[Example]:
        """Return some examples; PyTorch's ``DataLoader`` calls this for each batch.

        The disk or the object store works on all of them at once.

        Args:
            places: Numbers or keys.
        """
        return list(self._read_rows(np.array([self._row_at(at) for at in places], np.int64)))

    def __iter__(self) -> Iterator[Example]:
        first, num_rows = 0, _FIRST_ROWS
        while first < len(self):
            rows = np.asarray(self._chosen[first : first + num_rows])
            fitting = int(np.searchsorted(np.cumsum(self._length[rows]), _MAX_BYTES, "right"))
            rows = rows[: max(1, fitting)]
            yield from self._read_rows(rows)
            first += len(rows)
            num_rows = min(2 * num_rows, _MAX_ROWS)

    def __contains__(self, value: object) -> bool:
        """Return whether there is an example with this key, or this example."""
        return self.has_key(value) if isinstance(value, str) else super().__contains__(value)

    def has_key(self, key: str) -> bool:
        """Return whether there is an example with this key."""
        return self._is_chosen(self._lookup.row(key))

    def _repr_html_(self) -> str:
        return figures(repr(self), len(self), lambda number: example_figure(self[number]))

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
        return self._table.take(pa.array(np.asarray(self._chosen, np.int64)))

    def select(self, positions: npt.NDArray[np.int64]) -> "Examples":
        """Return the examples at some positions, in their order.

        Args:
            positions: int64[n], positions in this sequence.
        """
        return self._with(np.asarray(self._chosen)[positions])

    def similar_keys(self, key: str) -> list[str]:
        """Return up to three keys like one that does not exist."""
        return similar_keys(self.index["key"], key)

    def _with(self, chosen: range | npt.NDArray[np.int64]) -> "Examples":
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._chosen = chosen
        return other

    def _row_at(self, at: int | str) -> int:
        if isinstance(at, str):
            return self._row_of(at)
        try:
            return int(self._chosen[operator.index(at)])
        except IndexError:
            raise IndexError(f"there are {len(self):,} examples; found the number {at}{self._growth()}") from None
        except TypeError:
            raise TypeError(f"an example has a number or a key, and examples a slice; found {at!r}") from None

    def _growth(self) -> str:
        """Return the remedy if the dataset has grown: a sampler that was made since then has more numbers."""
        mine = self.manifest
        with contextlib.suppress(ShardkitError, OSError):
            if mine.digest in {one.previous for one in read_manifest(mine.root.url).generations}:
                pin = f"{mine.root.url}@sha256:{mine.digest}"
                return f"; the dataset has grown since it was opened: open it again, or pin it and the sampler to {pin}"
        return ""

    def _is_chosen(self, row: int) -> bool:
        return row in self._chosen if isinstance(self._chosen, range) else bool((self._chosen == row).any())

    def _row_of(self, key: str) -> int:
        row = self._lookup.row(key)
        if self._is_chosen(row):
            return row
        close = self.similar_keys(key)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        msg = f"the split {self.split!r} of {self.manifest.root.url} has no example with the key {key!r}{hint}"
        raise UnknownNameError(msg)

    def _read(self, row: int) -> Example:
        shard = bisect.bisect_right(self._starts, row) - 1
        return self._example(row, shard, self._files.read_one(shard, self._offset.item(row), self._length.item(row)))

    def _read_rows(self, rows: npt.NDArray[np.int64]) -> Iterator[Example]:
        """Yield the examples of some rows, in their order; the disk or the store works on all of them at once."""
        shards = np.searchsorted(self._starts, rows, "right") - 1
        found = self._files.read(shards, self._offset[rows], self._length[rows])
        for row, shard, data in zip(rows.tolist(), shards.tolist(), found, strict=True):
            yield self._example(row, shard, data)

    def _example(self, row: int, shard: int, data: Found) -> Example:
        if self._recovery is not None and not isinstance(data, bytes):
            row, data = self._recovery.repaired(row)
            shard = bisect.bisect_right(self._starts, row) - 1
        path, record = self._paths[shard], self._record.item(row)
        if isinstance(data, RecordError):
            raise damaged(self.manifest.root, path, record, self._table["key"][row].as_py(), data) from None
        if isinstance(data, Exception):
            with shard_errors(self.manifest.root, path):
                raise data
        key = self._table["key"][row].as_py() if self._schema.stored_as else None
        return Example(data, self._schema, path, record, self._offset.item(row), key)


def _max_corrupt(on_corrupt: Any) -> int | None:
    """Return the number of damaged records to replace; None to stop at the first."""
    if isinstance(on_corrupt, Skip):
        return on_corrupt.max_records
    if not isinstance(on_corrupt, str) or on_corrupt not in {"error", "skip"}:
        raise refused("on_corrupt", "'error', 'skip' or a shardkit.fetch.Skip", on_corrupt)
    return Skip().max_records if on_corrupt == "skip" else None


def _selected(manifest: Manifest, split: str, chosen: dict[str, Any]) -> "RecordTable":
    # Folds load much, which looking at a few examples does not need.
    from shardkit.fetch.table.records import load_table
    from shardkit.fetch.table.selection import SELECTION_CHECKS, select, select_labelled

    checked = {name: check(name, chosen[name]) for name, check in SELECTION_CHECKS.items()}
    # Who reads folds trains; `take` alone may be for looking at images, which need no label.
    chosen |= checked
    choose = select if chosen["fold"] is None else select_labelled
    return choose(load_table(manifest, split), **chosen)


def _reopened(call: dict[str, Any], digest: str, chosen: range | npt.NDArray[np.int64]) -> Examples:
    dataset = call["dataset"]
    path = f"{pinned(dataset)[0]}@sha256:{digest}"  # the dataset may have grown since
    try:
        examples = Examples(**call | {"dataset": path})
    except ManifestError:
        root = read_manifest(dataset).root  # if there is none any more, this says so
        msg = f"{root.url}: the dataset was replaced after these examples were opened; open it again"
        raise CallError(msg) from None
    return examples._with(chosen)  # noqa: SLF001 - the other half of __reduce__
