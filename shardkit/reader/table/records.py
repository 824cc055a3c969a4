"""What the reader keeps in memory of a split: where every record lies, and what its image is; no keys, no pixels."""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.dataset.features import Feature
from shardkit.dataset.index import parse_index
from shardkit.dataset.manifest import Manifest, Shard
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.reader.table.key_columns import KeyColumns
from shardkit.storage import Folder, LocalFolder, unreadable

# Small files from stores that are slow to answer. These threads only read and hash: were they to parse too, they would
# spend two thirds of the time of a large split waiting for the interpreter's lock.
READING_THREADS = 16
LOCAL_READING_THREADS = 4
ALIGNMENT = 64  # bytes
_COLUMNS = {
    "offset": np.int64,
    "key_hash": np.int64,
    "label": np.int32,
    "height": np.int32,
    "width": np.int32,
    "image_start": np.int32,
    "image_bytes": np.int32,
}


@dataclass(frozen=True, slots=True)
class Relabelling:
    """What the labels in the records of several datasets stand for.

    Attributes:
        dataset: int64[num_shards], the number of each shard's dataset.
        labels: int64[num_datasets, num_classes]; for each dataset and label in its records, the label in the table.
    """

    dataset: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One row an example, id by id: shard after shard, in file order. About 40 bytes a row.

    Attributes:
        features: what every record stores.
        num_classes: of the dataset.
        shards: those that are not empty.
        roots: [num_shards], the folder of each one's dataset.
        paths: [num_shards] of the TFRecord files, as TensorFlow opens them.
        starts: int64[num_shards + 1]; the records of shard s are [starts[s], starts[s + 1]).
        record: int64[N], ascending, the record of each example where they are a selection; None where they are all.
        offset: int64[N] of the record's frame in its shard, bytes.
        key_hash: int64[N].
        label: int32[N]; -1 where an example has no one class.
        height, width: int32[N], pixels.
        image_start, image_bytes: int32[N]; the image lies at [start, start + bytes) of the record's data.
        is_png: bool[N], or None where all are JPEG.
        relabelling: of datasets that number their classes differently; None where a record's labels hold.
        frame_bytes: int32[N], length of the record's frame; None where nobody needs it, see `with_frame_bytes`.
        key_columns: keys that were asked for.
    """

    features: Mapping[str, Feature]
    num_classes: int
    shards: list[Shard]
    roots: list[Folder]
    paths: list[str]
    starts: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    key_hash: npt.NDArray[np.int64]
    label: npt.NDArray[np.int32]
    height: npt.NDArray[np.int32]
    width: npt.NDArray[np.int32]
    image_start: npt.NDArray[np.int32]
    image_bytes: npt.NDArray[np.int32]
    is_png: npt.NDArray[np.bool_] | None
    record: npt.NDArray[np.int64] | None = None
    relabelling: Relabelling | None = None
    frame_bytes: npt.NDArray[np.int32] | None = None
    key_columns: KeyColumns = field(default_factory=KeyColumns)

    @property
    def num_examples(self) -> int:
        """N."""
        return len(self.offset)

    def root(self, example_id: int) -> Folder:
        """The folder of an example's dataset."""
        record = example_id if self.record is None else int(self.record[example_id])
        return self.roots[int(np.searchsorted(self.starts, record, side="right")) - 1]

    def place(self, example_id: int) -> tuple[Shard, int]:
        """The shard of an example, and the record's number in it."""
        record = example_id if self.record is None else int(self.record[example_id])
        shard_index = int(np.searchsorted(self.starts, record, side="right")) - 1
        return self.shards[shard_index], record - int(self.starts[shard_index])

    def keys(self, example_ids: npt.NDArray[np.int64]) -> list[str]:
        """Return the keys of some examples; indexes are read the first time, see `KeyColumns`."""
        records = example_ids if self.record is None else self.record[example_ids]
        shard_of = np.searchsorted(self.starts, records, side="right") - 1
        keys = np.empty(len(records), object)
        shard_indices = np.unique(shard_of)
        with ThreadPoolExecutor(READING_THREADS) as pool:
            for shard_index, column in zip(shard_indices, pool.map(self._keys_of, shard_indices), strict=True):
                here = np.flatnonzero(shard_of == shard_index)
                keys[here] = column.take(pa.array(records[here] - self.starts[shard_index])).to_pylist()
        return list(keys)

    def peers(self, example_id: int) -> npt.NDArray[np.int64]:
        """Return the ids of all examples of an example's dataset and class, itself included, ascending."""
        own = self.root(example_id).url
        # The tables of a mixture are joined one after another, so a dataset's records are one range.
        shards = np.flatnonzero([root.url == own for root in self.roots])
        records = self.starts[shards[0]], self.starts[shards[-1] + 1]
        first, stop = records if self.record is None else np.searchsorted(self.record, records)
        found: npt.NDArray[np.int64] = first + np.flatnonzero(self.label[first:stop] == self.label[example_id])
        return found

    def class_name(self, example_id: int) -> str | None:
        """Return the name of an example's one class, read from the index now; None if it has none."""
        if self.label[example_id] < 0:
            return None
        shard, number = self.place(example_id)
        found: str | None = read_columns(self.root(example_id), shard, ["label_name"])["label_name"][number].as_py()
        return str(self.label[example_id]) if found is None else found

    def _keys_of(self, shard_index: int) -> pa.ChunkedArray:
        root, shard = self.roots[shard_index], self.shards[shard_index]
        return self.key_columns.of(shard.index.sha256, lambda: read_columns(root, shard, ["key"])["key"])


def load_table(manifest: Manifest, split_name: str) -> RecordTable:
    """Read the indexes of a split, and hold shards and indexes against the manifest.

    Raises:
        UnknownNameError: there is no such split.
        DataError: a shard is missing or cut short, or an index is damaged or another shard's.
        MachineError: a shard or an index cannot be read.
    """
    shards = [shard for shard in manifest.split(split_name).shards if shard.num_examples]
    if not shards:
        msg = f"{manifest.root.url}: split {split_name!r} has no examples"
        raise DataError(msg)
    counts = [shard.num_examples for shard in shards]
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    columns: dict[str, Any] = {name: aligned(int(starts[-1]), dtype) for name, dtype in _COLUMNS.items()}
    is_png = np.zeros(int(starts[-1]), np.bool_)

    for shard_index, raw in enumerate(_raw_indexes(manifest.root, shards)):
        # Into its place at once: all tables side by side, and then in one piece, would take twice the memory.
        rows = slice(starts[shard_index], starts[shard_index + 1])
        table = _parsed(manifest.root, shards[shard_index], raw, [*_COLUMNS, "format"])
        for name, column in columns.items():
            column[rows] = table[name].fill_null(-1).to_numpy() if table[name].null_count else table[name].to_numpy()
        is_png[rows] = _is_png(table["format"])
    pa.default_memory_pool().release_unused()  # else a gigabyte stays after twenty million rows
    return RecordTable(
        features=manifest.features,
        num_classes=len(manifest.classes),
        shards=shards,
        roots=[manifest.root] * len(shards),
        paths=[f"{manifest.root.url}/{shard.path}" for shard in shards],
        starts=starts,
        is_png=is_png if is_png.any() else None,
        **columns,
    )


def with_frame_bytes(table: RecordTable) -> RecordTable:
    """The table of all records with the length of each frame: up to the next one's, or to the end of the shard."""
    ends = np.append(table.offset[1:], 0)
    ends[table.starts[1:] - 1] = [shard.num_bytes for shard in table.shards]
    lengths = aligned(table.num_examples, np.int32)
    np.subtract(ends, table.offset, out=lengths, casting="same_kind")
    return replace(table, frame_bytes=lengths)


def aligned(count: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """An array that TensorFlow can take as it is, see `gathering`: its kernels want 64 bytes, NumPy gives 16."""
    num_bytes = count * np.dtype(dtype).itemsize
    raw = np.empty(num_bytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + num_bytes].view(dtype)


def taken(column: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Some rows of a column, as TensorFlow takes them."""
    kept = aligned(len(rows), column.dtype.type)
    np.take(column, rows, out=kept)
    return kept


def _raw_indexes(root: Folder, shards: list[Shard]) -> Iterator[bytes]:
    """Yield the bytes of every shard's index, in order, and check the shard's size."""

    def read(shard: Shard) -> bytes:
        _check_size(root, shard)
        return _read(root, shard)

    num_threads = LOCAL_READING_THREADS if isinstance(root, LocalFolder) else READING_THREADS
    with ThreadPoolExecutor(num_threads) as pool:
        waiting = deque[Future[bytes]]()
        for shard in shards:
            waiting.append(pool.submit(read, shard))
            if len(waiting) > 2 * num_threads:  # no more than these in memory
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _check_size(root: Folder, shard: Shard) -> None:
    where = f"{root.url}/{shard.path}"
    try:
        found = root.stat(shard.path)
    except OSError as error:
        raise unreadable(where, error) from error
    if found is None:
        msg = f"{where}: the shard is missing; restore it or convert again"
        raise DataError(msg)
    if found.num_bytes != shard.num_bytes:
        sizes = f"{found.num_bytes} bytes, the manifest says {shard.num_bytes}"
        msg = f"{where}: the shard has {sizes}; restore it or convert again"
        raise DataError(msg)


def _is_png(formats: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    # By the dictionary's codes: twenty million strings take their time.
    return np.concatenate([_codes_are(chunk, "PNG") for chunk in formats.chunks])


def _codes_are(chunk: pa.DictionaryArray, name: str) -> npt.NDArray[np.bool_]:
    names = chunk.dictionary.to_pylist()
    return chunk.indices.to_numpy() == names.index(name) if name in names else np.zeros(len(chunk), np.bool_)


def read_columns(root: Folder, shard: Shard, columns: list[str]) -> pa.Table:
    """Read columns of a shard's index, and compare it with the manifest.

    Raises:
        DataError: the index is missing, damaged, or another shard's.
        MachineError: the index cannot be read.
    """
    return _parsed(root, shard, _read(root, shard), columns)


def _read(root: Folder, shard: Shard) -> bytes:
    where = f"{root.url}/{shard.index.path}"
    try:
        raw = root.read(shard.index.path)
    except (FileNotFoundError, NotADirectoryError):
        msg = f"{where}: the index is missing; restore it or convert again"
        raise DataError(msg) from None
    except OSError as error:
        raise unreadable(where, error) from error
    if sha256_hex(raw) != shard.index.sha256:
        # Parquet notices hardly any damage by itself, and a wrong label would be trained on without a word.
        msg = (
            f"{where}: the index is not the one that the manifest names: it is damaged, or another shard's or "
            f"conversion's; restore it or convert again"
        )
        raise DataError(msg)
    return raw


def _parsed(root: Folder, shard: Shard, raw: bytes, columns: list[str]) -> pa.Table:
    where = f"{root.url}/{shard.index.path}"
    table, summary = parse_index(raw, where=where, columns=columns)
    if summary.sha256 != shard.sha256 or len(table) != shard.num_examples:
        msg = f"{where}: this is the index of another shard or another conversion; restore it or convert again"
        raise DataError(msg)
    return table
