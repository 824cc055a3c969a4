"""The fields of the lines of a list."""

from collections.abc import Iterator
from typing import NamedTuple

from shardkit.sources.formats.tables.lines import read_lines
from shardkit.storage import Folder


class Fields(NamedTuple):
    """The fields of a line, and why it cannot be used, or None."""

    line: int
    values: list[str]
    problem: str | None


def read_fields(folder: Folder, path: str, separator: str | None = None) -> Iterator[Fields]:
    """Yield the fields of each line that is not empty; without separator, they are between blanks."""
    for number, text, problem in read_lines(folder, path):
        if stripped := text.strip():
            yield Fields(number, [value.strip() for value in stripped.split(separator)], problem)
