"""Read a text file line by line, whatever it contains; the longest line that is allowed bounds the memory."""

import codecs
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from shardkit.errors import DataError
from shardkit.storage import Folder, os_errors_as

MAX_LINE_BYTES = 16 << 20  # 16 MiB
READ_BYTES = 1 << 20  # 1 MiB
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Line(NamedTuple):
    """A line: its number from 1, its text with the line end, and why it cannot be used, or None."""

    number: int
    text: str
    problem: str | None


def read_lines(folder: Folder, path: str) -> Iterator[Line]:
    """Yield lines, which end in LF, CR LF or CR; a byte order mark says whether the file is UTF-8 or UTF-16.

    Raises:
        DataError: The file is damaged UTF-16.
        MachineError: The disk or the network failed.
    """
    url = f"{folder.url}/{path}"
    number = 0
    rest = b""  # the beginning of a line whose end is not read yet
    dropping = False  # inside a line that was too long
    with os_errors_as("read the table", url), folder.open(path) as file:
        chunk = file.read(READ_BYTES)
        read: Callable[[], bytes] = lambda: file.read(READ_BYTES)  # noqa: E731
        if chunk.startswith(_UTF_16_MARKS):  # Excel's "Unicode text"
            read = _utf_8_of_utf_16(chunk, read, url)
            chunk = read()
        chunk = chunk.removeprefix(_UTF_8_MARK)
        while chunk:
            # A line that ends in CR also waits in `rest`: the next chunk may begin with its LF.
            pieces = (rest + chunk).splitlines(keepends=True)
            rest = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
            if dropping and pieces:
                del pieces[0]
                dropping = False
            for piece in pieces:
                number += 1
                yield _line(number, piece)
            if dropping:
                rest = b""
            elif len(rest) > MAX_LINE_BYTES:
                number += 1
                yield _too_long(number)
                dropping, rest = True, b""
            chunk = read()
    for piece in rest.splitlines(keepends=True):
        number += 1
        yield _line(number, piece)


def _utf_8_of_utf_16(first: bytes, read: Callable[[], bytes], url: str) -> Callable[[], bytes]:
    """Return the function that reads the same text as UTF-8; b"" at its end."""
    decoder = codecs.getincrementaldecoder("utf-16")()

    def decoded(data: bytes) -> bytes:
        try:
            return decoder.decode(data, final=not data).encode()
        except UnicodeError as error:
            msg = f"{url}: the file begins as UTF-16 and is damaged ({error}); save it as UTF-8"
            raise DataError(msg) from None

    # Half a character of a chunk waits for the next one, so that only the end gives nothing.
    pieces = (decoded(data) for data in chain([first], iter(read, b""), [b""]))
    texts = (piece for piece in pieces if piece)
    return lambda: next(texts, b"")


def _line(number: int, piece: bytes) -> Line:
    if len(piece) > MAX_LINE_BYTES:
        return _too_long(number)
    try:
        text = piece.decode()
    except UnicodeDecodeError as error:
        found = piece[error.start : error.start + 1]
        text = piece.decode("utf-8", "replace").replace("\0", "\ufffd")
        return Line(number, text, f"it is not UTF-8 ({found!r}); save the table as UTF-8")
    if "\0" in text:
        return Line(number, text.replace("\0", "\ufffd"), "it holds a NUL character")
    return Line(number, text, None)


def _too_long(number: int) -> Line:
    return Line(number, "\n", f"it is longer than {MAX_LINE_BYTES >> 20} MiB")
