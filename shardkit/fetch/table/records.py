"""The record table: what the reader keeps in memory of a split, about 40 bytes for each example."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.dataset.features import CLASS_LABEL, LABEL, Feature
from shardkit.dataset.index.shards import READING_THREADS, parse_columns, read_columns, read_indexes
from shardkit.dataset.manifest import Manifest, Shard
from shardkit.dataset.stored_names import StoredAs
from shardkit.errors import DataError
from shardkit.storage import FileIdentity, Folder, LocalFolder

COLUMNS = {
    "offset": np.int64,
    "length": np.int32,
    "key_hash": np.int64,
    "label": np.int32,
    "height": np.int32,
    "width": np.int32,
    "image_start": np.int32,
    "image_bytes": np.int32,
}
# Shards whose keys are kept after their index was read, about 200 MB for 256 shards of 20,000 keys.
KEPT_KEY_COLUMNS = 256


def _read_keys(root: Folder, shard: Shard) -> pa.ChunkedArray:
    return read_columns(root, shard, ["key"])["key"]


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One row for each example, by id: shard after shard, in file order."""

    features: Mapping[str, Feature]
    num_classes: int
    shards: list[Shard]  # those that are not empty
    roots: list[Folder]  # [num_shards], folder of each shard's dataset
    # int64[num_shards], number of each shard's dataset in a mixture. Two datasets may have the same folder:
    # versions of one dataset that grew.
    dataset: npt.NDArray[np.int64]
    # [num_shards], identity of each shard's file when the table was made; None in object stores, and if the
    # machine does not tell.
    identities: list[FileIdentity | None]
    paths: list[str]  # [num_shards], paths of the TFRecord files, as TensorFlow opens them
    starts: npt.NDArray[np.int64]  # int64[num_shards + 1]; the records of shard s are [starts[s], starts[s + 1])
    offset: npt.NDArray[np.int64]  # int64[N], offset of the record's frame in its shard, bytes
    length: npt.NDArray[np.int32]  # int32[N], length of the record's data, bytes
    key_hash: npt.NDArray[np.int64]  # int64[N], hash of the key
    label: npt.NDArray[np.int32]  # int32[N], class number; -1 if an example does not have exactly one class
    height: npt.NDArray[np.int32]  # int32[N], pixels
    width: npt.NDArray[np.int32]
    image_start: npt.NDArray[np.int32]  # int32[N]; the image is [start, start + bytes) of the record's data
    image_bytes: npt.NDArray[np.int32]
    is_png: npt.NDArray[np.bool_]  # bool[N]; the others are JPEGs
    # int64[N], ascending, the record of each example of a selection; None if the table has all records.
    record: npt.NDArray[np.int64] | None = None
    # int64[num_datasets, num_classes], label in the table for each dataset and label in its records; None if the
    # records' labels are right.
    relabelling: npt.NDArray[np.int64] | None = None
    # The keys of a shard, in the order of its records.
    keys_of: Callable[[Folder, Shard], pa.ChunkedArray] = field(
        default_factory=lambda: functools.lru_cache(KEPT_KEY_COLUMNS)(_read_keys)
    )
    stored_as: StoredAs = field(default_factory=dict)  # names of features in the records of others, see `stored_names`
    # [num_shards], the beginning of the keys of records that have none, see `stored_names.record_key`.
    key_paths: list[str] = field(default_factory=list)
    held: Any = None  # the records in memory, a `memory.HeldRecords`; None if they are not held
    has_copies: bool = False  # whether `paths` are local copies, which never change
    has_unlabelled: bool = False  # whether the split has images without a label on purpose

    @property
    def num_examples(self) -> int:
        """Number of examples, N."""
        return len(self.offset)

    @property
    def has_class(self) -> bool:
        """Whether every example has exactly one class."""
        return self.features.get(LABEL) == CLASS_LABEL

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """int64[N], ascending, the record of each example."""
        return np.arange(self.num_examples) if self.record is None else self.record

    def shard_of(self, example_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of the shard of each example, int64[n]."""
        records = example_ids if self.record is None else self.record[example_ids]
        return np.searchsorted(self.starts, records, side="right") - 1

    def location(self, example_id: int) -> tuple[Folder, Shard, int]:
        """Return the folder of an example's dataset, its shard, and the number of its record in the shard."""
        shard = int(self.shard_of(np.asarray([example_id]))[0])
        record = example_id if self.record is None else int(self.record[example_id])
        return self.roots[shard], self.shards[shard], record - int(self.starts[shard])

    def keys(self, example_ids: npt.NDArray[np.int64]) -> list[str]:
        """Return the keys of some examples; reads their indexes the first time."""
        records = example_ids if self.record is None else self.record[example_ids]
        shard_of = self.shard_of(example_ids)
        keys = np.empty(len(records), object)
        shard_indices = np.unique(shard_of)
        with ThreadPoolExecutor(READING_THREADS) as pool:
            columns = pool.map(lambda one: self.keys_of(self.roots[one], self.shards[one]), shard_indices)
            for shard_index, column in zip(shard_indices, columns, strict=True):
                here = np.flatnonzero(shard_of == shard_index)
                keys[here] = column.take(pa.array(records[here] - self.starts[shard_index])).to_pylist()
        return list(keys)

    def select(self, rows: npt.NDArray[np.int64]) -> "RecordTable":
        """Return the table of some examples, ascending."""
        kept: dict[str, Any] = {name: getattr(self, name)[rows] for name in (*COLUMNS, "is_png")}
        return replace(self, record=self.records[rows], **kept)

    def peers(self, example_id: int, *, same_class: bool = True) -> npt.NDArray[np.int64]:
        """Return the ids of all examples of an example's dataset and class, with its own, ascending."""
        # A mixture joins tables one after another, so the records of a dataset are one range.
        shards = np.flatnonzero(self.dataset == self.dataset[self.shard_of(np.asarray([example_id]))[0]])
        records = self.starts[shards[0]], self.starts[shards[-1] + 1]
        first, stop = records if self.record is None else np.searchsorted(self.record, records)
        if not same_class:
            return np.arange(first, stop)
        found: npt.NDArray[np.int64] = first + np.flatnonzero(self.label[first:stop] == self.label[example_id])
        return found

    def class_name(self, example_id: int) -> str | None:
        """Return the name of an example's class, read from the index; None if it does not have exactly one class."""
        if self.label[example_id] < 0:
            return None
        root, shard, number = self.location(example_id)
        found: str | None = read_columns(root, shard, ["label_name"])["label_name"][number].as_py()
        return str(self.label[example_id]) if found is None else found


def load_table(manifest: Manifest, split_name: str) -> RecordTable:
    """Read the indexes of a split, and check shards and indexes against the manifest."""
    shards = [shard for shard in manifest.split(split_name).shards if shard.num_examples]
    if not shards:
        raise DataError(f"{manifest.root.url}: split {split_name!r} has no examples")
    counts = [shard.num_examples for shard in shards]
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    identities = [_identity(manifest.root, shard) for shard in shards]  # before the sizes are checked
    columns: dict[str, Any] = {name: np.empty(int(starts[-1]), dtype) for name, dtype in COLUMNS.items()}
    is_png = np.zeros(int(starts[-1]), np.bool_)

    for shard_index, raw in enumerate(read_indexes(manifest.root, shards)):
        # Each index is copied to its rows at once: concatenating all of them would take twice the memory.
        rows = slice(starts[shard_index], starts[shard_index + 1])
        table = parse_columns(manifest.root, shards[shard_index], raw, [*COLUMNS, "format"])
        for name, column in columns.items():
            column[rows] = table[name].fill_null(-1).to_numpy() if table[name].null_count else table[name].to_numpy()
        is_png[rows] = _is_png(table["format"])
    pa.default_memory_pool().release_unused()  # otherwise a gigabyte remains after twenty million rows
    return RecordTable(
        features=manifest.features,
        num_classes=len(manifest.classes),
        shards=shards,
        roots=[manifest.root] * len(shards),
        dataset=np.zeros(len(shards), np.int64),
        identities=identities,
        paths=[f"{manifest.root.url}/{shard.path}" for shard in shards],
        starts=starts,
        is_png=is_png,
        stored_as=manifest.stored_as,
        key_paths=[manifest.path_in_records(shard) for shard in shards],
        has_unlabelled=manifest.split(split_name).num_unlabelled > 0,
        **columns,
    )


def _identity(root: Folder, shard: Shard) -> FileIdentity | None:
    if isinstance(root, LocalFolder):
        with contextlib.suppress(OSError):  # read_indexes says which file cannot be read
            return root.identity(shard.path)
    return None


def _is_png(formats: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    # Compares the dictionary's codes: comparing twenty million strings is slow.
    png = [[code for code, one in enumerate(chunk.dictionary.to_pylist()) if one == "PNG"] for chunk in formats.chunks]
    return np.concatenate([np.isin(chunk.indices, codes) for chunk, codes in zip(formats.chunks, png, strict=True)])
