"""Read the elements of a JSON file's top-level arrays in one pass, without loading the file into memory.

The scanner of the standard library parses one element after the other from a window of the text. Measured on
annotations like COCO's, this is as fast as ijson's C backend on one array, and ijson needs a pass for each of the three
arrays. Errors name the line.
"""

import codecs
import json
from collections.abc import Container, Iterator
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any, BinaryIO, NoReturn

from shardkit.errors import DataError

BLOCK = 4 << 20  # 4 MiB that are read at once
LONGEST = 64 << 20  # 64 Mi characters of one element; records of label files are shorter
_EDGE = 4096  # characters: the window may cut a word, so an error this close to its end may not be one
_CUT = "the file ends in the middle of it; it was truncated when it was copied or written"


def array_items(file: BinaryIO, url: str, wanted: Container[str]) -> Iterator[tuple[str, Any]]:
    """Yield (name of the array, element) of the wanted arrays in a JSON object, and skip everything else.

    Numbers with a decimal point or an exponent are returned as text, because most are only copied, and text is exact.
    """
    reader = _Reader(file, url)
    for name in reader.names():
        if reader.peek() == "[":
            is_wanted = name in wanted
            for element in reader.elements():
                if is_wanted:
                    yield name, element
        else:
            reader.value()
    reader.end("there is more text after the end of the object")


def member_items(file: BinaryIO, url: str, decoder: json.JSONDecoder) -> Iterator[tuple[str, str | None, Any]]:
    """Yield (member of a JSON object, name or None, value) of all that is in the members that are objects or arrays."""
    reader = _Reader(file, url, decoder)
    for member in reader.names():
        start = reader.peek()
        if start == "{":
            for name in reader.names():
                yield member, name, reader.value()
        elif start == "[":
            for element in reader.elements():
                yield member, None, element
        else:
            reader.value()


def top_level_items(file: BinaryIO, url: str, decoder: json.JSONDecoder) -> Iterator[tuple[str | None, Any]]:
    """Yield (name, value) of each member of a JSON object, or (None, element) of each element of an array."""
    reader = _Reader(file, url, decoder)
    start = reader.peek()
    if start not in {"{", "["}:
        reader.fail("expected an object, '{', or an array, '['")
    if start == "{":
        for name in reader.names():
            yield name, reader.value()
    else:
        for element in reader.elements():
            yield None, element
    reader.end(f"there is more text after the end, {'}' if start == '{' else ']'!r}")


class _Reader:
    """A window of the file's text, and its position in the file."""

    def __init__(self, file: BinaryIO, url: str, decoder: json.JSONDecoder | None = None) -> None:
        self._file, self._url = file, url
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = (decoder or json.JSONDecoder(parse_float=str)).scan_once  # type: ignore[attr-defined]
        self._text, self._at, self._ended = "", 0, False
        self._bytes = self._chars = self._lines = 0  # bytes read; characters and lines before the window

    def peek(self) -> str:
        """Return the next character that is not blank; '' at the end."""
        while True:
            self._at = WHITESPACE.match(self._text, self._at).end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def step(self) -> None:
        self._at += 1

    def comma(self, end: str) -> bool:
        """Return whether another element follows, and skip the comma before it."""
        found = self.peek()
        if found == ",":
            self._at += 1
            if self.peek() == end:
                self.fail(f"there is no element between ',' and {end!r}")
            return True
        if found != end:
            self.fail(f"expected ',' or {end!r}" if found else _CUT)
        return False

    def names(self) -> Iterator[str]:
        """Yield the name of each member of the object that begins here; the caller reads its value."""
        if self.peek() != "{":
            self.fail("expected an object, '{'")
        self.step()
        while self.peek() != "}":
            name = self.value()
            if not isinstance(name, str) or self.peek() != ":":
                self.fail('expected a name, "…":')
            self.step()
            yield name
            if not self.comma("}"):
                break
        self.step()

    def elements(self) -> Iterator[Any]:
        self.step()
        while self.peek() != "]":
            yield self.value()
            if not self.comma("]"):
                break
        self.step()

    def end(self, what: str) -> None:
        if self.peek():
            self.fail(what)

    def value(self) -> Any:
        if not self.peek():
            self.fail(_CUT)
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except StopIteration as error:
                where, what = error.value, "expected a value"
            except json.JSONDecodeError as error:
                where, what = error.pos, error.msg
            except RecursionError:
                self.fail("it is nested too deeply")
            except ValueError as error:  # a number of thousands of digits
                self.fail(str(error))
            else:
                # A number at the end of the window may continue after it.
                if end < len(self._text) or not self._more():
                    self._at = end
                    return value
                continue
            may_be_cut = what.startswith("Unterminated string") or len(self._text) - where < _EDGE
            if self._ended:
                is_cut = what.startswith("Unterminated string") or where >= len(self._text.rstrip())
                self.fail(_CUT if is_cut else what, where)
            if not may_be_cut or len(self._text) - self._at > LONGEST:
                self.fail(what, where)
            self._more()

    def _more(self) -> bool:
        if self._ended:
            return False
        block = self._file.read(BLOCK)
        self._ended = not block
        kept = len(self._decoder.getstate()[0])
        try:
            new = self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            msg = f"{self._url}: byte {self._bytes - kept + error.start + 1:,} is not UTF-8; save the file as UTF-8"
            raise DataError(msg) from None
        self._bytes += len(block)
        self._lines += self._text.count("\n", 0, self._at)
        self._chars += self._at
        self._text = self._text[self._at :] + new
        self._at = 0
        return not self._ended

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        at = self._at if at is None else at
        line = self._lines + self._text.count("\n", 0, at) + 1
        msg = (
            f"{self._url}, line {line:,}, character {self._chars + at + 1:,} of the file: this is not JSON: {what}; "
            "correct the file, or download it again"
        )
        raise DataError(msg)
