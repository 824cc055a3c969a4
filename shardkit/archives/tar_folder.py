"""A .tar of an ordinary tree as a read-only folder, so that every layout of files and folders works inside of one.

Its headers are read once a process; after that each read is one range of the archive. WebDataset's shards are read in
order instead: see webdataset.py.
"""

import errno
import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shardkit.archives.member_tree import ArchiveFolder, Problem, Table, build_table, located
from shardkit.archives.tar_members import BrokenTar, TarMember, buffered, tar_members
from shardkit.errors import SourceChangedError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_NAME, TRUNCATED
from shardkit.storage import os_errors_as

_TABLES = 4  # archives whose members are kept in memory
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True)
class TarFolder(ArchiveFolder):
    """A folder in a plain .tar; see ArchiveFolder. Links and devices are problems, too, and so is where it breaks."""

    def _table(self) -> Table[TarMember]:
        with _LOADING:  # or threads would all load it at once
            return _load(self.archive, self.num_bytes, self.mtime_ns)

    def read(self, path: str) -> bytes:
        """See Folder.

        Raises:
            OSError: the archive got shorter.
        """
        member = self._member(path)
        return self.read_range(path, 0, member.num_bytes)

    def open(self, path: str) -> Any:
        """See Folder; the file is read into memory."""
        return io.BytesIO(self.read(path))

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder."""
        member = self._member(path)
        wanted = max(0, min(num_bytes, member.num_bytes - start))
        beside, name = located(self.archive)
        data = beside.read_range(name, member.offset + start, wanted)
        if len(data) != wanted:
            msg = "the archive ends within a member; copy it again from its origin"
            raise OSError(msg)
        return data

    def _member(self, path: str) -> TarMember:
        table = self._table()
        member = table.files.get(self._at(path))
        if member is None:
            if self._at(path) in table.folders:
                raise IsADirectoryError(errno.EISDIR, "Is a directory", f"{self.url}/{path}")
            raise FileNotFoundError(errno.ENOENT, "No such file in the archive", f"{self.url}/{path}")
        return member


@lru_cache(_TABLES)
def _load(archive: str, num_bytes: int, mtime_ns: int) -> Table[TarMember]:
    beside, name = located(archive)
    problems: list[Problem] = []
    with os_errors_as("read the archive", archive):
        found = beside.stat(name)
        if found is None or (found.num_bytes, found.mtime_ns) != (num_bytes, mtime_ns):
            msg = f"{archive}: the archive has changed since the conversion began; convert it again"
            raise SourceChangedError(msg)
        with beside.open(name) as file:
            members = _ordinary(tar_members(buffered(file), num_bytes), printable(name), problems)
            table = build_table(printable(name), members, mtime_ns)
    return Table(table.files, table.folders, [*table.problems, *problems])


def _ordinary(members: Iterator[TarMember], archive: str, problems: list[Problem]) -> Iterator[tuple[str, TarMember]]:
    """Names and members up to where the archive breaks; what cannot be read is added to the problems."""
    try:
        for member in members:
            if member.problem:
                message = f"the entry {printable(member.name)} of {archive} {member.problem}"
                problems.append(Problem(member.name, BAD_NAME, message, member.num_bytes))
            else:
                yield member.name, member
    except BrokenTar as error:
        message = f"the archive {error}; what stands before is read. Copy it again from its origin, or pack it anew"
        problems.append(Problem(archive, TRUNCATED, message, 0))
