"""Rejected rows for the entries of an archive that no folder can hold: layouts read it as a folder and miss them."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.archives.member_tree import ArchiveFolder, ArchiveProblem
from shardkit.sources.listing import Listing, ListingRow, Source, batched, encodable_path, is_ignored
from shardkit.sources.recognising.wrapped_source import WrappedSource


@dataclass(frozen=True, slots=True)
class ArchiveSource(WrappedSource):
    """A source of any layout that is inside an archive.

    Attributes:
        archive: The folder in the archive that the source was opened with.
    """

    archive: ArchiveFolder

    @property
    def has_added_part(self) -> bool:
        """See WrappedSource."""
        return True

    def list_added(self, batch_rows: int) -> Iterator[Listing]:
        """See WrappedSource; lists the archive's problems."""
        rows = [_row(one) for one in self.archive.problems() if not _is_junk(one.name)]
        return batched(self.schema, rows, batch_rows)


def with_archive_problems(source: Source, archive: ArchiveFolder) -> Source:
    """Return a source that also lists the unreadable entries of its archive; the source itself if there are none.

    Args:
        source: The source.
        archive: The folder in the archive that the source was opened with.

    Raises:
        DataError: The archive cannot be read.
    """
    if all(_is_junk(one.name) for one in archive.problems()):
        return source
    return ArchiveSource(source.folder, source, archive)


def _row(problem: ArchiveProblem) -> ListingRow:
    key, message = encodable_path(problem.name), encodable_path(problem.message)
    return ListingRow(key, None, None, problem.num_bytes, 0, problem.reason, message)


def _is_junk(name: str) -> bool:
    """Return whether systems leave such entries behind, judging by the folders that the path really leads through."""
    path = posixpath.normpath("/" + name.replace("\\", "/"))
    return any(is_ignored(part) for part in path.split("/"))
