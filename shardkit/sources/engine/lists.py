"""Lists of images: each list stands for one value."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.reject_reasons import MISSING
from shardkit.sources.engine.facts import Fact, Values, once
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.matching import ImageNames, Matching, Strip
from shardkit.sources.formats.tables.opening import LineFile, column_index, open_table_file
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.text_files import open_names
from shardkit.sources.listing import ListingRow, RecordProblem, rejected_row
from shardkit.sources.options import SourceOptions
from shardkit.sources.unlisted_images import NamedImages
from shardkit.sources.walking import encodable_path
from shardkit.storage import Folder


class ListLine(NamedTuple):
    """A line of a list, and the value of its list."""

    path: str
    line: int
    text: str
    value: str


@dataclass(frozen=True, slots=True)
class OfLists:
    """Values of lists by key: each list stands for one."""

    lists: tuple[tuple[TableFile, str], ...]  # the lists as tables, and their values
    key: str  # the column of names
    matching: Matching
    strip: Strip
    rest: str | None  # value of the images in no list; None if they have none
    images: ImagePaths
    opened: str  # see `Binding`
    # Folders that the names in some lists start at, by their paths, instead of that of `matching`
    bases: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[ListLine]:
        for file, value in self.lists:
            column = file.columns.index(self.key)
            for record in file.all_records(frozenset({column})):
                text = record.problem or record.values[column]
                if text not in (None, ""):
                    yield ListLine(file.path, record.line, str(text), value)

    def values(self, folder: Folder) -> Values:
        paths = [(file.url, value) for file, value in self.lists]
        found: dict[str, str] = once(
            f"{self.opened} lists: {paths} {self.matching} {self.bases}", lambda: self._read(folder)
        )
        return lambda key: found.get(key, self.rest)

    def keyed_lines(self, folder: Folder) -> Iterator[tuple[ListLine, str | None]]:
        """Yield the lines, and the key of the image that each names; None if there is none."""
        names: dict[str, ImageNames] = {}
        for line in self.lines():
            text, base = self.strip.of(line.text), self.bases.get(line.path, self.matching.base)
            matching = self.matching if base == self.matching.base else replace(self.matching, base=base)
            if matching.is_plain:
                yield line, matching.of_text(text)
                continue
            if base not in names:
                below = base if matching.match in {"name", "stem"} else ""
                names[base] = ImageNames(self.images.paths(folder, below), matching)
            yield line, names[base].find(text, where=self._url(line.path))

    def _read(self, folder: Folder) -> dict[str, str]:
        found: dict[str, ListLine] = {}
        for line, key in self.keyed_lines(folder):
            other = found.get(key) if key else None
            if key and other and other.value != line.value:
                msg = (
                    f"{self._url(line.path)}, line {line.line}: {printable(line.text)!r} is in "
                    f"{printable(other.path)}, too (line {other.line}); leave it in one of them"
                )
                raise DataError(msg)
            if key:
                found.setdefault(key, line)
        return {key: line.value for key, line in found.items()}

    def _url(self, path: str) -> str:
        return next(file.url for file, _ in self.lists if file.path == path)


def lines_without_image(folder: Folder, facts: Iterable[Fact]) -> Iterator[ListingRow]:
    """Yield a rejected row for each line of the lists that name the examples, if it names no image."""
    splits = (fact.source for fact in facts if fact.names_examples)
    for lists in splits:
        keys = NamedImages(lists.images.paths(folder) if isinstance(lists, OfLists) else ())
        for line, key in lists.keyed_lines(folder) if isinstance(lists, OfLists) else ():
            if key is None or key not in keys:
                yield row_without_image(line)


def row_without_image(line: ListLine) -> ListingRow:
    """Return the rejected row of a line that names no image."""
    name = encodable_path(f"{line.path}, line {line.line}")
    message = f"there is no image {printable(line.text)!r}; restore it, or remove the line"
    return rejected_row(RecordProblem(name, MISSING, encodable_path(message)), line.value)


def open_list(folder: Folder, path: str, key: str, expression: str) -> TableFile:
    """Open a list as a table with a column of names; '' if all of a line is one, or the group `image` of it."""
    if expression:
        return LineFile.open(folder, path, expression)
    if not key:
        return open_names(folder, path)
    file = open_table_file(folder, path, SourceOptions(image_column=key))
    column_index(file, key)
    return file
