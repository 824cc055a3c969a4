"""What Python does about a damaged record: read it again, name it by shard, record and key, or choose another.

A record is damaged too whose image does not decode: of a training example that is decided by its crop, because a JPEG
is decoded no further than that; of an example that takes another's place, by all of its image.
"""

import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit import tfrecord
from shardkit.errors import DataError, RecordError
from shardkit.reader.decoding import decoding_error
from shardkit.reader.faults import Fault, FaultBudget, replacement
from shardkit.reader.options import ImageOptions
from shardkit.reader.table import RecordTable

_LOG = logging.getLogger(__name__)
_REMEDY = "run `shardkit verify`, then restore the shard or convert again"
# What errors of a file that is read from the record on call it; the number and the offset are not those in the shard.
_NAME = "record"
_PREFIX = f"{_NAME}: record 0 at byte 0: "


class Rereader:
    """Answers for the records that a graph could not read."""

    def __init__(
        self, table: RecordTable, budget: FaultBudget | None, seed: int, image: ImageOptions | None = None
    ) -> None:
        """Make one.

        Args:
            table: of the split.
            budget: of damaged records that are replaced; None to stop at the first.
            seed: of the conversion's readers, 0 to 2**63 - 1; decides which example takes a damaged one's place.
            image: how images are decoded; None where they are not.
        """
        self._table, self._budget, self._seed, self._image = table, budget, seed, image
        self._undecodable: set[tuple[int, int]] = set()

    @property
    def replaces(self) -> bool:
        """Whether another example takes a damaged one's place."""
        return self._budget is not None

    def explain(self, example_id: int) -> bytes:
        """Raise what is wrong with a record; the data if a second reading finds nothing wrong with it.

        Raises:
            RecordError: naming shard, record and key.
        """
        try:
            return self._read(int(example_id))
        except RecordError as error:
            raise self._named(int(example_id), error) from None

    def replace(self, example_id: int) -> tuple[np.int64, bytes]:
        """The example that takes the place of a damaged one, and its data; every damaged one met is counted.

        Raises:
            RecordError: no record is sound, or there were more damaged ones than the budget allows.
        """
        assert self._budget is not None  # noqa: S101 - else nobody asks
        candidate, attempt = int(example_id), 0
        while True:
            try:
                data = self._read(candidate)
                self._check_image(candidate, data)
                return np.int64(candidate), data
            except RecordError as error:
                if self._budget.spend(fault := self._fault(candidate, str(error))):
                    _LOG.warning("%s/%s; another example takes its place", self._table.root(candidate).url, fault)
            attempt += 1
            candidate = replacement(int(example_id), attempt, self._seed, self._table.num_examples)

    def look_into(
        self, example_ids: npt.NDArray[np.int64], epochs: npt.NDArray[np.int64], windows: npt.NDArray[np.int32]
    ) -> np.int64:
        """How many images of a step that failed do not decode, and were not known: from now on they are replaced.

        Args:
            example_ids: int64[n].
            epochs: int64[n].
            windows: int32[n, 4] that are decoded of them.

        Raises:
            RecordError: damaged records are not replaced; it names the first by shard, record and key.
        """
        known = len(self._undecodable)
        for example_id, epoch, window in zip(example_ids.tolist(), epochs.tolist(), windows, strict=True):
            if (example_id, epoch) in self._undecodable:
                continue
            try:
                data = self._read(example_id)
            except RecordError:
                continue  # found by the graph, and what is done about it does not end the pipeline
            try:
                self._check_image(example_id, data, window)
            except RecordError as error:
                if self._budget is None:
                    raise self._named(example_id, error) from None
                self._undecodable.add((example_id, epoch))
        found: np.int64 = np.int64(len(self._undecodable) - known)
        return found

    def are_undecodable(
        self, example_ids: npt.NDArray[np.int64], epochs: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Which examples `look_into` found not to decode in those epochs, bool[n]."""
        found = np.zeros(len(example_ids), np.bool_)
        if self._undecodable:
            pairs = zip(example_ids.tolist(), epochs.tolist(), strict=True)
            found[:] = [pair in self._undecodable for pair in pairs]
        return found

    def _check_image(self, example_id: int, data: bytes, window: Any = None) -> None:
        if self._image is None:
            return
        table = self._table
        start = int(table.image_start[example_id])
        encoded = data[start : start + int(table.image_bytes[example_id])]
        is_png = table.is_png is not None and bool(table.is_png[example_id])
        if window is None:
            window = np.array([0, 0, table.height[example_id], table.width[example_id]], np.int32)
        if problem := decoding_error(encoded, window, is_png=is_png, image=self._image):
            msg = f"its image does not decode: {problem}"
            raise RecordError(msg)

    def _named(self, example_id: int, error: RecordError) -> RecordError:
        fault = self._fault(example_id, str(error))
        return RecordError(f"{self._table.root(example_id).url}/{fault}; {_REMEDY}")

    def _read(self, example_id: int) -> bytes:
        shard, _ = self._table.place(example_id)
        try:
            with self._table.root(example_id).open(shard.path) as file:
                file.seek(int(self._table.offset[example_id]))
                data: bytes = next(tfrecord.read_records(file, name=_NAME))[1]
        except StopIteration:
            msg = "the file ends before it"
            raise RecordError(msg) from None
        except RecordError as error:
            raise RecordError(str(error).removeprefix(_PREFIX)) from None
        except OSError as error:
            raise RecordError(str(error)) from error
        return data

    def _fault(self, example_id: int, found: str) -> Fault:
        shard, number = self._table.place(example_id)
        try:
            key = self._table.keys(np.asarray([example_id]))[0]
        except (OSError, DataError) as error:
            key, found = "unknown", f"{found}; {error}"
        return Fault(example_id, shard.path, number, key, found)
