"""Read the records of TFRecord files by offset and length, many at once: `shardkit.open` and the reader do it here.

    ranges of a call, sorted ─► read into one array ─► CRC of each ─► headers and footers compared as arrays ─► bytes

The array is kept for the next call: memory that is new for each record costs a page fault for every 4 KiB, which takes
longer than reading and checking it. Ranges that the page cache has are read without releasing the interpreter's lock.
There is no mmap: a truncated file has to be an error, and would be SIGBUS.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from shardkit.dataset.runs import LOCAL, REMOTE, runs
from shardkit.dataset.tfrecord import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, header, unframe
from shardkit.errors import MachineError, RecordError
from shardkit.storage import Folder, OpenFiles
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.open_files import MAX_OPEN_FILES

_Ints = npt.NDArray[np.int64]
Found = bytes | RecordError | MachineError | OSError
ROOM_BYTES = 8 << 20  # read at a time, if a single range is not larger
_MASK_DELTA = np.uint32(0xA282EAD8)
# Arrays that are not in use; each call takes one.
_rooms: deque[npt.NDArray[np.uint8]] = deque(maxlen=4)


class Parts(NamedTuple):
    """The bytes [start, start + size) of the data of each record, int64[n] both."""

    starts: _Ints
    sizes: _Ints

    def of(self, data: bytes, row: int) -> bytes:
        """Return the part of a whole record."""
        start = int(self.starts[row])
        return data[start : start + int(self.sizes[row])]


class _Range(NamedTuple):
    """Records next to each other in a file, which are read together: positions in the order of the files."""

    file: tuple[OpenFiles, str]
    start: int
    stop: int
    first: int
    end: int


class RecordFiles:
    """TFRecord files of one or several folders, by number. Safe for threads.

    Records that are close together in a file are read by one request. The kernel is told of all of a call's ranges that
    it has to read from a disk, so that a slow disk or a network mount works on them at the same time; a store gets
    several requests at once.
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

    def read(self, numbers: _Ints, offsets: _Ints, lengths: _Ints, parts: Parts | None = None) -> list[Found]:
        """Return the data of records, in the order asked for, after checking both of their CRCs.

        Args:
            numbers: int64[n], the number of each record's file.
            offsets: int64[n], offset of each record's frame in its file, bytes.
            lengths: int64[n], length of each record's data, bytes.
            parts: The part of each record's data that is returned; None for all of it.

        Returns:
            For each record its data, or the error: RecordError if it is damaged, the message does not name it; another
            one if its file cannot be read. One record that fails costs no other one.
        """
        in_order = np.lexsort((offsets, numbers))
        numbers, offsets, lengths = numbers[in_order], offsets[in_order], lengths[in_order]
        stops = offsets + (lengths + OVERHEAD_BYTES)
        is_local = all(self._files[number][0].is_local for number in set(numbers.tolist()))
        starts_of, stops_of, files_of = offsets.tolist(), stops.tolist(), numbers.tolist()
        ranges = [
            _Range(self._files[files_of[first]], starts_of[first], stops_of[end - 1], first, end)
            for first, end in runs(numbers, offsets, stops, LOCAL if is_local else REMOTE)
        ]
        if parts is not None:
            parts = Parts(parts.starts[in_order], parts.sizes[in_order])
        rows, found = in_order.tolist(), list[Found]([b""]) * len(in_order)
        of_order = (
            _local_records(ranges, offsets, lengths, parts)
            if is_local
            else _remote_records(ranges, starts_of, lengths.tolist(), parts)
        )
        for at, data in of_order:
            if data is not None:
                found[rows[at]] = data
                continue
            again = self.read_one(files_of[at], starts_of[at], int(lengths[at]))  # the slow way tells what is wrong
            found[rows[at]] = parts.of(again, at) if isinstance(again, bytes) and parts is not None else again
        return found

    def read_one(self, number: int, offset: int, length: int) -> Found:
        """Return what `read` returns for one record."""
        one = _Range(self._files[number], offset, offset + length + OVERHEAD_BYTES, 0, 1)
        return _record(_read(one), length, 0)


def _local_records(
    ranges: list[_Range], offsets: _Ints, lengths: _Ints, parts: Parts | None
) -> Iterator[tuple[int, bytes | None]]:
    """Yield the position of each record and its data; None if it was not read, or is damaged."""
    while ranges:
        sizes = np.array([one.stop - one.start for one in ranges])
        count = max(1, int(np.searchsorted(np.cumsum(sizes), ROOM_BYTES, "right")))
        count = min(count, MAX_OPEN_FILES * 16)
        group, ranges = ranges[:count], ranges[count:]
        room = _room(int(sizes[:count].sum()))
        yield from _of_group(group, sizes[:count], room, offsets, lengths, parts)
        if len(room) <= 2 * ROOM_BYTES:
            _rooms.append(room)


def _room(num_bytes: int) -> npt.NDArray[np.uint8]:
    try:
        room = _rooms.pop()
    except IndexError:
        room = np.empty(0, np.uint8)
    return room if len(room) >= num_bytes else np.empty(num_bytes * 5 // 4, np.uint8)


def _view(room: npt.NDArray[np.uint8]) -> memoryview:
    return memoryview(room)  # type: ignore[arg-type] # NumPy's types do not say that an array is a buffer


def _of_group(
    group: list[_Range],
    sizes: _Ints,
    room: npt.NDArray[np.uint8],
    offsets: _Ints,
    lengths: _Ints,
    parts: Parts | None,
) -> Iterator[tuple[int, bytes | None]]:
    """Read some ranges into an array, and yield the records in them; see `_local_records`."""
    first, end = group[0].first, group[-1].end
    places = np.cumsum(sizes) - sizes
    counts = [one.end - one.first for one in group]
    # From an offset in a file to one in the array.
    shifts = places - np.array([one.start for one in group])
    is_single = len(group) == end - first
    starts = offsets[first:end] + (shifts if is_single else np.repeat(shifts, counts))
    lengths = lengths[first:end]
    data_starts, footers = starts + HEADER_BYTES, starts + (HEADER_BYTES + lengths)
    checked, are_read = _read_into(group, room, places, sizes, data_starts.tolist(), footers.tolist())
    crc = np.array(checked, np.uint32)
    masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + _MASK_DELTA
    found = room[footers[:, None] + np.arange(FOOTER_BYTES)].view("<u4")[:, 0]
    headers = np.frombuffer(b"".join(map(header, lengths.tolist())), np.uint8).reshape(-1, HEADER_BYTES)
    intact = (masked == found) & (room[starts[:, None] + np.arange(HEADER_BYTES)] == headers).all(axis=1)
    intact &= are_read if is_single else np.repeat(are_read, counts)
    if parts is not None:
        data_starts, lengths = data_starts + parts.starts[first:end], parts.sizes[first:end]
    view = _view(room)
    spans = zip(data_starts.tolist(), (data_starts + lengths).tolist(), intact.tolist(), strict=True)
    for at, (start, stop, is_intact) in enumerate(spans, first):
        yield at, bytes(view[start:stop]) if is_intact else None


def _read_into(
    group: list[_Range],
    room: npt.NDArray[np.uint8],
    places: _Ints,
    sizes: _Ints,
    data_starts: list[int],
    data_stops: list[int],
) -> tuple[list[int], list[bool]]:
    """Read ranges to their places in an array; return the CRC of each record, and which ranges were read as a whole."""
    vectors = np.empty((len(group), 2), np.uint64)  # struct iovec
    vectors[:, 0], vectors[:, 1] = room.ctypes.data + places, sizes
    address, step = vectors.ctypes.data, vectors.strides[0]
    base, value = group[0].first, google_crc32c.value
    checked, are_read, missing = [0] * len(data_starts), [False] * len(group), list[int]()

    def check(one: _Range) -> None:
        for at in range(one.first - base, one.end - base):
            checked[at] = value(room[data_starts[at] : data_stops[at]])

    for number, (one, size) in enumerate(zip(group, sizes.tolist(), strict=True)):
        files, path = one.file
        try:
            if files.read_cached(path, address + number * step, one.start) == size:
                are_read[number] = True
                check(one)  # now, while it is in the processor's cache
            else:
                missing.append(number)
        except OSError:
            continue
    for number in missing:
        _announce(group[number])
    view, bounds = _view(room), np.stack([places, places + sizes], axis=1).tolist()
    for number in missing:
        one, (start, stop) = group[number], bounds[number]
        files, path = one.file
        try:
            are_read[number] = files.read_into(path, view[start:stop], one.start) == stop - start
        except OSError:
            continue
        check(one)
    return checked, are_read


def _announce(one: _Range) -> None:
    try:
        one.file[0].will_need(one.file[1], one.start, one.stop - one.start)
    except OSError:
        return  # reading reports what is wrong


def _remote_records(
    ranges: list[_Range], starts: list[int], lengths: list[int], parts: Parts | None
) -> Iterator[tuple[int, Found]]:
    """Yield the position of each record, and its data or the error."""
    for one, block in zip(ranges, read_many(_read, ranges), strict=True):
        for at in range(one.first, one.end):
            data = _record(block, lengths[at], starts[at] - starts[one.first])
            yield at, parts.of(data, at) if parts is not None and isinstance(data, bytes) else data


def _read(one: _Range) -> bytes | Exception:
    try:
        return one.file[0].read_range(one.file[1], one.start, one.stop - one.start)
    except (OSError, MachineError) as error:
        return error


def _record(block: bytes | Exception, length: int, start: int) -> Found:
    if not isinstance(block, bytes):
        return block  # type: ignore[return-value] # see _read
    try:
        return unframe(block, length, start)
    except RecordError as error:
        return error
