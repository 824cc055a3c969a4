"""Facts that are added to an example by its key: from its path, and from lists and tables."""

import math
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, Protocol, TypeAlias

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.naming import printable, split_name_problem
from shardkit.reject_reasons import BAD_LABEL, BAD_SPLIT, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, target_field
from shardkit.sources.engine.splits import split_of_name
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.formats.column_names import split_of_text
from shardkit.sources.formats.tables.values import is_number
from shardkit.sources.listing import BadRecord, ListingRow
from shardkit.sources.readings.values import Constant, Origin, PathPart, PathRegex, Reading
from shardkit.storage import Folder

LEFT_OUT = "left_out"  # the reason of rows that are only counted, by their message
IGNORED = "images without annotation"  # such a message
Values: TypeAlias = Callable[[str], Any]  # from a key to its value; None for none; may raise BadRecord
# Values by key that this process has read, by what identifies them: a worker lists many parts of one source. Files, and
# what is ignored, may differ each time that a source is opened: an identity is of one opening, see `Binding`.
_READ: dict[str, Any] = {}
_MAX_READ = 8


class ByKey(Protocol):
    """Where a fact's value comes from, by key."""

    def values(self, folder: Folder) -> Values:
        """Return the function from a key to its value."""


def once(identity: str, read: Callable[[], Any]) -> Any:
    """Return what `read` returns for an identity, which the process keeps."""
    if identity not in _READ:
        while len(_READ) >= _MAX_READ:
            _READ.pop(next(iter(_READ)), None)
        _READ[identity] = read()
    return _READ[identity]


@dataclass(frozen=True, slots=True)
class OfPath:
    """Values from folders' and files' names."""

    origin: PathPart | PathRegex | Constant
    is_split: bool = False  # whether the value is a split: then only words of splits, or those of the map, are values

    def values(self, folder: Folder) -> Values:
        origin = self.origin
        if isinstance(origin, Constant):
            return lambda _: origin.constant
        if isinstance(origin, PathPart):
            named = partial(_split_named, origin.map, folder) if self.is_split else partial(_mapped, origin.map)
            return _by_folder(lambda folders: None if (name := _folder(origin.path, folders)) is None else named(name))
        text = _searched(origin)
        named = partial(_split_of_text, origin.map) if self.is_split else partial(_mapped, origin.map)
        return lambda key: None if (found := text(key)) is None else named(found)


def _by_folder(value: Callable[[list[str]], str | None]) -> Values:
    """Return the function from a key to the value of its folder, which it keeps for the next image of the folder."""
    last: tuple[str | None, str | None] = None, None

    def of(key: str) -> str | None:
        nonlocal last
        above = key.rpartition("/")[0]
        if above != last[0]:
            last = above, value(above.split("/") if above else [])
        return last[1]

    return of


def _folder(index: int, folders: list[str]) -> str | None:
    return folders[index] if -len(folders) <= index < len(folders) else None


def _split_of_text(names: Mapping[str, str | None], text: str) -> str | None:
    return names[text] if text in names else split_of_text(text)


def _searched(origin: PathRegex) -> Callable[[str], str | None]:
    pattern, group, of_name = re.compile(origin.regex), origin.group, origin.of == "name"
    number: int | str = int(group) if isinstance(group, str) and group.isdecimal() else group

    def text(key: str) -> str | None:
        found = pattern.search(posixpath.basename(key) if of_name else key)
        return (found[number] or None) if found else None

    return text


def _mapped(names: Mapping[str, str | None], text: str) -> str | None:
    if text in names:
        return names[text]
    composed = unicodedata.normalize("NFC", text)  # a Mac's archives write é as e and an accent
    return names.get(composed, composed)


def _split_named(names: Mapping[str, str | None], folder: Folder, text: str) -> str | None:
    if names:
        if text in names:
            return names[text]
    elif split := split_of_name(text):
        return split
    what = "is not in the map of the splits" if names else "is no word for a split"
    msg = (
        f"{folder.url}: {printable(text)!r} {what}; add it to the map of `split`, such as "
        f"map: {{{printable(text)}: test}}, or leave its images out with `exclude`"
    )
    raise DataError(msg)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that is added to examples by their keys, pickled with its source."""

    source: ByKey | None  # values, or tuples of as many as there are fields; None for nulls
    fields: tuple[pa.Field, ...] = ()  # columns of its own
    column: Literal["", "label_name", "split"] = ""  # the column of LISTING_SCHEMA that it fills instead
    reason: str = ""  # of images without a class or split; LEFT_OUT: they are counted only
    missing: str = ""  # what to say of them
    unlabelled: tuple[IgnoreGlob, ...] = ()  # globs of the images whose path gives no label, whatever it is

    @property
    def names_examples(self) -> bool:
        return self.reason == LEFT_OUT

    def values(self, folder: Folder) -> Values:
        """Return the function from a key to the column's value, or to the values of its own columns."""
        values, nulls = self.source.values(folder) if self.source else _nothing, (None,) * len(self.fields)

        def columns(key: str) -> tuple[Any, ...]:
            value = values(key)
            return nulls if value is None else value if isinstance(value, tuple) else (value,)

        return self._names(values) if self.column else columns

    def _names(self, values: Values) -> Values:
        problem_of = cache(split_name_problem) if self.column == "split" else _nothing
        globs = self.unlabelled

        def name(key: str) -> str:
            is_unlabelled = globs and any(glob.matches(key) for glob in globs)
            found: str | None = None if is_unlabelled else values(key)
            if found is None:
                raise BadRecord(self.reason, self.missing)
            if problem := problem_of(found):
                raise BadRecord(BAD_SPLIT, problem)
            return found

        return name


def _nothing(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Numbers:
    """Texts that are numbers, as targets of one number."""

    source: ByKey
    missing: str  # what to say of images without a text

    def values(self, folder: Folder) -> Values:
        values = self.source.values(folder)

        def numbers(key: str) -> tuple[list[float]]:
            text = values(key)
            if text is None:
                raise BadRecord(NO_LABEL, self.missing)
            if not is_number(text) or not math.isfinite(float(text)):
                msg = f"the label {printable(text)!r} is no number; correct it, or say `kind: class`"
                raise BadRecord(BAD_LABEL, msg)
            return ([float(text)],)

        return numbers


def label_fact(origin: Origin, source: ByKey, unlabelled: tuple[IgnoreGlob, ...], *, of_numbers: bool = False) -> Fact:
    """Return the class of an example, or its number for regression."""
    missing = "nothing gives the image a label; add a record for it, or leave it out"
    if isinstance(origin, PathPart):
        missing = "the image lies outside every label folder; move it into one"
    elif isinstance(origin, PathRegex):
        what = f"{printable(origin.regex)!r} is not found in it"
        missing = f"the file's name has no label: {what}; correct the expression, or rename the file"
    if of_numbers:
        return Fact(Numbers(source, missing), (target_field(1),))
    return Fact(source, (), "label_name", NO_LABEL, missing, unlabelled)


def split_fact(origin: Origin, source: ByKey, *, names_examples: bool) -> Fact:
    """Return the split of an example; images without one are no examples if its records name these."""
    missing = "nothing gives the image a split where other images have one; add it, or say `rest`"
    if names_examples:
        missing = "images that no list of splits names"
    elif isinstance(origin, PathPart):
        missing = "the image lies outside the split folders; move it into one"
    return Fact(source, (), "split", LEFT_OUT if names_examples else BAD_SPLIT, missing)


def unlabelled_globs(tree: Folder, reading: Reading) -> tuple[IgnoreGlob, ...]:
    """Return the globs of the images of a reading that have no label on purpose."""
    globs, label = reading.images.unlabelled, reading.label
    others = {"boxes": reading.boxes, "a mask": reading.mask}
    found = [what for what, origin in others.items() if origin is not None]
    found += ["numbers for regression"] if label and label.kind == "number" else [] if label else ["no label"]
    if globs and found:
        msg = (
            f"{tree.url}: `images: unlabelled` marks images without a class among images that have one or several, and "
            f"these have {found[0]}; take `unlabelled` out of the reading"
        )
        raise CallError(msg)
    return tuple(map(IgnoreGlob, globs))


def with_unlabelled(
    rows: Iterable[ListingRow],
    fields: Sequence[pa.Field],
    complete: Callable[[ListingRow], ListingRow],
    is_unlabelled: Callable[[str], bool],
) -> Iterator[ListingRow]:
    """Yield rows, with a mark in place of the reason for those that have no label on purpose."""
    num_own, at = len(fields), fields.index(LABEL_NAMES) if LABEL_NAMES in fields else None
    for row in rows:
        has_no_class = at is not None and row.reason is None and not row.extra[at]
        if not (has_no_class or row.reason == NO_LABEL) or not is_unlabelled(row.key):
            yield row
            continue
        own = [*row.extra[:num_own], *(None,) * (num_own - len(row.extra))]
        if at is not None:
            own[at] = None
        try:
            plain = complete(row._replace(reason=None, message=None, extra=tuple(own)))
        except BadRecord as error:
            yield row._replace(reason=error.reason, message=str(error))
            continue
        yield plain._replace(extra=(*plain.extra, True))
