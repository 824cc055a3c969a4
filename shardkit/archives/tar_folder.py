"""A .tar of an ordinary tree as a read-only folder, so that every layout of files and folders works inside it.

Each process reads its headers once; after that each read is one range of the archive. WebDataset's shards are read in
sequence instead: see webdataset.py.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.archives.member_tree import ArchiveFolder, ArchiveProblem, MemberTree, build_tree, folder_and_name
from shardkit.archives.tar_members import BrokenTar, TarMember, buffered, tar_members
from shardkit.errors import MemberError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_NAME, TRUNCATED


@dataclass(frozen=True, slots=True)
class TarFolder(ArchiveFolder):
    """A folder in an uncompressed .tar; see ArchiveFolder. Links, devices and a broken end are problems."""

    @staticmethod
    def load_tree(file: BinaryIO, archive: str, num_bytes: int, mtime_ns: int) -> MemberTree[TarMember]:
        """See ArchiveFolder."""
        name, problems = printable(archive.rpartition("/")[2]), list[ArchiveProblem]()
        tree = build_tree(name, _ordinary(tar_members(buffered(file), num_bytes), name, problems), mtime_ns)
        return MemberTree(tree.files, tree.folders, [*tree.problems, *problems])

    def read(self, path: str) -> bytes:
        """See Folder.

        Raises:
            MemberError: The archive is shorter than it was.
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
            msg = f"{self._entry(path)} goes beyond the end of the archive; copy the archive again from its origin"
            raise MemberError(msg)
        return data


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
