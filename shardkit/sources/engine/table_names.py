"""Columns that name images otherwise than by a name in each.

The name of an image may be in two columns: its folder and its file, or a slide and a region of it. Then one more column
has the whole name. It is certain only if it means one image in most of the first records, all different, where no
column alone does.

    Folder    Photo         Crop            slide  rid  y
    100MEDIA  DJI_0001.JPG  maize           99861  1    0.5     train/99861_1.tif
    101MEDIA  DJI_0001.JPG  wheat

A record may describe several images: those whose names, or a folder of theirs, begin with a value.

    SKU   Category
    4711  Kitchen      photos/4711-1.jpg, photos/4711-2.jpg
    P07   healthy      P07/left_001.png, P07/left_002.png

Numbers may have lost the zeros that the names of the images begin with: such tables are refused.
"""

import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.refusals import RefusalError
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, named_like
from shardkit.sources.formats.tables.records import Record, TableFile, TablePart, WrappedTable
from shardkit.sources.formats.tables.text_files import names_image
from shardkit.sources.name_index import name_key, path_end, written_path
from shardkit.sources.walking import ending, files_below, stem_of
from shardkit.storage import Folder

# Returns the paths of the images that a text may mean.
FindImages = Callable[[str], Sequence[str]]
_SEPARATORS = ("/", "_", "-", " ", ".", "")
_MAX_COLUMNS = 20  # of which pairs are tried
_NUM_TRIED = 3  # records that have to agree before more are looked up
_NUM_LOOKED_UP = 50  # records


@dataclass(frozen=True, slots=True)
class JoinedNames(WrappedTable):
    """A table with one more column, which joins two others to the names of the images."""

    joined: tuple[int, int]  # the two columns, in the order of the names
    separator: str  # what is between them

    @property
    def remark(self) -> str:
        one, other = (printable(self.columns[i]) for i in self.joined)
        return f"{self.inner.remark}{self.columns[-1]!r} is {one!r} and {other!r} with {self.separator!r} between; "

    def divided(self, part: int) -> Sequence[TablePart]:
        return self.inner.divided(part)

    def records(self, part: TablePart, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        own = len(self.inner.columns)
        inner = None if wanted is None else (wanted - {own}) | frozenset(self.joined)
        for record in self.inner.records(part, inner):
            if record.problem is not None:
                yield record
            else:
                yield record._replace(values=[*record.values, joined(record.values, self.joined, self.separator)])

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        return self.inner.types(records, columns)

    def class_names(self, column: int) -> tuple[str, ...]:
        return self.inner.class_names(column) if column < len(self.inner.columns) else ()


def joined(values: Sequence[Any], columns: Sequence[int], separator: str) -> str:
    """Return the values of two columns as a name; without the separator if one is empty, and '' if the second is."""
    first, second = ("" if values[i] is None else str(values[i]).strip() for i in columns)
    if separator == "/":
        first = first.replace("\\", "/").strip("/")
    return f"{first}{separator}{second}" if first and second else second


def join_names(file: TableFile, rows: Sequence[Sequence[Any]], find: FindImages) -> TableFile:
    """Return a table with a column of the names that two columns give together; the table itself if there are none."""
    if not may_be_joined(file, rows):
        return file
    some = rows[:_NUM_LOOKED_UP]
    columns = [i for i in range(len(file.columns)) if all(isinstance(row[i], str | int | None) for row in some)]
    if any(_are_names([str(row[i]) for row in some], find) for i in columns[:_MAX_COLUMNS]):
        return file
    for pair in itertools.permutations(columns[:_MAX_COLUMNS], 2):
        for separator in _SEPARATORS:
            names = [joined(row, pair, separator) for row in some]
            if _are_names(names[:_NUM_TRIED], find) and _are_names(names, find):
                title = next(
                    one for one in ("image", "name of the image", "path of the image") if one not in file.columns
                )
                return JoinedNames(file.folder, file.path, (*file.columns, title), file, pair, separator)
    return file


def may_be_joined(file: TableFile, rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether no column seems to name the images: none has names of files, or a usual title, all different."""
    usual = named_like(file.columns, (*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS))
    for i in range(len(file.columns)):
        texts = [str(row[i]) for row in rows]
        if len(set(texts)) == len(texts) and (i in usual or all(map(names_image, texts))):
            return False
    return len(rows) > 1


def _are_names(texts: Sequence[str], find: FindImages) -> bool:
    """Return whether most texts mean one image each, all different, and with all of their folders."""
    found = [path for text in texts if (path := _only_image(text, find)) is not None]
    return 2 * len(found) > len(texts) and len(set(found)) == len(found)


def _only_image(text: str, find: FindImages) -> str | None:
    wanted = written_path(text)
    if not wanted or wanted.endswith("/"):
        return None
    num_parts, has_ending = wanted.strip("/").count("/") + 1, names_image(wanted)
    found = ((path, path_end(path, num_parts, has_ending=has_ending)) for path in find(text))
    ends = [path for path, end in found if end == name_key(wanted.strip("/"))]
    return ends[0] if len(ends) == 1 else None


_SEPARATOR = re.compile(r"[._ ()-]+")


def described_images(folder: Folder, texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the images below a folder that each text is about, by `name_key` of the text.

    Memory grows with the number of images, by about 200 bytes each.
    """
    found: dict[str, list[str]] = {name_key(text.strip()): [] for text in texts}
    for path, entry in files_below(folder, ""):
        if ending(entry.name) in IMAGE_ENDINGS and (key := described_by(path, found)) is not None:
            found[key].append(path)
    return found


def values_of(file: TableFile, column: int) -> Iterator[str]:
    """Yield the values of a column as text."""
    for record in file.all_records(frozenset({column})):
        if record.problem is None and record.values[column] not in (None, ""):
            yield str(record.values[column])


def described_by(path: str, keys: Mapping[str, Any]) -> str | None:
    """Return the longest of some keys that an image's name begins with, or that a folder of it is called by."""
    *folders, name = path.split("/")
    for part in (posixpath.splitext(name)[0], *reversed(folders)):
        if (found := next((one for one in _beginnings(name_key(part)) if one in keys), None)) is not None:
            return found
    return None


def _beginnings(name: str) -> Sequence[str]:
    return [name, *(name[: one.start()] for one in reversed([*_SEPARATOR.finditer(name)]))]


_MAX_IDS = 100_000  # records that are looked at for lost zeros


def refuse_lost_zeros(file: TableFile, columns: Iterable[int], paths: Iterable[str]) -> None:
    """Refuse a table whose numbers are names of images without the zeros that these begin with: 1 for 0001.jpg."""
    numbers: dict[int, dict[str, str]] = {i: {} for i in columns}
    num_records = 0
    for record in islice(file.all_records(frozenset(numbers)), _MAX_IDS):
        num_records += 1
        for i in [] if record.problem else [*numbers]:
            text = str(record.values[i]).strip()
            if not text.isdecimal() or text.startswith("0"):
                del numbers[i]
            else:
                numbers[i][text] = ""
        if not numbers:
            return
    exact: set[str] = set()
    for path in paths:
        stem = stem_of(path)
        exact.add(stem)
        if stem.startswith("0") and stem.isdecimal():
            for found in numbers.values():
                if stem.lstrip("0") in found:
                    found[stem.lstrip("0")] = path
    for i, found in numbers.items():
        padded = {text: path for text, path in found.items() if path}
        num_exact = len(exact & {*found})
        is_id = 2 * len(found) > num_records  # a class repeats
        if is_id and 2 * len(padded) > len(found) and 2 * num_exact <= len(found):
            text, path = next(iter(padded.items()))
            others = f", and {num_exact:,} are names as they are" if num_exact else ""
            problem = (
                f"{file.url}: {len(padded):,} of {len(found):,} values of column {file.columns[i]!r} are names of "
                f"images without their zeros, such as {text} for {printable(path)}{others}"
            )
            stem = stem_of(path)
            remedy = (
                f"write them as the images are called, {stem} instead of {text}: programs drop the zeros of a column "
                "that is not saved as text"
            )
            raise RefusalError(problem, remedy=remedy)
