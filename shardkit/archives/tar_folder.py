"""A .tar of an ordinary tree as a read-only folder, so that every layout of files and folders works inside it.

Each process reads its headers once; after that each read is one range of the archive. WebDataset's shards are read in
sequence instead: see webdataset.py.
"""

import errno
import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shardkit.archives.member_tree import ArchiveFolder, ArchiveProblem, MemberTree, build_tree, folder_and_name
from shardkit.archives.tar_members import BrokenTar, TarMember, buffered, tar_members
from shardkit.errors import SourceChangedError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_NAME, TRUNCATED
from shardkit.storage import os_errors_as

_MAX_TREES = 4  # archives whose members are kept in memory
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True)
class TarFolder(ArchiveFolder):
    """A folder in an uncompressed .tar; see ArchiveFolder. Links, devices and a broken end are problems."""

    def _tree(self) -> MemberTree[TarMember]:
        with _LOADING:  # otherwise all threads would load it at once
            return _load(self.archive, self.num_bytes, self.mtime_ns)

    def read(self, path: str) -> bytes:
        """See Folder.

        Raises:
            OSError: The archive is shorter than it was.
        """
        member = self._member(path)
        return self.read_range(path, 0, member.num_bytes)

    def open(self, path: str) -> Any:
        """See Folder. The file is read into memory."""
        return io.BytesIO(self.read(path))

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder."""
        member = self._member(path)
        wanted = max(0, min(num_bytes, member.num_bytes - start))
        parent, name = folder_and_name(self.archive)
        data = parent.read_range(name, member.offset + start, wanted)
        if len(data) != wanted:
            msg = "the archive ends within a member; copy it again from its origin"
            raise OSError(msg)
        return data

    def _member(self, path: str) -> TarMember:
        tree = self._tree()
        member = tree.files.get(self._at(path))
        if member is None:
            if self._at(path) in tree.folders:
                raise IsADirectoryError(errno.EISDIR, "Is a directory", f"{self.url}/{path}")
            raise FileNotFoundError(errno.ENOENT, "No such file in the archive", f"{self.url}/{path}")
        return member


@lru_cache(_MAX_TREES)
def _load(archive: str, num_bytes: int, mtime_ns: int) -> MemberTree[TarMember]:
    parent, name = folder_and_name(archive)
    problems: list[ArchiveProblem] = []
    with os_errors_as("read the archive", archive):
        found = parent.stat(name)
        if found is None or (found.num_bytes, found.mtime_ns) != (num_bytes, mtime_ns):
            msg = f"{archive}: the archive has changed since the conversion began; convert it again"
            raise SourceChangedError(msg)
        with parent.open(name) as file:
            members = _ordinary(tar_members(buffered(file), num_bytes), printable(name), problems)
            tree = build_tree(printable(name), members, mtime_ns)
    return MemberTree(tree.files, tree.folders, [*tree.problems, *problems])


def _ordinary(
    members: Iterator[TarMember], archive: str, problems: list[ArchiveProblem]
) -> Iterator[tuple[str, TarMember]]:
    """Yield names and members up to the place where the archive breaks; add what cannot be read to the problems."""
    try:
        for member in members:
            if member.problem:
                message = f"the entry {printable(member.name)} of {archive} {member.problem}"
                problems.append(ArchiveProblem(member.name, BAD_NAME, message, member.num_bytes))
            else:
                yield member.name, member
    except BrokenTar as error:
        message = (
            f"the archive {error}; the entries before that are read. Copy it again from its origin, or pack it again"
        )
        problems.append(ArchiveProblem(archive, TRUNCATED, message, 0))
