"""Rejected rows for the entries of an archive that no folder can hold: layouts read it as a folder and miss them."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shardkit.archives.member_tree import ArchiveFolder, ArchiveProblem
from shardkit.sources.listing import Listing, ListingRow, Source, batched, encodable_path, is_ignored
from shardkit.sources.recognising.wrapped_source import WrappedSource


@dataclass(frozen=True, slots=True)
class ArchiveProblems:
    """The part that lists the archive's own problems."""


@dataclass(frozen=True, slots=True)
class ArchiveSource(WrappedSource):
    """A source of any layout that is inside an archive.

    Attributes:
        archive: The folder in the archive that the source was opened with.
    """

    archive: ArchiveFolder

    def parts(self) -> list[Any]:
        """Return the parts of the source, and one for the archive's problems."""
        return [*self.inner.parts(), ArchiveProblems()]

    def listed_folders(self, part: Any) -> Sequence[str]:
        """See Source."""
        return () if isinstance(part, ArchiveProblems) else self.inner.listed_folders(part)

    def divided(self, part: Any) -> Sequence[Any]:
        """See Source."""
        return [part] if isinstance(part, ArchiveProblems) else self.inner.divided(part)

    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        """See Source."""
        if not isinstance(part, ArchiveProblems):
            yield from self.inner.list_part(part, batch_rows)
            return
        rows = [_row(one) for one in self.archive.problems() if not _is_junk(one.name)]
        yield from batched(self.schema, rows, batch_rows)


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
