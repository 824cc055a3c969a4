"""Records, or decoded images, in memory, so that only the first epoch reads or decodes them.

A thread fills them in file order while training begins, and may be behind it: what is not held yet is read where it is
stored. Several inputs of one process hold the same records, and the same images, once.
"""

import hashlib
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.fetch.table.records import RecordTable

_ALIGNMENT = 64  # bytes, of memory that TensorFlow uses without a copy
RECORD_OVERHEAD = 64  # bytes: the header of a Python object, its place in the list, and rounding
_Ids = npt.NDArray[np.int64]
# Examples, and what was read of each: bytes, or something else where it was not read.
Records = Iterator[tuple[_Ids, list[Any]]]
# Examples, and the encoded image of each, to those that decode and their pixels.
DecodeMany = Callable[[Iterator[tuple[_Ids, list[bytes]]]], Iterator[tuple[_Ids, npt.NDArray[Any]]]]
Held = TypeVar("Held", bound="HeldRecords | HeldPixels")

# What is held, by a digest of what it is. It is there as long as an input refers to it.
_held: "weakref.WeakValueDictionary[bytes, Any]" = weakref.WeakValueDictionary()
_lock = threading.Lock()


class _Held:
    """Values by example, as far as they were read; for any thread."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        """Hold nothing yet, and keep what is read in an array with a row for each example."""
        self._values, self._are_held = values, np.zeros(len(values), np.bool_)
        self._has_begun = self._is_given_up = False
        self._lock = threading.Lock()

    def take(self, example_ids: _Ids) -> tuple[npt.NDArray[Any], _Ids]:
        """Return the values of examples, int64[n], and the rows of those that are not held."""
        # Before the values: a thread may keep some of them meanwhile.
        missing = np.flatnonzero(~self._are_held[example_ids])
        values = self._room(len(example_ids))
        np.take(self._values, example_ids, axis=0, out=values, mode="clip")  # "raise" copies twice
        return values, missing

    def _room(self, count: int) -> npt.NDArray[Any]:
        return np.empty((count, *self._values.shape[1:]), self._values.dtype)

    def keep(self, example_ids: _Ids, values: Any) -> None:
        """Hold the values of examples, int64[n]."""
        with self._lock:
            if not self._is_given_up:
                self._values[example_ids] = values
                self._are_held[example_ids] = True  # after the values: another thread may look

    def begin(self, read: Callable[[], Records]) -> None:
        """Let a thread read all records, if none does; they must not refer to this object."""
        with self._lock:
            if self._has_begun:
                return
            self._has_begun = True
        # TensorFlow's threads, which call this, are daemons to Python, and a new thread would be one too. At exit, a
        # daemon in TensorFlow's code aborts the process.
        arguments = weakref.ref(self), self._values_of(read())
        threading.Thread(target=_fill, args=arguments, name="holding examples", daemon=False).start()

    def _values_of(self, records: Records) -> Iterator[tuple[_Ids, Any]]:
        raise NotImplementedError

    def give_up(self) -> None:
        """Hold nothing any more: a file was changed, and values of another one may be here."""
        with self._lock:
            self._has_begun = self._is_given_up = True
            self._are_held[:] = False


class HeldRecords(_Held):
    """The records of a table in memory."""

    def __init__(self, table: RecordTable) -> None:
        super().__init__(np.empty(table.num_examples, object))

    @property
    def num_bytes(self) -> int:
        """Bytes of the records that are held."""
        return sum(len(data) for data in self._values[self._are_held].tolist())

    def keep(self, example_ids: _Ids, values: Sequence[Any]) -> None:
        """Hold the records of examples, int64[n]; those that are not bytes were not read."""
        rows = [row for row, data in enumerate(values) if isinstance(data, bytes)]
        super().keep(example_ids[rows], strings([values[row] for row in rows]))

    def _values_of(self, records: Records) -> Iterator[tuple[_Ids, Any]]:
        return records


class HeldPixels(_Held):
    """Decoded images in memory, as one array."""

    def __init__(
        self,
        table: RecordTable,
        shape: tuple[int, int, int],  # (height, width, channels)
        dtype: Any,
        decode_many: DecodeMany,  # leaves out those that do not decode
        *,
        mirrors: bool,  # a fetch mirrors them; else that has to follow their resizing
    ) -> None:
        # The kernel gives memory to pages that are written, so what is not decoded takes none.
        super().__init__(np.empty((table.num_examples, *shape), dtype))
        self.shape, self.dtype, self.mirrors = shape, np.dtype(dtype), mirrors
        self.decode_many, self._table = decode_many, table

    @property
    def num_bytes(self) -> int:
        """Bytes of the array."""
        return self._values.nbytes

    def _room(self, count: int) -> npt.NDArray[Any]:
        memory = aligned(count * self._values.itemsize * math.prod(self.shape))
        room: npt.NDArray[Any] = memory.view(self.dtype).reshape(count, *self.shape)
        return room

    def _values_of(self, records: Records) -> Iterator[tuple[_Ids, Any]]:
        return self.decode_many(_images(self._table, records))


def aligned(num_bytes: int) -> npt.NDArray[np.uint8]:
    """Return memory that TensorFlow uses without a copy."""
    memory = np.empty(num_bytes + _ALIGNMENT, np.uint8)
    return memory[-memory.ctypes.data % _ALIGNMENT :][:num_bytes]


def strings(data: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Return bytes as an array of objects."""
    made = np.empty(len(data), object)
    made[:] = data
    return made


def _images(table: RecordTable, read: Records) -> Iterator[tuple[_Ids, list[bytes]]]:
    for ids, records in read:
        whole = [row for row, data in enumerate(records) if isinstance(data, bytes)]
        starts, sizes = table.image_start[ids].tolist(), table.image_bytes[ids].tolist()
        yield ids[whole], [records[row][starts[row] : starts[row] + sizes[row]] for row in whole]


def _fill(held: "weakref.ref[Any]", parts: Iterator[tuple[_Ids, Any]]) -> None:
    for ids, values in parts:
        found = held()
        # Nobody wants them any more, or the interpreter, which waits for this thread, exits.
        if found is None or not threading.main_thread().is_alive():
            return
        found.keep(ids, values)
        del found


def hold(table: RecordTable, make: Callable[[], Held], kind: str = "") -> Held:
    """Return what is held of a table, the same object for the same records in this process."""
    places = [f"{root.url}/{shard.path} {shard.sha256}" for root, shard in zip(table.roots, table.shards, strict=True)]
    digest = hashlib.blake2b("\n".join([kind, *places]).encode())
    if table.record is not None:
        digest.update(table.record.tobytes())
    key = digest.digest()
    with _lock:
        found: Held | None = _held.get(key)
        if found is None:
            found = _held[key] = make()
    return found


def record_bytes(table: RecordTable) -> int:
    """Return the bytes that the records of a table take in memory."""
    return int(table.length.sum(dtype=np.int64)) + table.num_examples * RECORD_OVERHEAD


def check_room(max_bytes: int | None, what: str, needed: int) -> None:
    """Check that what is to be held fits into a limit."""
    if max_bytes is not None and needed > max_bytes:
        raise CallError(
            f"cache: {what} take {needed:,} bytes of memory, more than max_bytes={max_bytes:,}; raise it, or leave "
            "cache out"
        )
