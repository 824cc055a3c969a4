"""A list or table that only says which image belongs to which split, and gives no labels.

``train.txt`` with names of files in class folders, ``splits.csv`` with a column of splits beside ``labels.csv``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.sources.engine.split_columns import split_of_value
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.name_index import path_end, written_path


@dataclass(frozen=True, slots=True)
class SplitList:
    """A file that says which images belong to which split.

    Attributes:
        file: The file.
        column: The column that names the images.
        split: The split of all of them; None if a column says it.
        split_column: That column; -1 for none.
        num_parts: Number of parts of the images' paths, from the end, by which they are compared.
        has_ending: Whether names have their ending.
    """

    file: TableFile
    column: int
    split: str | None
    split_column: int
    num_parts: int
    has_ending: bool

    def named(self) -> dict[str, list[str]]:
        """Return the ends of the images' paths, by their split."""
        found: dict[str, list[str]] = {}
        for record in self.file.all_records():
            if record.problem is None and record.values[self.column] not in (None, ""):
                value = None if self.split_column < 0 else record.values[self.split_column]
                split = self.split or split_of_value(value, self.file.columns[self.split_column])
                if split is not None:
                    found.setdefault(split, []).append(self.end_of(written_path(str(record.values[self.column]))))
        return found

    def texts(self) -> Iterator[str]:
        """Yield what its records call the images."""
        for record in self.file.all_records():
            if record.problem is None and record.values[self.column] not in (None, ""):
                yield written_path(str(record.values[self.column]))

    def begin_of(self, path: str) -> str:
        """Return the part of a path that is not compared."""
        parts = path.split("/")
        return "/".join(parts[: -self.num_parts])

    def after(self, path: str) -> str:
        """Return the rest of a path."""
        return path[len(self.begin_of(path)) :].lstrip("/")

    def end_of(self, path: str) -> str:
        """Return the part of a path that is compared."""
        return path_end(path, self.num_parts, has_ending=self.has_ending)
