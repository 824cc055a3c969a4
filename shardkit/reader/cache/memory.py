"""Records and decoded images in memory, so that only the first epoch reads or decodes them."""

import hashlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.dataset.record_files import RecordFiles
from shardkit.errors import CallError
from shardkit.reader.arguments.images import ImageOptions
from shardkit.reader.arguments.values import AUTO_BYTES, Memory
from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.table.column_lookup import column_lookup
from shardkit.reader.table.records import RecordTable, aligned

RECORD_OVERHEAD = 64  # bytes: the header of a Python object, its place in the list, and rounding
FILL_BYTES = 8 << 20  # 8 MiB: read at a time, in file order
_Ids = npt.NDArray[np.int64]


class HeldRecords:
    """The records of a table in memory, by example, as far as they were read; for any thread.

    They are read in file order by a thread, which begins with the first batch and may be behind it: what is not here
    yet is read where it is stored, and kept.
    """

    def __init__(self, table: RecordTable) -> None:
        """Make room for the records of a table; nothing is read."""
        self._records: list[bytes | None] = [None] * table.num_examples
        self._is_complete = self._has_begun = self._is_given_up = False
        self._lock = threading.Lock()

    @property
    def num_bytes(self) -> int:
        """Bytes of the records that are held."""
        return sum(len(data) for data in self._records if data is not None)

    def of(self, example_ids: _Ids) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
        """Return the data of examples, None where it is not held, and the rows of those that are not.

        Args:
            example_ids: int64[n].
        """
        records = self._records
        found = np.array([records[one] for one in example_ids.tolist()], object)
        if self._is_complete:
            return found, np.zeros(0, np.int64)
        return found, np.array([row for row, data in enumerate(found) if data is None], np.int64)

    def keep(self, example_ids: _Ids, records: npt.NDArray[np.object_]) -> None:
        """Hold the records of examples, int64[n]; empty ones were not read."""
        with self._lock:
            if self._is_given_up:
                return
            for example_id, data in zip(example_ids.tolist(), records, strict=True):
                if data:
                    self._records[example_id] = data

    def begin(self, files: RecordFiles, places: Callable[[_Ids], tuple[_Ids, ...]]) -> None:
        """Let a thread read all records, if none does.

        Args:
            files: Their files.
            places: Function from examples, int64[n], to the arguments of RecordFiles.read.
        """
        with self._lock:
            if self._has_begun:
                return
            self._has_begun = True
        arguments = weakref.ref(self), files, *places(np.arange(len(self._records)))
        threading.Thread(target=_fill, args=arguments, name="holding records").start()

    def end(self) -> None:
        """Remember that all records were read, but for damaged ones."""
        with self._lock:
            self._is_complete = not self._is_given_up and None not in self._records

    def give_up(self) -> None:
        """Hold nothing any more: a file was changed, and records of another one may be here."""
        with self._lock:
            self._has_begun = self._is_given_up = True
            self._is_complete = False
            self._records = [None] * len(self._records)


def _fill(held: "weakref.ref[HeldRecords]", files: RecordFiles, numbers: _Ids, offsets: _Ids, lengths: _Ids) -> None:
    for first, stop in _parts(lengths):
        found = files.read(numbers[first:stop], offsets[first:stop], lengths[first:stop])
        records = held()
        # Nobody wants them any more, or the interpreter, which waits for this thread, exits.
        if records is None or not threading.main_thread().is_alive():
            return
        data = np.array([one if isinstance(one, bytes) else b"" for one in found], object)
        records.keep(np.arange(first, stop), data)
        del records
    if (records := held()) is not None:
        records.end()


def _parts(lengths: _Ids) -> Iterator[tuple[int, int]]:
    """Yield ranges of records of about `FILL_BYTES` each."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        done = ends[first - 1] if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, done + FILL_BYTES, side="right")))
        yield first, stop
        first = stop


# Several input functions of one split hold its records once.
_held: "weakref.WeakValueDictionary[bytes, HeldRecords]" = weakref.WeakValueDictionary()
_lock = threading.Lock()


def hold_records(table: RecordTable) -> HeldRecords:
    """Return the records of a table in memory, the same object for the same records in this process."""
    places = [f"{root.url}/{shard.path} {shard.sha256}" for root, shard in zip(table.roots, table.shards, strict=True)]
    digest = hashlib.blake2b("\n".join(places).encode())
    if table.record is not None:
        digest.update(table.record.tobytes())
    key = digest.digest()
    with _lock:
        found = _held.get(key)
        if found is None:
            found = _held[key] = HeldRecords(table)
    return found


def is_held(table: RecordTable, cache: Any) -> bool:
    """Return whether the records of a table are held in memory.

    Args:
        table: The split's record table.
        cache: The argument of `make_dataset_fn`, validated.

    Raises:
        CallError: They should be, and need more than is allowed.
    """
    if cache == "auto":
        return _needed(table) <= AUTO_BYTES
    if not isinstance(cache, Memory) or cache.decoded:
        return False
    if cache.max_bytes is not None and _needed(table) > cache.max_bytes:
        raise _too_small(cache.max_bytes, f"the {table.num_examples:,} records that are read", _needed(table))
    return True


def _needed(table: RecordTable) -> int:
    return int(table.length.sum(dtype=np.int64)) + table.num_examples * RECORD_OVERHEAD


def _too_small(max_bytes: int, what: str, needed: int) -> CallError:
    return CallError(
        f"cache: {what} take {needed:,} bytes of memory, more than max_bytes={max_bytes:,}; raise it, or leave cache "
        "out"
    )


class HeldPixels:
    """The decoded images of an evaluation in memory, by example, as far as they were decoded; for any thread."""

    def __init__(self, num_examples: int, image: ImageOptions, memory: Memory) -> None:
        """Make room for the images.

        Args:
            num_examples: Number of examples.
            image: How images are decoded, each in the same way every time.
            memory: The limit of bytes.

        Raises:
            CallError: They need more than the limit.
        """
        self.dtype = tf.as_dtype(image.dtype)
        self.shape = (*image.size, image.channels)
        num_bytes = self.dtype.size * int(np.prod(self.shape))
        if memory.max_bytes is not None and num_bytes * num_examples > memory.max_bytes:
            raise _too_small(memory.max_bytes, f"{num_examples:,} decoded images", num_bytes * num_examples)
        self.num_bytes = num_bytes * num_examples
        # The kernel gives memory to pages that are written, so what is not decoded takes none.
        self._pixels = aligned(self.num_bytes, np.uint8).reshape(num_examples, num_bytes)
        self._held = aligned(num_examples, np.uint8)
        self._held[:] = 0
        self._rows, self._flags = (column_lookup(one, remote=False) for one in (self._pixels, self._held))
        self._keep = callable_in_graph(self._store, [tf.bool])

    def are_held(self, example_ids: _Ids) -> npt.NDArray[np.bool_]:
        """Return whether the image of each of these examples, int64[n], is held, bool[n]."""
        return self._held[example_ids] > 0

    def in_graph(self, example_ids: Any, decode: Any) -> Any:
        """Return the pixels of examples, [n, height, width, channels]; decode and keep them if they are not held.

        Args:
            example_ids: int64[n], n known.
            decode: Function that returns the pixels.
        """
        pixels = tf.cond(
            tf.reduce_all(self._flags(example_ids) > 0),
            lambda: self._unpacked(self._rows(example_ids)),
            lambda: self._kept(example_ids, decode()),
        )
        pixels.set_shape([*example_ids.shape, *self.shape])
        return pixels

    def _unpacked(self, rows: Any) -> Any:
        if self.dtype == tf.uint8:
            return tf.reshape(rows, [-1, *self.shape])
        return tf.bitcast(tf.reshape(rows, [-1, *self.shape, self.dtype.size]), self.dtype)

    def _kept(self, example_ids: Any, pixels: Any) -> Any:
        flat = pixels if self.dtype == tf.uint8 else tf.bitcast(pixels, tf.uint8)
        (done,) = self._keep(example_ids, tf.reshape(flat, [flat.shape[0], -1]))
        with tf.control_dependencies([] if tf.executing_eagerly() else [done]):
            return tf.identity(pixels)

    def _store(self, example_ids: _Ids, rows: npt.NDArray[np.uint8]) -> np.bool_:
        self._pixels[example_ids] = rows
        self._held[example_ids] = 1  # after the pixels: another thread may look
        return np.True_
