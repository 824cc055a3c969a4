"""Sources without what the user leaves out: ignored images, and boxes that repeat an earlier one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.columns import IS_UNLABELLED, OBJECTS, PATH
from shardkit.sources.filtered_folder import FilteredFolder, IgnoreGlob
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


_REPEATED = "boxes that repeat an earlier one of their image"
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)


def repeated_objects(objects: pa.Array) -> npt.NDArray[np.bool_]:
    """Return for each object of a column of objects whether an earlier one of its image has its class and its box."""
    flat = objects.flatten()
    if not len(flat):
        return np.zeros(0, np.bool_)
    images = pc.list_parent_indices(objects).to_numpy().astype(np.uint64)
    labels = _codes(flat.field("label_name" if flat.type.get_field_index("label_name") >= 0 else "label"))
    sides = pc.list_flatten(flat.field("bbox")).to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, 4)
    # One number instead of six columns to sort: two different boxes of one image get the same one in 2**64 cases.
    with np.errstate(over="ignore"):
        hashes = images * _ODD[0] + (labels.astype(np.uint64) + np.uint64(1)) * _ODD[1]
        for side in (sides + 0.0).T:
            bits = np.ascontiguousarray(side).view(np.uint64)
            hashes = (hashes ^ (hashes >> np.uint64(29))) * _ODD[2] + bits * _ODD[3]
    is_repeated = np.zeros(len(flat), np.bool_)
    in_order = np.sort(hashes)  # ten times as fast as finding the first of each, which most sources do not need
    if (in_order[1:] == in_order[:-1]).any():
        _, first = np.unique(hashes, return_index=True)
        is_repeated[:] = True
        is_repeated[first] = False
    return is_repeated


def _codes(labels: pa.Array) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = pc.fill_null(labels.dictionary_encode().indices, -1).to_numpy().astype(np.int64)
    return codes


@dataclass(frozen=True, slots=True)
class WithoutRepeatedBoxes(WrappedSource):
    """A source of which repeated boxes are left out, and counted."""

    def list_inner(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        return map(_without_repeated, self.inner.list_part(part, batch_rows))


def _without_repeated(listing: Listing) -> Listing:
    table = listing.table()
    at = table.schema.get_field_index(OBJECTS)
    if at < 0:
        return listing
    objects = table[OBJECTS].combine_chunks()
    is_repeated = repeated_objects(objects)
    if not (num := int(is_repeated.sum())):
        return listing
    skipped = dict(listing.skipped)
    count_skipped(skipped, _REPEATED, num)
    kept = np.bincount(pc.list_parent_indices(objects).to_numpy()[~is_repeated], minlength=len(objects))
    offsets = pa.array(np.concatenate([[0], np.cumsum(kept)]).astype(np.int32))
    values = objects.flatten().filter(pa.array(~is_repeated))
    column = pa.ListArray.from_arrays(offsets, values, type=objects.type, mask=objects.is_null())
    return replace(listing, rows=[], columns=table.set_column(at, table.schema.field(at), column), skipped=skipped)
