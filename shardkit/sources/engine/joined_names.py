"""Tables in which the name of an image is in two columns: its folder and its file, or a slide and a region of it.

    Folder    Photo         Crop            slide  rid  y
    100MEDIA  DJI_0001.JPG  maize           99861  1    0.5     train/99861_1.tif
    101MEDIA  DJI_0001.JPG  wheat

One more column has the whole name. It is certain only if it means one image in most of the first records, all
different, where no column alone does.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shardkit.naming import printable
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, named_like
from shardkit.sources.formats.tables.records import Record, TableFile, TablePart, WrappedTable
from shardkit.sources.formats.tables.text_files import names_image
from shardkit.sources.name_index import name_key, path_end, written_path

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
    ends = [path for path in find(text) if _end(path, wanted) == name_key(wanted.strip("/"))]
    return ends[0] if len(ends) == 1 else None


def _end(path: str, wanted: str) -> str:
    return path_end(path, wanted.strip("/").count("/") + 1, has_ending=names_image(wanted))
