"""Read the records of TFRecord files by offset and length, many at once: `shardkit.open` and the reader do it here."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.dataset.runs import LOCAL, REMOTE, runs
from shardkit.dataset.tfrecord import OVERHEAD_BYTES, unframe
from shardkit.errors import MachineError, RecordError
from shardkit.storage import Folder, OpenFiles
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.open_files import MAX_OPEN_FILES

_Ints = npt.NDArray[np.int64]
_Place = tuple[OpenFiles, str, int, int]  # files, path, start, stop
Found = bytes | RecordError | MachineError | OSError


class RecordFiles:
    """TFRecord files of one or several folders, by number. Safe for threads.

    Records that are close together in a file are read by one request. The kernel is told of all of a call's local
    ranges first, so that a slow disk or a network mount works on them at the same time; stores get several requests at
    once.
    """

    def __init__(self, files: Sequence[tuple[Folder, str]]) -> None:
        """Name the files; none is opened.

        Args:
            files: Folder and path of each file.
        """
        opened: dict[str, OpenFiles] = {}
        self._files = [(opened.setdefault(folder.url, OpenFiles(folder)), path) for folder, path in files]

    @property
    def are_local(self) -> bool:
        """Whether all files are on this machine."""
        return all(files.is_local for files, _ in self._files)

    def reopen(self) -> None:
        """Open each file anew from now on: another one may have its name."""
        for files, _ in self._files:
            files.reopen()

    def read(self, numbers: _Ints, offsets: _Ints, lengths: _Ints) -> list[Found]:
        """Return the data of records, in the order asked for, after checking both of their CRCs.

        Args:
            numbers: int64[n], the number of each record's file.
            offsets: int64[n], offset of each record's frame in its file, bytes.
            lengths: int64[n], length of each record's data, bytes.

        Returns:
            For each record its data, or the error: RecordError if it is damaged, the message does not name it; another
            one if its file cannot be read. One record that fails costs no other one.
        """
        if len(numbers) == 1:
            return [self.read_one(int(numbers[0]), int(offsets[0]), int(lengths[0]))]
        in_order = np.lexsort((offsets, numbers))
        numbers, offsets = numbers[in_order], offsets[in_order]
        stops = offsets + lengths[in_order] + OVERHEAD_BYTES
        is_local = all(self._files[number][0].is_local for number in np.unique(numbers).tolist())
        ranges = list(runs(numbers, offsets, stops, LOCAL if is_local else REMOTE))
        places = [(*self._files[numbers[first]], int(offsets[first]), int(stops[end - 1])) for first, end in ranges]
        blocks = _announced(places) if is_local else read_many(_read, places)
        found: list[Found] = [b""] * len(in_order)
        rows, starts, sizes = in_order.tolist(), offsets.tolist(), lengths[in_order].tolist()
        for (first, end), block in zip(ranges, blocks, strict=True):
            for at in range(first, end):
                found[rows[at]] = _record(block, sizes[at], starts[at] - starts[first])
        return found

    def read_one(self, number: int, offset: int, length: int) -> Found:
        """Return what `read` returns for one record."""
        files, path = self._files[number]
        return _record(_read((files, path, offset, offset + length + OVERHEAD_BYTES)), length, 0)


def _announced(places: list[_Place]) -> Iterator[bytes | Exception]:
    """Yield the bytes of ranges of local files; the kernel is told of some before the first of them is read."""
    for first in range(0, len(places), MAX_OPEN_FILES):  # with more, files would be opened twice
        part = places[first : first + MAX_OPEN_FILES]
        for place in part:
            _announce(*place)
        yield from map(_read, part)


def _announce(files: OpenFiles, path: str, start: int, stop: int) -> None:
    try:
        files.will_need(path, start, stop - start)
    except OSError:
        return  # reading reports what is wrong


def _read(place: _Place) -> bytes | Exception:
    files, path, start, stop = place
    try:
        return files.read_range(path, start, stop - start)
    except (OSError, MachineError) as error:
        return error


def _record(block: bytes | Exception, length: int, start: int) -> Found:
    if not isinstance(block, bytes):
        return block  # type: ignore[return-value] # see _read
    try:
        return unframe(block, length, start)
    except RecordError as error:
        return error
