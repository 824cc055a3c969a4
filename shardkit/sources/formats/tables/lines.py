"""Read a text file line by line, whatever it contains; the longest line that is allowed bounds the memory."""

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, count, repeat
from typing import NamedTuple

from shardkit.errors import DataError
from shardkit.storage import Folder, os_errors_as

MAX_LINE_BYTES = 16 << 20  # 16 MiB
READ_BYTES = 1 << 20  # 1 MiB
UTF_8, WINDOWS, _SHIFT_JIS = "utf-8", "cp1252", "cp932"  # encodings of text
_JAPANESE = r"\u3000-\u30ff\u4e00-\u9fff\uff01-\uff60"
_WESTERN = "àáâãäåæçèéêëìíîïñòóôõöøùúûüœÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜŒß"
# What lines of each encoding may hold: next to ASCII, Western words have at most two letters of their own in a row;
# Cyrillic words have no Latin letter, and one capital or all; Japanese text has no half-width kana,
# and no sign between two Latin letters. Korean encodings are not told from Chinese ones with certainty.
_LETTERS = {
    WINDOWS: re.compile(
        rf"(?:[\x00-\x7f°§€£©®–—‘’“”„…«»·×]|(?<![^\W\d_])[¿¡]|(?<![^\W\d_{_WESTERN}])[µ²³½¼¾ºª](?![^\W\d_])"
        rf"|[{_WESTERN}]{{1,2}}(?![{_WESTERN}]))*"
    ),
    "cp1251": re.compile(
        r"(?:[\x00-\x7f°§€©®–—“”„…«»·№]|(?<![^\W\d_])(?:[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+)(?![^\W\d_]))*",
    ),
    _SHIFT_JIS: re.compile(rf"(?:[\x00-\x7f]|(?<![A-Za-z])[{_JAPANESE}]+|[{_JAPANESE}]+(?![A-Za-z]))*"),
}
# A sign of Japanese that is not one behind a Latin letter: "ät" of "Qualität" is also such a sign.
_SURELY_JAPANESE = re.compile(rf"(?<![A-Za-z])[{_JAPANESE}]|[{_JAPANESE}]{{2}}")
_CHINESE = "gb18030"
_CHINESE_SIGN = re.compile(rb"[\xb0-\xf7][\xa1-\xfe]")
_OF_CHINESE = re.compile(rb"(?:[\x00-\x7f]|[\xa1\xa3\xb0-\xf7][\xa1-\xfe])*")
_LAST_COMMON, _LAST_KOREAN = 0xD7, 0xC8  # first bytes of GB 2312's common signs, and of KS X 1001's syllables
_MOST = 0.8
UTF_8_MARK = codecs.BOM_UTF8
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Line(NamedTuple):
    """A line: its number from 1, its text with the line end, and why it cannot be used, or None."""

    number: int
    text: str
    problem: str | None


class LineStart(NamedTuple):
    """A place in a file where a line begins: its offset in bytes, and the line's number from 1."""

    offset: int
    number: int


FIRST_LINE = LineStart(0, 1)
# Faster than Line(...), which is a function in Python.
_new_line: Callable[[tuple[int, str, None]], Line] = partial(tuple.__new__, Line)


def read_lines(
    folder: Folder,
    path: str,
    start: LineStart = FIRST_LINE,
    measure: Callable[[Iterator[int]], object] | None = None,
    *,
    encoding: str = UTF_8,
) -> Iterator[Line]:
    """Yield lines, which end in LF, CR LF or CR; a byte order mark at FIRST_LINE says whether the file is UTF-16.

    `measure` receives the sizes of the lines in bytes, in their order and before the lines; a line that is too long has
    the size of what was read of it. Only files of UTF_8 without such a mark may be read from another start.
    """
    url = f"{folder.url}/{path}"
    number = start.number - 1
    rest = b""  # the beginning of a line whose end is not read yet
    dropping = False  # inside a line that was too long
    with os_errors_as("read the table", url), folder.open(path) as file:
        file.seek(start.offset)
        chunk = file.read(READ_BYTES)
        read: Callable[[], bytes] = lambda: file.read(READ_BYTES)  # noqa: E731
        if not start.offset:
            if chunk.startswith(UTF_16_MARKS):  # Excel's "Unicode text"
                read = _utf_8_of_utf_16(chunk, read, url)
                chunk = read()
            chunk = chunk.removeprefix(UTF_8_MARK)
        while chunk:
            # A line that ends in CR also waits in `rest`: the next chunk may begin with its LF.
            block = rest + chunk
            pieces = block.splitlines(keepends=True)
            rest = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
            if dropping and pieces:
                del pieces[0]
                dropping = False
            if measure is not None:
                measure(map(len, pieces))
            may_be_bad = len(block) > MAX_LINE_BYTES or b"\0" in block
            yield from _lines(number + 1, pieces, encoding, may_be_bad=may_be_bad)
            number += len(pieces)
            if dropping:
                rest = b"\r" if rest.endswith(b"\r") else b""  # the line's end, unless a LF follows
            elif len(rest) > MAX_LINE_BYTES:
                number += 1
                if measure is not None:
                    measure(iter([len(rest)]))
                yield _too_long(number)
                dropping, rest = True, b"\r" if rest.endswith(b"\r") else b""
            chunk = read()
    pieces = [] if dropping else rest.splitlines(keepends=True)
    if measure is not None:
        measure(map(len, pieces))
    yield from _lines(number + 1, pieces, encoding, may_be_bad=True)


def _lines(number: int, pieces: Sequence[bytes], encoding: str, *, may_be_bad: bool) -> Iterator[Line]:
    if not may_be_bad:
        with contextlib.suppress(UnicodeDecodeError):
            return map(_new_line, zip(count(number), [*map(bytes.decode, pieces, repeat(encoding))], repeat(None)))
    return map(_line, count(number), pieces, repeat(encoding))


def encoding_of(folder: Folder, path: str) -> str:
    """Return the encoding of a text file: UTF_8, or that in which Excel writes CSV files on a Windows of some language.

    The encoding is another one only if no line is UTF-8, and all letters are those of the language. A file of UTF-8
    with a few damaged lines has damaged lines.
    """
    with os_errors_as("read the table", folder.url_of(path)), folder.open(path) as file:
        head: bytes = file.read(READ_BYTES)
    if head.isascii() or b"\0" in head or head.startswith((UTF_8_MARK, *UTF_16_MARKS)):
        return UTF_8
    pieces = [piece for piece in head.splitlines() if not piece.isascii()]
    if len(head) == READ_BYTES:
        del pieces[-1:]  # which may end inside a letter
    is_utf_8 = [*map(_is_utf_8, pieces)]
    is_chinese = 2 * sum(is_utf_8) < len(pieces) and _is_chinese(pieces)  # whose lines may be UTF-8 by chance
    if any(is_utf_8) and not is_chinese:
        return UTF_8
    found = [one for one, letters in _LETTERS.items() if _is_of_language(pieces, one, letters)]
    found += [_CHINESE] if is_chinese else []
    if found == [WINDOWS, _SHIFT_JIS] and not any(_SURELY_JAPANESE.search(one.decode(_SHIFT_JIS)) for one in pieces):
        return WINDOWS
    return found[0] if len(found) == 1 else UTF_8


def first_bad_byte(folder: Folder, path: str) -> tuple[int, int] | None:
    """Return the number of the first line that cannot be read, and its first bad byte; None if all can.

    Only the beginning of the file is read, as for its encoding.
    """
    encoding = encoding_of(folder, path)
    with os_errors_as("read the table", folder.url_of(path)), folder.open(path) as file:
        head: bytes = file.read(READ_BYTES)
    if b"\0" in head:  # UTF-16, or no text
        return None
    lines = head.splitlines()
    for number, piece in enumerate(lines[:-1] if len(head) == READ_BYTES else lines, 1):
        if (byte := _bad_byte(piece, encoding)) is not None:
            return number, byte
    return None


def _bad_byte(piece: bytes, encoding: str) -> int | None:
    try:
        piece.decode(encoding)
    except UnicodeDecodeError as error:
        return piece[error.start]
    return None


def _is_chinese(pieces: Sequence[bytes]) -> bool:
    """Return whether lines are GB 2312: most signs are common ones, some of them of a part that Korean text lacks."""
    if not all(map(_OF_CHINESE.fullmatch, pieces)):
        return False
    leads = [sign[0] for piece in pieces for sign in _CHINESE_SIGN.findall(piece)]
    common = [one for one in leads if one <= _LAST_COMMON]
    return len(common) >= _MOST * len(leads) and any(one > _LAST_KOREAN for one in common)


def _is_utf_8(piece: bytes) -> bool:
    return _bad_byte(piece, UTF_8) is None


def _is_of_language(pieces: Sequence[bytes], encoding: str, letters: re.Pattern[str]) -> bool:
    try:
        return all(letters.fullmatch(piece.decode(encoding)) for piece in pieces)
    except UnicodeDecodeError:
        return False


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


def _line(number: int, piece: bytes, encoding: str) -> Line:
    if len(piece) > MAX_LINE_BYTES:
        return _too_long(number)
    try:
        text = piece.decode(encoding)
    except UnicodeDecodeError as error:
        found = piece[error.start : error.start + 1]
        text = piece.decode("utf-8", "replace").replace("\0", "\ufffd")
        return Line(number, text, f"it is not UTF-8 ({found!r}); save the table as UTF-8")
    if "\0" in text:
        return Line(number, text.replace("\0", "\ufffd"), "it holds a NUL character")
    return Line(number, text, None)


def _too_long(number: int) -> Line:
    return Line(number, "\n", f"it is longer than {MAX_LINE_BYTES >> 20} MiB")
