"""The forms of options' values: what a user may write in Python or on a command line, and what a manifest has.

A form reads what the user gives into the one value that the program works with, and writes this value again: as the
word of a command, in Python, and as JSON.
"""

import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardkit.errors import CallError
from shardkit.options import parsing
from shardkit.options.words import named
from shardkit.spelling import closest


@dataclass(frozen=True, slots=True)
class Form:
    """Any value, which stays as it is."""

    # The word that users write for None, where None is not the same as no option at all: ``none`` overrules the rule of
    # a dataset. None if there is no such word.
    none: str | None = None

    def read(self, option: str, given: Any) -> Any:
        """Return the value of what is given in Python or as text; `option` is named in errors."""
        return None if isinstance(given, str) and given == self.none else self._read(option, given)

    def _read(self, option: str, given: Any) -> Any:
        del option
        return given

    def text(self, value: Any) -> str:
        """Return the value as a word of a command; text stays as it is."""
        if value is None:
            return str(self.none)
        return value if isinstance(value, str) else self._text(value)

    def _text(self, value: Any) -> str:
        return str(value)

    def in_python(self, value: Any) -> Any:
        """Return the value as a user writes it in Python, before `repr`; text stays as it is."""
        if value is None:
            return self.none
        return value if isinstance(value, str) else self._in_python(value)

    def _in_python(self, value: Any) -> Any:
        return value

    def as_json(self, value: Any) -> Any:
        """Return the value as it is in a manifest."""
        return value

    def from_json(self, written: Any) -> Any:
        """Return the value in a manifest; the inverse of `as_json`. Raises several errors for what it never wrote."""
        return written


@dataclass(frozen=True, slots=True)
class Switch(Form):
    """True or False."""

    def _read(self, option: str, given: Any) -> bool:
        if given not in (True, False):
            raise CallError(f"{named(option)} must be True or False; found {given!r}")
        return bool(given)


@dataclass(frozen=True, slots=True)
class Number(Form):
    """A whole number in a range."""

    low: int = 0  # smallest permitted number
    high: int = (1 << 63) - 1  # greatest permitted number

    def _read(self, option: str, given: Any) -> int:
        if isinstance(given, bool) or not hasattr(given, "__index__"):
            other = f", or {self.none!r}" if self.none else ""
            raise CallError(f"{named(option)} must be a whole number{other}; found {given!r}")
        parsing.within(option, given, self.low, self.high)
        return operator.index(given)


@dataclass(frozen=True, slots=True)
class Side(Number):
    """The length of one side in pixels; whoever gives two numbers learns which option takes them."""

    def _read(self, option: str, given: Any) -> int:
        is_number = not isinstance(given, str | list | tuple)
        return super(Side, self)._read(option, given if is_number else parsing.parse_side(option, given))


@dataclass(frozen=True, slots=True)
class Choice(Form):
    """One of several words."""

    words: tuple[str, ...] = ()
    other_names: tuple[tuple[str, str], ...] = ()  # what users of other tools write for a word, with the word, as pairs

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that users may write."""
        return self.words if self.none is None else (*self.words, self.none)

    def _read(self, option: str, given: Any) -> str:
        word = dict(self.other_names).get(str(given).lower(), given)
        if word in self.words:
            return str(word)
        close = closest(str(given), self.choices)
        hint = f"; did you mean {close!r}?" if close else ""
        raise CallError(f"{named(option)} must be one of {', '.join(map(repr, self.choices))}; found {given!r}{hint}")


@dataclass(frozen=True, slots=True)
class Several(Form):
    """Several texts; an option that is given several times on a command line."""

    def _read(self, option: str, given: Any) -> tuple[str, ...]:
        if isinstance(given, str):
            raise CallError(f"{named(option)} must be a list of names; found the text {given!r}; write [{given!r}]")
        return given if isinstance(given, tuple) else tuple(given)  # names of a file know its path

    def _in_python(self, value: Any) -> Any:
        return list(value)


@dataclass(frozen=True, slots=True)
class SeveralOf(Several):
    """Several of known words."""

    words: tuple[str, ...] = ()

    def _read(self, option: str, given: Any) -> tuple[str, ...]:
        read = super(SeveralOf, self)._read(option, given)
        word = Choice(words=self.words)
        return tuple(dict.fromkeys(word.read(option, one) for one in read))


@dataclass(frozen=True, slots=True)
class NamedOrigins(Several):
    """Names with origins: texts such as ``age=meta.csv:age``, in Python also a mapping."""

    def _read(self, option: str, given: Any) -> tuple[str, ...]:
        texts = [f"{name}={origin}" for name, origin in given.items()] if isinstance(given, Mapping) else given
        read = super(NamedOrigins, self)._read(option, texts)
        for text in read:
            name, _, origin = text.partition("=")
            if not (name and origin):
                raise CallError(f"{named(option)} is NAME=ORIGIN, such as age=meta.csv:age; found {text!r}")
        return read


@dataclass(frozen=True, slots=True)
class WholeReading(Form):
    """A reading: the path of its file, or in Python a mapping or the value."""

    def _read(self, option: str, given: Any) -> Any:
        del option
        return os.fspath(given) if isinstance(given, os.PathLike) else given

    def _text(self, value: Any) -> str:
        return "detected" if value == "detected" else "FILE"


class ClassesOfFile(tuple[str, ...]):
    """Class names in label order, and the path of their file as the user wrote it."""

    path: str

    @classmethod
    def of(cls, names: Any, path: str) -> "ClassesOfFile":
        """Return the names of a file."""
        made = cls(names)
        made.path = path
        return made


@dataclass(frozen=True, slots=True)
class ClassNames(Several):
    """Names of classes in label order; on a command line the file that lists them."""

    def _read(self, option: str, given: Any) -> tuple[str, ...]:
        names = super(ClassNames, self)._read(option, given)
        if not names:
            raise CallError(f"{named(option)}: the file names no class; write one name a line, in label order")
        seen = set[str]()
        for name in names:
            if name in seen:
                raise CallError(f"{named(option)} names {name!r} twice; every class has one label")
            seen.add(name)
        return names

    def _text(self, value: Any) -> str:
        return value.path if isinstance(value, ClassesOfFile) else "FILE"


@dataclass(frozen=True, slots=True)
class Identifier(Form):
    """A name of letters, digits and underscores."""

    def _read(self, option: str, given: Any) -> str:
        if not isinstance(given, str) or not given.isidentifier():
            msg = f"{named(option)} must be letters, digits and '_', not starting with a digit; found {given!r}"
            raise CallError(msg)
        return given


@dataclass(frozen=True, slots=True)
class Bytes(Form):
    """A number of bytes, or text with a unit such as ``128MiB``."""

    low: int = 1  # smallest permitted number
    high: int = (1 << 63) - 1  # greatest permitted number

    def _read(self, option: str, given: Any) -> int:
        num_bytes = parsing.parse_size(str(given))
        if not self.low <= num_bytes <= self.high:
            least, most, found = map(parsing.size_as_option, (self.low, self.high, num_bytes))
            raise CallError(f"{named(option)} must be from {least} to {most}; found {found}")
        return num_bytes

    def _text(self, value: Any) -> str:
        return parsing.size_as_option(value)

    def _in_python(self, value: Any) -> Any:
        return parsing.size_as_option(value)


@dataclass(frozen=True, slots=True)
class Hashed(Form):
    """A value of which the manifest has only a hash, because it may name what was removed."""

    placeholder: str = "FILE"  # what is written in place of the value if only the hash is known

    def _in_python(self, value: Any) -> Any:
        return str(value)
