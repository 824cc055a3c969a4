"""Fetch the columns of the next examples: plan them, read their records, and name or replace those that are damaged."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.record_files import Found, Parts, RecordFiles
from shardkit.errors import DataError, MachineError, RecordError
from shardkit.fetch.memory import HeldPixels, strings
from shardkit.fetch.places import EPOCH, ID, WINDOW_NAME, Columns, Places, Wanted
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import Sources, key_name, key_of
from shardkit.fetch.table.records import RecordTable
from shardkit.order.training import BlockwiseOrder
from shardkit.storage import LocalFolder

_Ints = npt.NDArray[np.int64]
_Window = dict[int, Found]
IMAGE, RECORD, PIXELS = "image", "record", "pixels"
FILL_BYTES = 8 << 20  # 8 MiB: read at a time to fill the memory, in file order
_NOT_COLUMNS = (ID, EPOCH, WINDOW_NAME)


def record_files(table: RecordTable) -> RecordFiles:
    """Return the files of a table's shards, or their local copies; none is opened."""
    if table.has_copies:
        return RecordFiles([(LocalFolder(folder), name) for folder, name in map(os.path.split, table.paths)])
    return RecordFiles([(root, one.path) for root, one in zip(table.roots, table.shards, strict=True)])


class Fetcher:
    """Fetches for one input pipeline."""

    def __init__(
        self,
        table: RecordTable,
        places: Places,
        wanted: Wanted,
        sources: Sources,
        recovery: RecordRecovery,
        pixels: HeldPixels | None = None,
    ) -> None:
        self._table, self._places, self._wanted = table, places, wanted
        self.sources, self._recovery, self._pixels = sources, recovery, pixels
        self._files = record_files(table)
        self._mirrors = pixels is not None and pixels.mirrors and wanted.crops is not None and wanted.crops.flip
        order = places.order
        self._lanes = LaneRecords(order, self._read_stored) if isinstance(order, BlockwiseOrder) else None

    @property
    def are_local(self) -> bool:
        """Whether all files are on this machine, or a thread reads ahead: one call at a time is enough."""
        return self._files.are_local or self._lanes is not None

    @property
    def types(self) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """The dtype of each column, and the shape of an example's value."""
        columns = {name: column[:0] for name, column in self._places.columns(0, 1).items()}
        shown = None if self._pixels is None else self._pixels.take(columns[ID])[0]
        made = self._made(columns, np.empty(0, object), shown)
        return {name: (column.dtype, column.shape[1:]) for name, column in made.items()}

    def fetch(self, first: int, count: int, *, marks: bool = False) -> Columns:
        """Return the columns of some places, [count, …] each; of fewer at the end of an evaluation.

        With `marks`, the record or image of an example that cannot be given is empty: only its own element fails.
        """
        columns = self._places.columns(first, count)
        ids, window, wanted = columns[ID], columns.get("window"), self._wanted
        shown: Any = None
        missing, rows = np.zeros(0, np.int64), np.arange(len(ids))
        if self._pixels is not None:
            self._pixels.begin(self._all_records)
            shown, missing = self._pixels.take(ids)
            rows = rows if wanted.has_record else missing
        elif not (wanted.has_record or wanted.has_image):
            rows = rows[:0]
        data, shown_ids, undecodable = np.full(len(ids), None, object), ids.copy(), set[int]()
        read = self._read(ids, columns, rows) if len(rows) else []
        if read:
            data[rows], undecodable = read, self._recovery.known_undecodable(ids, window)
        broken = undecodable | {row for row, one in zip(rows.tolist(), read, strict=True) if type(one) is not bytes}
        errors = self._decode(ids, data, [row for row in missing.tolist() if row not in broken], shown)

        def repair(row: int, *, is_undecodable: bool) -> None:
            shown_ids[row], record = self._recovery.repaired(int(ids[row]), is_undecodable=is_undecodable)
            data[row] = record if self._reads_whole else self._image(int(shown_ids[row]), record)
            if shown is not None:  # also if another example steps in for one whose pixels are held
                errors.update(self._decode(shown_ids, data, [row], shown))

        for row in sorted(broken | errors.keys()):
            try:
                if row in broken:
                    repair(row, is_undecodable=row in undecodable)
                if isinstance(errors.get(row), RecordError):
                    del errors[row]
                    self._recovery.find_undecodable(ids[row : row + 1], columns["window"][row : row + 1])
                    repair(row, is_undecodable=True)
                if row in errors:
                    raise errors[row]
            except (RecordError, DataError, MachineError):  # noqa: PERF203 - of this example only
                if not marks:
                    raise
                data[row] = b""
        if not self._table.has_copies:  # copies are verified when made, and never replaced
            self.sources.check(is_last=first + count >= self._places.end)
        if (shown_ids != ids).any():
            columns = self._with_others(columns, shown_ids)
        return self._made(columns, data, shown)

    def _made(self, columns: Columns, data: npt.NDArray[np.object_], shown: Any) -> Columns:
        """Return what is given of columns, of records or encoded images, and of pixels, if they are held."""
        made = {name: column for name, column in columns.items() if name not in _NOT_COLUMNS}
        if shown is not None:
            made[PIXELS] = shown
            if not self._wanted.has_record:  # annotations follow their windows
                del made["window"]
            if self._mirrors:
                _mirror(shown, np.flatnonzero(made.pop("flip")))
        if self._wanted.has_record:
            made[RECORD] = data
        elif self._wanted.has_image and shown is None:
            made[IMAGE] = data
        return made

    def find_causes(self, first: int, count: int) -> int:
        """Return how many images of some places do not decode; they are replaced from now on.

        The places are those of a step that has failed.
        """
        self._files.reopen()
        self.sources.check_manifests()
        columns = self._places.columns(first, count)
        self.fetch(first, count)
        if "window" not in columns:
            return 0  # no image is decoded
        return self._recovery.find_undecodable(columns[ID], columns["window"])

    @property
    def _reads_whole(self) -> bool:
        """Whether whole records are read: what is held is compared with its key."""
        return self._wanted.has_record or self._pixels is not None

    def _read(self, ids: _Ints, columns: Columns, rows: _Ints) -> list[Any]:
        """Return the record, or the image, of some rows' examples; something else than bytes where it was not read."""
        ids, held = ids[rows], self._table.held
        if held is None:
            return self._read_through(ids, columns, rows)
        held.begin(self._all_records)
        records, missing = held.take(ids)
        if len(missing):
            read = self._read_through(ids[missing], columns, rows[missing])
            for one, data in zip(ids[missing].tolist(), read, strict=True):
                if isinstance(data, bytes):
                    self.sources.check_record(one, data)  # what is held is not looked at again
            held.keep(ids[missing], read)
            records[missing] = strings(read)
        if self._reads_whole:
            return list(records)
        starts = self._table.image_start[ids]
        spans = zip(records, starts.tolist(), (starts + self._table.image_bytes[ids]).tolist(), strict=True)
        return [data[start:stop] if type(data) is bytes else data for data, start, stop in spans]

    def _read_through(self, ids: _Ints, columns: Columns, rows: _Ints) -> list[Any]:
        if self._lanes is not None:
            return self._lanes.read(ids, columns[WINDOW_NAME][rows])
        return self._read_stored(ids)

    def _read_stored(self, ids: _Ints) -> list[Any]:
        table, parts = self._table, None
        if not self._reads_whole and table.held is None:  # of the image's bytes alone a copy is made
            parts = Parts(table.image_start[ids].astype(np.int64), table.image_bytes[ids].astype(np.int64))
        return list(self._files.read(*self._located(ids), parts))

    def _located(self, ids: _Ints) -> tuple[_Ints, _Ints, _Ints]:
        table = self._table
        return table.shard_of(ids), table.offset[ids], table.length[ids].astype(np.int64)

    def _all_records(self) -> Iterator[tuple[_Ints, list[Any]]]:
        table = self._table
        places = self._located(np.arange(table.num_examples))
        return _all_records(self._files, places, table.key_hash, key_name(table))

    def _image(self, example_id: int, record: bytes) -> bytes:
        start = int(self._table.image_start[example_id])
        return record[start : start + int(self._table.image_bytes[example_id])]

    def _decode(
        self, ids: _Ints, data: npt.NDArray[Any], rows: list[int], shown: npt.NDArray[Any]
    ) -> dict[int, RecordError | DataError]:
        """Decode the images of some rows at once, much faster than one by one; return the errors of rows."""
        encoded, decoded, errors = dict[int, bytes](), dict[int, Any](), dict[int, RecordError | DataError]()
        for row in rows:
            example_id = int(ids[row])
            try:
                self.sources.check_record(example_id, data[row])  # as in `_read`
                encoded[example_id] = self._image(example_id, data[row])
            except (RecordError, DataError) as error:
                errors[row] = error
        if self._pixels is not None and encoded:
            for found, pixels in self._pixels.decode_many(iter([(np.array(list(encoded)), list(encoded.values()))])):
                self._pixels.keep(found, pixels)
                decoded |= dict(zip(found.tolist(), pixels, strict=True))
        for row in [row for row in rows if row not in errors]:
            if int(ids[row]) in decoded:
                shown[row] = decoded[int(ids[row])]
            else:
                errors[row] = RecordError("its image does not decode")
        return errors

    def _with_others(self, columns: Columns, shown_ids: _Ints) -> Columns:
        """Return columns with those of other examples where ids differ; the columns of the place stay."""
        rows = np.flatnonzero(shown_ids != columns[ID])
        ids = shown_ids[rows]
        before, after = columns, {name: column.copy() for name, column in columns.items()}
        made = self._places.of_examples(ids, columns[EPOCH][rows]) | {ID: ids}
        for name, column in made.items():
            after[name][rows] = column
        # A class without an intact example; in evaluation, another example in its place.
        if "weight" in made:
            after["weight"][rows] *= after["label"][rows] == before["label"][rows]
        elif "weight" in after:
            after["weight"][rows] *= ids == before[ID][rows]
        return after


def _mirror(images: npt.NDArray[Any], rows: _Ints) -> None:
    """Mirror some images, [n, height, width, channels], channel by channel: twice as fast as all channels at once."""
    before = images[rows]
    after = np.empty_like(before)
    for channel in range(images.shape[-1]):
        after[..., channel] = before[:, :, ::-1, channel]
    images[rows] = after


def _all_records(
    files: RecordFiles, places: tuple[_Ints, _Ints, _Ints], hashes: _Ints, key: str | None
) -> Iterator[tuple[_Ints, list[Any]]]:
    """Yield all examples in file order and their records, about `FILL_BYTES` at a time."""
    ends, first = np.cumsum(places[2]), 0
    while first < len(ends):
        done = ends[first - 1] if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, done + FILL_BYTES, side="right")))
        numbers, offsets, lengths = (one[first:stop] for one in places)
        records: list[Any] = list(files.read(numbers, offsets, lengths))
        if key is not None:
            keys = [key_of(data, key) or b"" if isinstance(data, bytes) else b"" for data in records]
            for row in np.flatnonzero(key_hashes(keys) != hashes[first:stop]).tolist():
                records[row] = None
        yield np.arange(first, stop), records
        first = stop


class LaneRecords:
    """The records of the windows of ``block`` order that one worker is in, read window by window.

    While a lane gives the records of one window, a thread reads its next one, so it holds at most two windows.
    """

    def __init__(self, order: BlockwiseOrder, read: Callable[[_Ints], list[Found]]) -> None:
        self._order, self._read = order, read
        self._windows: dict[int, Future[_Window]] = {}  # by name
        self._following: dict[int, int] = {}  # the name of the next window in its lane
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(order.layout.lanes, thread_name_prefix="reading ahead")

    def read(self, ids: _Ints, windows: _Ints) -> list[Found]:
        """Return the records of examples; those of whole windows are read, and held until their lane has left them."""
        names = np.unique(windows).tolist()
        oldest = {self._lane_of(name): name for name in reversed(names)}
        with self._lock:
            for name in [name for name in self._windows if name < oldest.get(self._lane_of(name), name)]:
                del self._windows[name]
                self._following.pop(name, None)
            for name in names:
                if name not in self._following:  # a window has thousands of examples, of which each call gives some
                    ids_of_window, self._following[name] = self._order.window(name)
                    self._submit(name, ids_of_window)
                self._submit(self._following[name], None)
            found = {name: self._windows[name] for name in names}
        records = {name: window.result() for name, window in found.items()}
        return [records[name][one] for one, name in zip(ids.tolist(), windows.tolist(), strict=True)]

    def _lane_of(self, name: int) -> int:
        return name % self._order.num_examples % self._order.layout.lanes

    def _submit(self, name: int, ids: _Ints | None) -> None:
        if name in self._windows:
            return
        try:
            self._windows[name] = self._pool.submit(self._read_window, name, ids)
        except RuntimeError:  # the interpreter exits
            self._windows[name] = Future()
            self._windows[name].set_result({})

    def _read_window(self, name: int, ids: _Ints | None) -> _Window:
        ids = self._order.window(name)[0] if ids is None else ids
        return dict(zip(ids.tolist(), self._read(ids), strict=True))
