"""The interface of this package's readers: records that give an image its label and split."""

import abc
import re
from collections.abc import Iterator
from typing import NamedTuple

from shardkit.naming import printable, relative_path_problem
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.listing import BadRecord, RecordProblem
from shardkit.sources.tables.formats.lines import read_lines
from shardkit.storage import Entry, Folder

# Safe paths, found without a loop over their characters in Python: a part does not begin with a dot.
_PLAIN = re.compile(r"\w[\w .-]*(?:/\w[\w .-]*)*", re.ASCII)
_PATH_SHOWN = 200  # characters of a path in a message


class ListRecord(NamedTuple):
    """What a line of a list, or an image in a class folder, says.

    Attributes:
        key: Path of the image below the source's folder; None if the record names none.
        split: The split; None if the source gives none.
        labels: The classes; () if there is none.
        place: The list and the line, such as ``train.txt, line 7``; '' for an image in a class folder.
        line: Number of the line, from 1; 0 for an image in a class folder.
        problem: Why the record gives no example; None if it does.
        entry: The image's file, if the reader has listed it.
    """

    key: str | None
    split: str | None
    labels: tuple[str, ...]
    place: str = ""
    line: int = 0
    problem: RecordProblem | None = None
    entry: Entry | None = None


class RecordReader(abc.ABC):
    """Reads the records of one part of a source. Instances are small and are pickled.

    Attributes:
        path: The list, or the folder of images.
    """

    __slots__ = ()
    path: str

    @property
    def own_folder(self) -> str | None:
        """Folder whose images this reader lists completely; None if a list names the images."""
        return None

    @property
    def url(self) -> str | None:
        """URL of the list; '' if the reader reads no list, None if it reads several files."""
        return None

    @property
    def gives_splits(self) -> bool:
        """Whether its records have splits."""
        return True

    def keys(self, folder: Folder) -> Iterator[str]:
        """Yield the keys of the records that have one."""
        return (record.key for record in self.records(folder, {}) if record.key is not None)

    @abc.abstractmethod
    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """Yield the records in a fixed order.

        Args:
            folder: The source's folder.
            skipped: Counts of skipped files, to which the reader adds.
        """


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


def checked_key(key: str) -> str:
    """Return a path that is safe to follow below the source's folder.

    Raises:
        BadRecord: BAD_PATH.
    """
    if not _PLAIN.fullmatch(key) and (problem := relative_path_problem(key)):
        msg = f"the path {printable(key[:_PATH_SHOWN])!r} may not be followed: {problem}; correct the list"
        raise BadRecord(BAD_PATH, msg)
    return key


def rejected(place: str, line: int, split: str | None, error: BadRecord, key: str | None = None) -> ListRecord:
    """Return the record of a line that gives no example."""
    message = f"{place}: {error}" if key else str(error)
    problem = RecordProblem(key or place, error.reason, message)
    return ListRecord(key, split, (), place, line, problem)
