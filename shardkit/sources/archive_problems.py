"""What no layout meets when it reads an archive as a folder: the entries that no folder can hold, as rejected rows."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shardkit.archives.member_tree import ArchiveFolder, Problem
from shardkit.sources.listing import Listing, Source, encodable_path, is_ignored
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class Problems:
    """The part that stands for the archive's own problems."""


@dataclass(frozen=True, slots=True)
class Archived(Source):
    """A source of any layout in an archive.

    Attributes:
        folder: where its images are.
        inner: the source.
        archive: the folder in the archive that it was opened with.
    """

    folder: Folder
    inner: Source
    archive: ArchiveFolder

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return self.inner.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source."""
        return self.inner.classes

    @property
    def layout(self) -> str:
        """See Source."""
        return self.inner.layout

    def describe(self) -> str:
        """See Source."""
        return self.inner.describe()

    def parts(self) -> list[Any]:
        """Those of the source, and one for the archive's problems."""
        return [*self.inner.parts(), Problems()]

    def listed_folders(self, part: Any) -> Sequence[str]:
        """See Source."""
        return () if isinstance(part, Problems) else self.inner.listed_folders(part)

    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        """See Source."""
        if not isinstance(part, Problems):
            yield from self.inner.list_part(part, batch_rows)
            return
        rows = [_row(one) for one in self.archive.problems() if not _is_junk(one.name)]
        for start in range(0, len(rows), batch_rows):
            # Columns that the layout has besides stay null.
            table = pa.Table.from_pylist(rows[start : start + batch_rows], self.schema)
            yield Listing(self.schema, columns=table)


def with_problems(source: Source, archive: ArchiveFolder) -> Source:
    """A source that also lists the entries of its archive that cannot be read; the source itself where there are none.

    Args:
        source: as it was opened.
        archive: the folder that it was opened with.

    Raises:
        DataError: the archive cannot be read.
    """
    if all(_is_junk(one.name) for one in archive.problems()):
        return source
    return Archived(source.folder, source, archive)


def _row(problem: Problem) -> dict[str, Any]:
    return {
        "key": encodable_path(problem.name),
        "source_bytes": problem.num_bytes,
        "mtime_ns": 0,
        "reason": problem.reason,
        "message": encodable_path(problem.message),
    }


def _is_junk(name: str) -> bool:
    """Whether systems leave such entries behind: by the folders that they are in after all, not those they leave."""
    path = posixpath.normpath("/" + name.replace("\\", "/"))
    return any(is_ignored(part) for part in path.split("/"))
