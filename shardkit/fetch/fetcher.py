"""Fetch the columns of the next examples: plan them, read their records, and name or replace those that are damaged."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.record_files import Parts, RecordFiles
from shardkit.errors import DataError, MachineError, RecordError
from shardkit.fetch.lanes import LaneRecords
from shardkit.fetch.memory import HeldPixels, strings
from shardkit.fetch.places import EPOCH, ID, WINDOW_NAME, Columns, Places, Wanted
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import Sources, key_name, key_of
from shardkit.fetch.table.records import RecordTable
from shardkit.order.training import BlockwiseOrder
from shardkit.storage import LocalFolder

_Ints = npt.NDArray[np.int64]
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
        """Make a fetcher; no file is opened."""
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
        known = {name: column for name, column in self._places.columns(0, 1).items() if name not in _NOT_COLUMNS}
        types = {name: (column.dtype, column.shape[1:]) for name, column in known.items()}
        if self._pixels is not None:
            types[PIXELS] = (self._pixels.dtype, self._pixels.shape)
            if not self._wanted.has_record:  # annotations follow their windows
                del types["window"]
            if self._mirrors:
                del types["flip"]
        elif not self._wanted.has_record and self._wanted.has_image:
            types[IMAGE] = (np.dtype(object), ())
        if self._wanted.has_record:
            types[RECORD] = (np.dtype(object), ())
        return types

    def fetch(self, first: int, count: int, *, marks: bool = False) -> Columns:
        """Return the columns of some places, [count, …] each; of fewer at the end of an evaluation."""
        columns = self._places.columns(first, count)
        ids, wanted = columns[ID], self._wanted
        data, changed = list[Any](), dict[int, int]()
        if wanted.has_record or (wanted.has_image and self._pixels is None):
            data = self._read(ids, columns)
            undecodable = self._recovery.known_undecodable(ids, columns.get("window"))
            for row in [row for row, one in enumerate(data) if type(one) is not bytes or row in undecodable]:
                try:
                    other, record = self._recovery.repaired(int(ids[row]), is_undecodable=row in undecodable)
                except (RecordError, DataError, MachineError):  # noqa: PERF203 - of this example only
                    if not marks:
                        raise
                    data[row] = b""
                else:
                    changed[row], data[row] = other, record if wanted.has_record else self._image(other, record)
        shown = None if self._pixels is None else self._pixels_of(columns, changed, data, marks=marks)
        if not self._table.has_copies:  # copies are verified when made, and never replaced
            self.sources.check(is_last=first + count >= self._places.end)
        if changed:
            columns = self._with_others(columns, changed)
        made = {name: column for name, column in columns.items() if name not in _NOT_COLUMNS}
        if shown is not None:
            made[PIXELS] = shown
            if self._mirrors:
                flip = made.pop("flip")
                # As items of one pixel each: NumPy copies items, however many channels they have.
                items = shown.view(np.dtype((np.void, shown.shape[-1] * shown.itemsize)))[..., 0]
                items[flip] = items[flip, :, ::-1]
        if data:
            made[RECORD if wanted.has_record else IMAGE] = strings(data)
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

    def _read(self, ids: _Ints, columns: Columns) -> list[Any]:
        """Return the record, or the image, of each example; something else than bytes where it was not read."""
        held, rows = self._table.held, np.arange(len(ids))
        if held is None:
            return self._read_through(ids, columns, rows)
        held.begin(self._all_records)
        found, missing = held.take(ids)
        if len(missing):
            read = self._read_through(ids[missing], columns, missing)
            for one, data in zip(ids[missing].tolist(), read, strict=True):
                if isinstance(data, bytes):
                    self.sources.check_record(one, data)  # what is held is not looked at again
            held.keep(ids[missing], read)
            for row, data in zip(missing.tolist(), read, strict=True):
                found[row] = data
        if self._wanted.has_record:
            return list(found)
        starts = self._table.image_start[ids]
        spans = zip(found, starts.tolist(), (starts + self._table.image_bytes[ids]).tolist(), strict=True)
        return [data[start:stop] if type(data) is bytes else data for data, start, stop in spans]

    def _read_through(self, ids: _Ints, columns: Columns, rows: _Ints) -> list[Any]:
        if self._lanes is not None:
            return self._lanes.read(ids, columns[WINDOW_NAME][rows])
        return self._read_stored(ids)

    def _read_stored(self, ids: _Ints) -> list[Any]:
        table, parts = self._table, None
        if not self._wanted.has_record and table.held is None:  # of the image's bytes alone a copy is made
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

    def _with_others(self, columns: Columns, changed: dict[int, int]) -> Columns:
        """Return columns with those of other examples in some rows; the columns of the place stay."""
        rows, ids = np.array(list(changed)), np.array(list(changed.values()))
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

    def _pixels_of(
        self, columns: Columns, changed: dict[int, int], data: list[Any], *, marks: bool
    ) -> npt.NDArray[Any]:
        """Return the decoded images of examples; those that are not held yet are read and decoded."""
        assert self._pixels is not None  # noqa: S101 - for those who hold them
        self._pixels.begin(self._all_records)
        ids = columns[ID].copy()
        for row, other in changed.items():
            ids[row] = other
        found, missing = self._pixels.take(ids)
        for row in missing.tolist():
            try:
                other, record, found[row] = self._decoded(int(ids[row]), columns["window"][row : row + 1])
            except (RecordError, DataError, MachineError):
                if not marks:
                    raise
                data[row] = b""
                continue
            if other != columns[ID][row]:
                changed[row] = other
                if data:
                    data[row] = record
        return found

    def _decoded(self, example_id: int, windows: npt.NDArray[np.int32]) -> tuple[int, bytes, npt.NDArray[Any]]:
        """Return an image that is not held yet, its example and record, or those of the example that replaces it."""
        assert self._pixels is not None  # noqa: S101 - as above
        (data,) = self._files.read(*self._located(np.array([example_id])))
        one = example_id
        if not isinstance(data, bytes):
            one, data = self._recovery.repaired(example_id, is_undecodable=False)
        else:
            self.sources.check_record(one, data)
        try:
            pixels = self._pixels.decode(one, self._image(one, data))
        except RecordError:
            self._recovery.find_undecodable(np.array([example_id]), windows)
            one, data = self._recovery.repaired(example_id, is_undecodable=True)
            pixels = self._pixels.decode(one, self._image(one, data))
        self._pixels.keep(np.array([one]), pixels[None])
        return one, data, pixels


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
