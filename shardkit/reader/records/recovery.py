"""What Python does about a damaged record: read it again, name it by shard, record and key, or choose another.

A record whose image does not decode is damaged too. For a training example its crop decides, because a JPEG is decoded
no further than that; for an example that takes another's place, all of its image.

A record that a second reading finds sound is used. A file that the machine cannot read is no damage: it stops.
"""

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset import tfrecord
from shardkit.errors import DataError, RecordError
from shardkit.reader.arguments.options import ImageOptions
from shardkit.reader.images.decoding import decoding_error
from shardkit.reader.records.faults import Fault, FaultBudget, replacement
from shardkit.reader.records.source_changes import SourceWatch
from shardkit.reader.table.records import RecordTable
from shardkit.storage import unreadable

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
            table: The split's record table.
            budget: Damaged records that are replaced, shared by all pipelines of an input function; None to stop at
                the first.
            seed: Seed of the reader, 0 to 2**63 - 1; decides which example takes a damaged one's place.
            image: How images are decoded; None if they are not.
        """
        self._table, self._budget, self._seed, self._image = table, budget, seed, image
        self._watch = SourceWatch(table)
        # The last window of each damaged example that was tried, and whether it decodes.
        self._tried: dict[int, tuple[list[int], bool]] = {}

    @property
    def replaces(self) -> bool:
        """Whether another example takes a damaged one's place."""
        return self._budget is not None

    def explain(self, example_id: int) -> bytes:
        """Raise what is wrong with a record; return its data if a second reading finds nothing wrong with it.

        Raises:
            RecordError: It is damaged; names shard, record and key.
            DataError: Its shard was replaced.
            MachineError: Its shard cannot be read.
        """
        example_id = int(example_id)
        try:
            data = self._read(example_id)
        except RecordError as error:
            raise self._named(example_id, error) from None
        self._watch.check_record(example_id, data)
        return data

    def replace(self, example_id: int, is_undecodable: bool) -> tuple[np.int64, bytes]:  # noqa: FBT001 - from a graph
        """Return the example that takes the place of a damaged one, and its data.

        That is the same example if a second reading finds nothing wrong with it. Every damaged one met is counted.

        Args:
            example_id: Row in the table.
            is_undecodable: Whether the record is sound, and its image known not to decode.

        Raises:
            RecordError: No other record is sound, or there were more damaged ones than the budget allows.
            DataError: A shard was replaced.
            MachineError: A shard cannot be read.
        """
        example_id = int(example_id)
        for candidate in self._candidates(example_id, is_undecodable=bool(is_undecodable)):
            try:
                data = self._read(candidate)
                if candidate != example_id:
                    self._check_image(candidate, data)
            except RecordError as error:  # noqa: PERF203 - each may be damaged
                self._count(candidate, error)
            else:
                self._watch.check_record(candidate, data)
                return np.int64(candidate), data
        raise self._irreplaceable(example_id)

    def check_sources(self) -> None:
        """See SourceWatch.check."""
        self._watch.check()

    def look_into(self, example_ids: npt.NDArray[np.int64], windows: npt.NDArray[np.int32]) -> int:
        """Return how many images of a step that failed do not decode; from now on they are replaced.

        Args:
            example_ids: int64[n].
            windows: int32[n, 4], the windows that are decoded.

        Raises:
            RecordError: Damaged records are not replaced, which names the first by shard, record and key; or there were
                more than the budget allows.
            DataError: A shard was replaced.
        """
        found = 0
        for example_id, window in zip(example_ids.tolist(), windows, strict=True):
            try:
                data = self._read(example_id)
            except (RecordError, OSError):
                continue  # the graph finds it too, and calls explain or replace
            try:
                self._check_image(example_id, data, window)
            except RecordError as error:
                self._watch.check_record(example_id, data)
                if self._budget is None:
                    raise self._named(example_id, error) from None
                self._count(example_id, error)
                self._tried[example_id] = window.tolist(), True
                found += 1
        return found

    def are_undecodable(
        self, example_ids: npt.NDArray[np.int64], windows: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        """Return which examples are known not to decode in those windows, bool[n].

        Only damaged examples met before are tried, so that a step fails once for each of them, not in every epoch.
        """
        found = np.zeros(len(example_ids), np.bool_)
        if self._budget is not None:
            for row in self._budget.known(example_ids).tolist():
                found[row] = self._is_undecodable(int(example_ids[row]), windows[row])
        return found

    def _is_undecodable(self, example_id: int, window: npt.NDArray[np.int32]) -> bool:
        tried = self._tried.get(example_id)
        if tried is not None and tried[0] == window.tolist():
            return tried[1]
        try:
            data = self._read(example_id)
        except (RecordError, OSError):
            return False  # see look_into
        try:
            self._check_image(example_id, data, window)
        except RecordError:
            is_undecodable = True
        else:
            is_undecodable = False
        self._tried[example_id] = window.tolist(), is_undecodable
        return is_undecodable

    def _candidates(self, example_id: int, *, is_undecodable: bool) -> Iterator[int]:
        """Yield the example itself, unless it is known to be damaged, then the others of its class and dataset."""
        if not is_undecodable:
            yield example_id
        peers = self._table.peers(example_id)
        rank = int(np.searchsorted(peers, example_id))
        for attempt in range(1, len(peers)):
            yield int(peers[replacement(rank, attempt, self._seed, len(peers))])

    def _irreplaceable(self, example_id: int) -> RecordError:
        shard, number = self._table.place(example_id)
        key, name = self._table.keys(np.asarray([example_id]))[0], self._table.class_name(example_id)
        kind = "example" if name is None else f"example of class {name!r}"
        return RecordError(
            f"{self._table.root(example_id).url}/{shard.path}: record {number}, key {key!r}: it is damaged, and no "
            f"other {kind} that is read is sound and can take its place; {_REMEDY}, or leave it out with where="
        )

    def _count(self, example_id: int, error: RecordError) -> None:
        assert self._budget is not None  # noqa: S101 - called only if damaged records are replaced
        if not len(self._budget.known(np.asarray([example_id]))):
            self._watch.check_shard(example_id)
        if self._budget.spend(fault := self._fault(example_id, str(error))):
            _LOG.warning("%s/%s; another example takes its place", self._table.root(example_id).url, fault)

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
        self._watch.check_shard(example_id)
        fault = self._fault(example_id, str(error))
        return RecordError(f"{self._table.root(example_id).url}/{fault}; {_REMEDY}")

    def _read(self, example_id: int) -> bytes:
        shard, _ = self._table.place(example_id)
        root = self._table.root(example_id)
        try:
            with root.open(shard.path) as file:
                file.seek(int(self._table.offset[example_id]))
                data: bytes = next(tfrecord.read_records(file, name=_NAME))[1]
        except StopIteration:
            msg = "the file ends before it"
            raise RecordError(msg) from None
        except RecordError as error:
            raise RecordError(str(error).removeprefix(_PREFIX)) from None
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RecordError(str(error)) from error
        except OSError as error:
            raise unreadable(f"{root.url}/{shard.path}", error) from error
        return data

    def _fault(self, example_id: int, found: str) -> Fault:
        shard, number = self._table.place(example_id)
        try:
            key = self._table.keys(np.asarray([example_id]))[0]
        except (OSError, DataError) as error:
            key, found = "unknown", f"{found}; {error}"
        return Fault(example_id, shard.path, number, key, found)
