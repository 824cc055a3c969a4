"""A source of any layout without the images that `ignore` names, and the counts of these."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.columns import IS_UNLABELLED, PATH
from shardkit.sources.ignoring.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.listing import Listing, Source, batched, count_skipped
from shardkit.sources.readings.values import Reading
from shardkit.sources.recognising.wrapped_source import WrappedSource
from shardkit.sources.walking import children, join


@dataclass(frozen=True, slots=True)
class IgnoringSource(WrappedSource):
    """A source without ignored images.

    Tables and annotation files may name an ignored image, so rows are filtered too.
    """

    globs: tuple[IgnoreGlob, ...]
    left_out: tuple[IgnoreGlob, ...] = ()  # those of what recognising left out, which the user has not written

    @property
    def wanted(self) -> tuple[IgnoreGlob, ...]:
        """The globs that the user has written."""
        return tuple(one for one in self.globs if one not in self.left_out)

    @property
    def reading(self) -> Reading | None:
        reading = self.inner.reading
        return reading and replace(reading, ignore=tuple(one.text for one in self.globs))

    def describe(self) -> str:
        ignored = ", ".join(printable(one.text) for one in self.wanted)
        return f"{self.inner.describe()}; ignored: {ignored}" if ignored else self.inner.describe()

    @property
    def has_added_part(self) -> bool:
        return isinstance(self.folder, FilteredFolder)

    def list_added(self, batch_rows: int) -> Iterator[Listing]:
        """See WrappedSource; counts every hidden file once, by the first glob that matches it."""
        return batched(self.schema, (), batch_rows, self._count_hidden())

    def list_inner(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        return map(self._without_ignored, self.inner.list_part(part, batch_rows))

    def _without_ignored(self, listing: Listing) -> Listing:
        table = listing.table()
        hidden_by = [self._glob_of(key) for key in table["key"].to_pylist()]
        if not any(hidden_by):
            return listing
        skipped = dict(listing.skipped)
        # Images that are files of the folder are counted as files.
        if PATH.name in self.schema.names or not isinstance(self.folder, FilteredFolder):
            for glob in filter(None, hidden_by):
                count_skipped(skipped, ignored_phrase(glob))
        keep = pa.array([glob is None for glob in hidden_by])
        return replace(listing, rows=[], columns=table.filter(keep), skipped=skipped)

    def _glob_of(self, key: str) -> IgnoreGlob | None:
        path = join(self.folder.above, key) if isinstance(self.folder, FilteredFolder) else key
        return next((glob for glob in self.globs if glob.matches(path)), None)

    def _count_hidden(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        if isinstance(self.folder, FilteredFolder):
            _count(self.folder, "", None, counts, ())
        return counts


def _count(
    folder: FilteredFolder, path: str, hidden_by: IgnoreGlob | None, counts: dict[str, int], above: tuple[str, ...]
) -> None:
    here = folder.resolve(path)
    if here in above:
        return  # a symbolic link to a folder above
    for entry in children(folder.inner, path):
        at = join(path, entry.name)
        glob = hidden_by or folder.hiding_glob(at, is_folder=entry.is_folder)
        if entry.is_folder:
            _count(folder, at, glob, counts, (*above, here))
        elif glob:
            count_skipped(counts, ignored_phrase(glob))


def ignored_phrase(glob: IgnoreGlob) -> str:
    """Return the name under which the files of a glob are counted as skipped."""
    return f"ignored by {printable(glob.text)}"


def unmatched_notes(source: Source, skipped: Mapping[str, int], table: pa.Table) -> list[str]:
    """Return a sentence for each glob of the user that matched nothing, such as one with a typing mistake."""
    wanted = source.wanted if isinstance(source, IgnoringSource) else ()
    unmatched = [glob.text for glob in wanted if ignored_phrase(glob) not in skipped]
    notes = [f"{named('ignore', printable(text))} matches nothing in the source" for text in unmatched]
    globs = source.reading.images.unlabelled if source.reading else ()
    if globs:
        marks = table[IS_UNLABELLED.name].cast(IS_UNLABELLED.type)
        keys = table["key"].filter(marks)
        unmatched = [text for text in globs if not any(IgnoreGlob(text).matches(key.as_py()) for key in keys)]
        notes += [
            f"`images: unlabelled` has {printable(text)}, which matches no image without a label" for text in unmatched
        ]
    return notes
