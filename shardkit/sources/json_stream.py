"""One pass over a JSON file that need not fit into memory: the elements of its top-level arrays, one after the other.

The standard library's scanner parses element by element out of a window of text: as fast as ijson's C backend gives the
elements of one array, measured on annotations like COCO's, where ijson needs a pass for each of the three arrays. And
an error can be told by its line.
"""

import codecs
import json
from collections.abc import Container, Iterator
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any, BinaryIO, NoReturn

from shardkit.errors import DataError

BLOCK = 4 << 20  # 4 MiB, what is read at once
LONGEST = 64 << 20  # 64 Mi characters, of one element: no record of a label file is longer
_EDGE = 4096  # an error this near to the window's end may come from its cutting a word
_CUT = "the file ends in the middle of it; it was cut off when it was copied or written"


def array_items(file: BinaryIO, url: str, wanted: Container[str]) -> Iterator[tuple[str, Any]]:
    """(name of the array, element) of the wanted arrays in a JSON object; all else is passed over.

    Numbers with a point or an exponent come as their text: most are only copied, and text keeps every digit.

    Raises:
        DataError: the file is no JSON object; names file, line and character.
    """
    reader = _Reader(file, url)
    if reader.peek() != "{":
        reader.fail("an object, '{', should begin here")
    reader.step()
    while reader.peek() != "}":
        name = reader.value()
        if not isinstance(name, str) or reader.peek() != ":":
            reader.fail('a name, "…":, should stand here')
        reader.step()
        if reader.peek() == "[":
            reader.step()
            is_wanted = name in wanted
            while reader.peek() != "]":
                element = reader.value()
                if is_wanted:
                    yield name, element
                if not reader.comma("]"):
                    break
            reader.step()
        else:
            reader.value()
        if not reader.comma("}"):
            break
    reader.step()
    if reader.peek():
        reader.fail("something follows the end of the object")


class _Reader:
    """The window, and where in the file it is."""

    def __init__(self, file: BinaryIO, url: str) -> None:
        self._file, self._url = file, url
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder(parse_float=str).scan_once  # type: ignore[attr-defined]
        self._text, self._at, self._ended = "", 0, False
        self._bytes = self._chars = self._lines = 0  # in front of the window; bytes: read

    def peek(self) -> str:
        """The next character that is no blank; '' at the end."""
        while True:
            self._at = WHITESPACE.match(self._text, self._at).end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def step(self) -> None:
        """Go past the character that peek gave."""
        self._at += 1

    def comma(self, end: str) -> bool:
        """Whether a further element follows, the comma passed, rather than the end."""
        found = self.peek()
        if found == ",":
            self._at += 1
            if self.peek() == end:
                self.fail(f"nothing stands between ',' and {end!r}")
            return True
        if found != end:
            self.fail(f"',' or {end!r} should stand here" if found else _CUT)
        return False

    def value(self) -> Any:
        """The value that begins here."""
        if not self.peek():
            self.fail(_CUT)
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except StopIteration as error:
                where, what = error.value, "a value should stand here"
            except json.JSONDecodeError as error:
                where, what = error.pos, error.msg
            except RecursionError:
                self.fail("it is nested too deeply")
            except ValueError as error:  # a number of thousands of digits
                self.fail(str(error))
            else:
                # A number at the window's end may go on behind it.
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
            "mend the file, or get it again"
        )
        raise DataError(msg)
