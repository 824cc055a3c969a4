"""Sources that add something to a source of any layout: a sentence, or a part of their own."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from shardkit.archives.member_tree import ArchiveFolder, ArchiveProblem
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import ShardkitError
from shardkit.sources.claim import Claim, UsedFile
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.listing import Listing, ListingRow, Source, batched, below
from shardkit.sources.readings.values import Reading, reading_below
from shardkit.sources.walking import encodable_path, is_ignored
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class AddedPart:
    """The part that a source lists besides those of the source that it is read as."""

    owner: type


@dataclass(frozen=True, slots=True)
class WrappedSource(Source):
    """A source that is read as another one."""

    folder: Folder  # the folder that image paths start at
    inner: Source

    @property
    def has_added_part(self) -> bool:
        """Whether it lists a part besides those of the other source; see `list_added`."""
        return False

    def list_added(self, batch_rows: int) -> Iterator[Listing]:
        """Yield the listings of the added part."""
        del batch_rows
        return iter(())

    def list_inner(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        """Yield the listings of a part of the other source."""
        return self.inner.list_part(part, batch_rows)

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.inner.classes

    @property
    def layout(self) -> str:
        return self.inner.layout

    @property
    def label_files(self) -> tuple[str, ...] | None:
        return self.inner.label_files

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        return self.inner.used_files

    @property
    def takes_splits(self) -> bool:
        return self.inner.takes_splits

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.inner.claims

    @property
    def reading(self) -> Reading | None:
        return self.inner.reading

    def check_accounts(self, skipped: Mapping[str, int]) -> None:
        self.inner.check_accounts(skipped)

    def misfit(self, error: ShardkitError) -> ShardkitError:
        return self.inner.misfit(error)

    @property
    def removed_before(self) -> tuple[str, ...]:
        return self.inner.removed_before

    def describe(self) -> str:
        return self.inner.describe()

    def check_classes(self, classes: Mapping[int, str]) -> None:
        self.inner.check_classes(classes)

    def parts(self) -> Sequence[Any]:
        return [*self.inner.parts(), *([self._added] if self.has_added_part else [])]

    @property
    def _added(self) -> AddedPart:
        return AddedPart(type(self))

    def listed_folders(self, part: Any) -> Sequence[str]:
        return () if part == self._added else self.inner.listed_folders(part)

    def sliceable_folder(self, part: Any) -> str | None:
        is_whole = part == self._added or self.inner.folder != self.folder
        return None if is_whole else self.inner.sliceable_folder(part)

    def divided(self, part: Any) -> Sequence[Any]:
        return [part] if part == self._added else self.inner.divided(part)

    def in_folder(self, folder: Folder) -> Source:
        made: WrappedSource = replace(self, folder=folder, inner=self.inner.in_folder(folder))
        return made

    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        return self.list_added(batch_rows) if part == self._added else self.list_inner(part, batch_rows)


@dataclass(frozen=True, slots=True)
class NotedSource(WrappedSource):
    """A source, and what the user should know about how it was found."""

    remark: str  # a clause, beginning with ';'

    def describe(self) -> str:
        return self.inner.describe() + self.remark


@dataclass(frozen=True, slots=True)
class ArchiveSource(WrappedSource):
    """A source of any layout that is inside archives."""

    # The folder in the archive, or the tree of several, that the source was opened with
    archive: ArchiveFolder | MountedFolder

    @property
    def has_added_part(self) -> bool:
        return True

    def list_added(self, batch_rows: int) -> Iterator[Listing]:
        """See WrappedSource; lists the archive's problems."""
        rows = [_row(one) for one in self.archive.problems() if not _is_junk(one.name)]
        return batched(self.schema, rows, batch_rows)


def replaced(source: Source, found: ReadingSource) -> Source:
    """Return a source with another one in place of the innermost of its wrappers."""
    if not isinstance(source, WrappedSource):
        return found
    made: Source = replace(source, folder=found.folder, inner=replaced(source.inner, found))
    return made


def innermost(source: Source) -> Source:
    """Return the source that all wrappers are around."""
    return innermost(source.inner) if isinstance(source, WrappedSource) else source


def from_top(source: Source, top: Folder, archives: Sequence[str], *, is_one: bool) -> Source:
    """Return a source with its reading as one of SOURCE, whatever folder in it was found to be read.

    `is_one`: the user gave one source; several are a tree that no later delivery has.
    """
    found = innermost(source)
    if not isinstance(found, ReadingSource):
        return source
    above = "" if found.tree.url == top.url else below(top, found.tree.url)
    is_inside = "://" not in above and not above.startswith("/")
    value = reading_below(found.value, above.rstrip("/")) if is_inside else found.value
    value = replace(value, archives=tuple(f"/{path}" for path in archives))
    return replaced(source, replace(found, value=value, is_kept=is_one and is_inside))


def with_archive_problems(source: Source, archive: ArchiveFolder | MountedFolder) -> Source:
    """Return a source that also lists the unreadable entries of its archives; the source itself if there are none."""
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
