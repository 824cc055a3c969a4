"""Recover from damaged records: read them again, raise an error that names them, or choose a replacement.

A record whose image does not decode counts as damaged too. For an example of a batch its crop decides, because a JPEG
is decoded no further than its crop; for a replacement, the whole image.

A record that is intact when it is read again is used. A file that the machine cannot read is not damaged: it raises
MachineError.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset.manifest.readopting import made_again
from shardkit.dataset.tfrecord import OVERHEAD_BYTES, unframe
from shardkit.errors import DataError, RecordError
from shardkit.fetch.damaged_records import DamagedRecord, DamagedRecords
from shardkit.fetch.sources import Sources
from shardkit.fetch.table.records import RecordTable
from shardkit.hashing import hash64
from shardkit.storage import unreadable
from shardkit.storage.retry import retried

_LOG = logging.getLogger(__name__)
# A prime above any number of examples, so that it has no common divisor with it: steps of this length visit every
# example once before any twice. The neighbours of a damaged record are often damaged too, so steps are long.
STRIDE = (1 << 61) - 1


# The decoder's error of an encoded image in its window, int32[4], with `is_png`; None if the window decodes.
DecodingError = Callable[..., str | None]


class RecordRecovery:
    """Finds out what is wrong with the records that could not be read or decoded."""

    def __init__(
        self,
        table: RecordTable,
        damaged: DamagedRecords | None,
        seed: int,
        sources: Sources,
        decoding_error: DecodingError | None = None,
    ) -> None:
        self._table, self._damaged, self._seed, self._decoding_error = table, damaged, seed, decoding_error
        self._sources = sources
        self._lost_classes = set[tuple[str, int]]()
        # For each damaged example, the last window that was decoded, and whether it failed.
        self._decoded: dict[int, tuple[list[int], bool]] = {}

    def repaired(self, example_id: int, *, is_undecodable: bool = False) -> tuple[int, bytes]:
        """Return the example in the place of one that was not read or decoded, and its data.

        It is the same example if its record is intact when it is read again, else the one that replaces it. All damaged
        records met are counted.
        """
        for candidate in self._candidates(example_id, is_undecodable=is_undecodable):
            try:
                data = self._read(candidate)
                if candidate != example_id:
                    self._check_image(candidate, data)
            except RecordError as error:  # noqa: PERF203 - each may be damaged
                self._count(candidate, error)
            else:
                self._sources.check_record(candidate, data)
                self._warn_of_other_class(example_id, candidate)
                return candidate, data
        problem = RecordError("it is damaged, and no other example of this selection is intact to replace it")
        raise RecordError(f"{self._named(example_id, problem)}, or leave it out with where=")

    def find_undecodable(self, example_ids: npt.NDArray[np.int64], windows: npt.NDArray[np.int32]) -> int:
        """Return the number of images of a failed step that do not decode; they are replaced from now on."""
        found = 0
        for example_id, window in zip(example_ids.tolist(), windows, strict=True):
            error = self._decoding_problem(example_id, window)
            if error is not None:
                self._count(example_id, error)
                self._decoded[example_id] = window.tolist(), True
                found += 1
        return found

    def known_undecodable(self, example_ids: npt.NDArray[np.int64], windows: npt.NDArray[np.int32] | None) -> set[int]:
        """Return the rows of the examples that are known not to decode in their windows.

        Only examples that were found to be damaged before are decoded here: so a step fails once for each of them, and
        not again in every epoch.
        """
        if self._damaged is None or windows is None:
            return set()
        undecodable = set[int]()
        for row in self._damaged.known(example_ids).tolist():
            example_id, window = int(example_ids[row]), windows[row]
            decoded = self._decoded.get(example_id)
            if decoded is None or decoded[0] != window.tolist():
                problem = self._decoding_problem(example_id, window)
                decoded = self._decoded[example_id] = window.tolist(), problem is not None
            if decoded[1]:
                undecodable.add(row)
        return undecodable

    def _decoding_problem(self, example_id: int, window: npt.NDArray[np.int32]) -> RecordError | None:
        """Return the error of an image that does not decode; a record that cannot be read is left to the next fetch."""
        try:
            data = self._read(example_id)
        except (RecordError, OSError):
            return None
        try:
            self._check_image(example_id, data, window)
        except RecordError as error:
            self._sources.check_record(example_id, data)
            return error
        return None

    def _candidates(self, example_id: int, *, is_undecodable: bool) -> Iterator[int]:
        """Yield the example, unless it is known to be damaged, then the others of its class, then those of its dataset.

        The last ones let training continue if a class has no intact example left.
        """
        if not is_undecodable:
            yield example_id
        for same_class in (True, False):
            peers = self._table.peers(example_id, same_class=same_class)
            rank = int(np.searchsorted(peers, example_id))
            for attempt in range(1, len(peers)):
                yield int(peers[replacement(rank, attempt, self._seed, len(peers))])

    def _warn_of_other_class(self, example_id: int, other: int) -> None:
        """Name a class without an intact example once, when an example of another class replaces one of it."""
        label = self._table.label
        if label[example_id] == label[other]:
            return
        lost = self._table.location(example_id)[0].url, int(label[example_id])
        if lost not in self._lost_classes:
            self._lost_classes.add(lost)
            _LOG.warning(
                "%s: no example of class %r is intact; examples of other classes replace them, with weight 0 where "
                "elements have weights",
                lost[0],
                self._table.class_name(example_id),
            )

    def _count(self, example_id: int, error: RecordError) -> None:
        """Count a damaged record that is replaced; raise the error that names it if none is, or too many are."""
        if self._damaged is None or not len(self._damaged.known(np.asarray([example_id]))):
            self._sources.check_shard(example_id)
        if self._damaged is None:
            raise RecordError(self._named(example_id, error)) from None
        record, url = self._describe(example_id, error), self._table.location(example_id)[0].url
        try:
            is_new = self._damaged.add(record)
        except RecordError as above_limit:
            raise RecordError(f"{url}/{above_limit}: {self._remedy(example_id)}, or raise the limit") from None
        if is_new:
            _LOG.warning("%s/%s; another example replaces it", url, record)

    def _check_image(self, example_id: int, data: bytes, window: Any = None) -> None:
        if self._decoding_error is None:
            return
        table = self._table
        start = int(table.image_start[example_id])
        encoded = data[start : start + int(table.image_bytes[example_id])]
        if window is None:
            window = np.array([0, 0, table.height[example_id], table.width[example_id]], np.int32)
        if problem := self._decoding_error(encoded, window, is_png=bool(table.is_png[example_id])):
            raise RecordError(f"its image does not decode: {problem}")

    def _named(self, example_id: int, error: RecordError) -> str:
        root, *_ = self._table.location(example_id)
        return f"{root.url}/{self._describe(example_id, error)}; {self._remedy(example_id)}"

    def _remedy(self, example_id: int) -> str:
        return f"run `shardkit verify`, then restore the shard or {made_again(self._table.location(example_id)[0])}"

    def _read(self, example_id: int) -> bytes:
        table = self._table
        root, shard, _ = table.location(example_id)
        # Where the dataset is, not in its copy, and opened anew: what was read first may be damaged or replaced.
        start, length = int(table.offset[example_id]), int(table.length[example_id])
        try:
            frame = retried(lambda: root.read_range(shard.path, start, length + OVERHEAD_BYTES))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RecordError(str(error)) from error
        except OSError as error:
            raise unreadable(f"{root.url}/{shard.path}", error) from error
        return unframe(frame, length)

    def _describe(self, example_id: int, error: RecordError) -> DamagedRecord:
        _, shard, number = self._table.location(example_id)
        problem = str(error)
        try:
            key = self._table.keys(np.asarray([example_id]))[0]
        except (OSError, DataError) as unreadable_key:
            key, problem = "unknown", f"{problem}; {unreadable_key}"
        return DamagedRecord(example_id, shard.path, number, key, problem)


def replacement(rank: int, attempt: int, seed: int, count: int) -> int:
    """Return the rank of the example that replaces a damaged one.

    If a damaged record were skipped, all later positions would move, and workers that share the order would drift
    apart. The replacement is a pure function, so that every worker, every epoch and every resumed run has the same one.
    It is of the same class and dataset, so that their shares stay exact.

    Over attempts 1 to count - 1 every other example comes exactly once, in an order that depends on rank and seed: if
    one record is intact, it is found.
    """
    others = count - 1
    (start,) = hash64([str(rank)], seed=seed, purpose="replacement")
    return int((rank + 1 + (int(start) + (attempt - 1) * STRIDE) % others) % count)
