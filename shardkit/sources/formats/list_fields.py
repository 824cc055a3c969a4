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


def read_fields(folder: Folder, path: str, separator: str | None = None, max_fields: int = 0) -> Iterator[Fields]:
    """Yield the fields of each line that is not empty.

    Args:
        folder: The folder that the path is below.
        path: The file.
        separator: Text between fields; None for any blanks.
        max_fields: Maximum number of fields, the last of which has the rest of the line; 0 for no limit.

    Raises:
        DataError: The file is UTF-16.
        MachineError: The disk or the network failed.
    """
    for number, text, problem in read_lines(folder, path):
        if stripped := text.strip():
            yield Fields(number, [value.strip() for value in stripped.split(separator, max_fields - 1)], problem)
