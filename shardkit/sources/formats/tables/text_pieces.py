r"""Divide a large text table into pieces that workers read at the same time.

Where a record begins follows only from the records before it: quotes may contain line ends. So the driver reads the
whole table once, as the workers will, and notes byte offset and line number of a record about every 8 MiB. Where there
are no quotes, each line is a record, and counting the line ends is enough.

    piece 0                piece 1                piece 2
    |a.jpg,cat\n ... \n    |k.jpg,"a            \n  dog"\n ... \n    |t.jpg,cat\n ... end of the file
    offset 0, line 1       offset 8,388,613, line 99,871             offset 16,777,240, line 199,702
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import SourceChangedError
from shardkit.sources.formats.tables.lines import (
    FIRST_LINE,
    MAX_LINE_BYTES,
    READ_BYTES,
    UTF_8_MARK,
    UTF_16_MARKS,
    Line,
    LineStart,
    read_lines,
)
from shardkit.sources.hosts import seen_again, unfiltered
from shardkit.storage import Entry, Folder, os_errors_as

PIECE_BYTES = 8 << 20  # 8 MiB: about 100,000 records, which are listed in a second
MAX_PIECES = 128  # of a table; each is an element of the pipeline's graph


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Successive records of a text table; small and pickled into the pipeline's graph."""

    start: LineStart  # where the first record begins
    # Number of the line that the first record after the piece begins on; None for the end of the file
    stop_line: int | None
    table: Entry  # the table's file as the driver saw it: offsets mean nothing in another one

    def lines(self, folder: Folder, path: str) -> Iterator[Line]:
        """Yield the file's lines from the piece's first one on, up to the end of the file.

        A record with unmatched quotes is read beyond the piece, to tell what a reader of the whole table finds in it.
        """
        url = f"{folder.url}/{path}"
        with os_errors_as("read the table", url):
            found = seen_again(partial(folder.stat, path), self.table)
        if found != self.table:
            msg = f"{url}: the table has changed since the conversion began; convert again when it no longer changes"
            raise SourceChangedError(msg)
        return read_lines(folder, path, self.start)

    def ends_before(self, line: int) -> bool:
        return self.stop_line is not None and line >= self.stop_line


@dataclass(frozen=True, slots=True)
class RecordRule:
    """How the records of a text table follow from its lines."""

    # Maps lines, of which the first begins a record, to the numbers of lines that records begin on
    first_lines: Callable[[Iterator[Line]], Iterator[int]]
    # Whether each line of a part of the file is a record, given the part's bytes
    has_line_records: Callable[[bytes], bool]
    num_skipped: int = 0  # number of records at the beginning that are no data; they stay in one piece


def divide_text(folder: Folder, path: str, rule: RecordRule) -> list[TextPiece]:
    """Return the pieces of a table; no piece if it stays whole: it is small, UTF-16, or in an archive.

    Reads the table once if it is divided. Memory: the lines of about 2 MiB.
    """
    with os_errors_as("read the table", folder.url_of(path)):
        found = folder.stat(path)
        # Each piece of an archive's member would unpack the whole member.
        if (
            found is None
            or found.num_bytes < 2 * PIECE_BYTES
            or isinstance(unfiltered(folder), ArchiveFolder | MountedFolder)
        ):
            return []
        head = folder.read_range(path, 0, len(UTF_8_MARK))
        if head.startswith(UTF_16_MARKS):
            return []
        piece_bytes = max(PIECE_BYTES, -(-found.num_bytes // MAX_PIECES))
        start: LineStart | None = LineStart(len(UTF_8_MARK), 1) if head == UTF_8_MARK else FIRST_LINE
        starts: list[LineStart] = []
        skipped = rule.num_skipped
        while start is not None:
            starts.append(start)
            wanted = start.offset + piece_bytes
            start = None
            if wanted < found.num_bytes:
                quick = None if skipped else _after_lines(folder, path, starts[-1], wanted, rule)
                start = quick or _after_records(folder, path, starts[-1], wanted, rule, skipped)
            if start is not None and start.offset >= found.num_bytes:
                start = None
            skipped = 0
    stops = [*(start.number for start in starts[1:]), None]
    return [TextPiece(*bounds, found) for bounds in zip(starts, stops, strict=True)] if len(starts) > 1 else []


def _after_lines(folder: Folder, path: str, start: LineStart, wanted: int, rule: RecordRule) -> LineStart | None:
    """Return the first line that begins at byte `wanted` or later, if each line up to it is a record; else None."""
    offset, number = start
    with folder.open(path) as file:
        file.seek(offset)
        held = b""
        while block := held + file.read(READ_BYTES):
            # The end of a line may be its LF, which is in the next block.
            held = b"\r" if block.endswith(b"\r") and block != b"\r" else b""
            block = block.removesuffix(held)
            is_last = offset + len(block) >= wanted
            if is_last:
                end = block.find(b"\n", max(0, wanted - offset - 1)) + 1
                block = block[: end or len(block)]
            if block.count(b"\r") != block.count(b"\r\n") or not rule.has_line_records(block):
                return None
            offset += len(block)
            number += block.count(b"\n")
            if is_last and block.endswith(b"\n"):
                return LineStart(offset, number)
    return None


def _after_records(
    folder: Folder, path: str, start: LineStart, wanted: int, rule: RecordRule, skipped: int
) -> LineStart | None:
    """Return where the first record begins that begins at byte `wanted` or later; None if there is none."""
    sizes = deque[int]()  # of the lines from line `number` on, which begins at `offset`
    offset, number = start
    for index, line in enumerate(rule.first_lines(read_lines(folder, path, start, sizes.extend))):
        while number < line:
            if sizes[0] > MAX_LINE_BYTES:  # this may not be its whole size
                return None
            offset += sizes.popleft()
            number += 1
        if offset >= wanted and index >= skipped:
            return LineStart(offset, number)
    return None
