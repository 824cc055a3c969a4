"""Lay lists of splits over a source whose labels come from folders or from another table.

A list or table that only says which image belongs to which split gives no labels: ``train.txt`` with names of files in
class folders, ``splits.csv`` with a column of splits beside ``labels.csv``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.naming import printable
from shardkit.reject_reasons import NO_SPLIT
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.listing import Listing, Source, count_skipped
from shardkit.sources.name_index import path_end, written_path
from shardkit.sources.recognising.wrapped_source import WrappedSource
from shardkit.sources.tables.formats.records import TableFile
from shardkit.sources.tables.split_words import split_of_value
from shardkit.sources.unlisted_images import NamedImages
from shardkit.sources.walking import join

_REST = "train"  # the split of what no list names, if no list is for training
_UNNAMED = "images that no list of splits names"


@dataclass(frozen=True, slots=True)
class SplitList:
    """A file that says which images belong to which split.

    Attributes:
        file: The file.
        stamp: Its size and modification time when it was opened.
        column: The column that names the images.
        split: The split of all of them; None if a column says it.
        split_column: That column; -1 for none.
        num_parts: Number of parts of the images' paths, from the end, by which they are compared.
        has_ending: Whether names have their ending.
    """

    file: TableFile
    stamp: tuple[int, int]
    column: int
    split: str | None
    split_column: int
    num_parts: int
    has_ending: bool

    def named(self) -> dict[str, list[str]]:
        """Return the ends of the images' paths, by their split."""
        found: dict[str, list[str]] = {}
        for record in self.file.all_records():
            if record.problem is None and record.values[self.column] not in (None, ""):
                value = None if self.split_column < 0 else record.values[self.split_column]
                split = self.split or split_of_value(value, self.file.columns[self.split_column])
                if split is not None:
                    found.setdefault(split, []).append(self.end_of(written_path(str(record.values[self.column]))))
        return found

    def texts(self) -> Iterator[str]:
        """Yield what its records call the images."""
        for record in self.file.all_records():
            if record.problem is None and record.values[self.column] not in (None, ""):
                yield written_path(str(record.values[self.column]))

    def begin_of(self, path: str) -> str:
        """Return the part of a path that is not compared."""
        parts = path.split("/")
        return "/".join(parts[: -self.num_parts])

    def end_of(self, path: str) -> str:
        """Return the part of a path that is compared."""
        return path_end(path, self.num_parts, has_ending=self.has_ending)


@dataclass(frozen=True)
class _Lists:
    """Lists as a key of a cache: equal if no file has changed."""

    key: tuple[Any, ...]
    lists: tuple[SplitList, ...] = field(compare=False)


@lru_cache(maxsize=2)
def _named_images(lists: _Lists) -> list[dict[str, NamedImages]]:
    """Return the images of each list by split, at eight bytes each; a process lists many parts of a source."""
    return [{split: NamedImages(ends) for split, ends in one.named().items()} for one in lists.lists]


@dataclass(frozen=True, slots=True)
class ListedSplits(WrappedSource):
    """A source whose splits come from lists.

    Attributes:
        lists: The lists.
        above: Path of the source's folder below SOURCE, which the lists' paths may start at.
        has_rest: Whether images that no list names are for training, because no list is.
    """

    lists: tuple[SplitList, ...]
    above: str
    has_rest: bool

    @property
    def reading(self) -> None:
        """See Source; lists that divide a part of the images are not a reading."""
        return

    @property
    def label_files(self) -> tuple[str, ...] | None:
        """See Source."""
        inner = self.inner.label_files
        return None if inner is None else (*inner, *(one.file.url for one in self.lists))

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return (*self.inner.used_files, *(UsedFile(one.file.path, "splits") for one in self.lists))

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return False

    def undivided(self) -> Source:
        """See Source."""
        return self

    def describe(self) -> str:
        """See Source."""
        names = []
        for one in self.lists:
            of = one.split or f"column {one.file.columns[one.split_column]!r}"
            names.append(f"{of} from {printable(one.file.path)}")
        rest = f"; all other images are for {_REST}" if self.has_rest else ""
        return f"{self.inner.describe()}; the splits: {', '.join(names)}{rest}"

    def list_inner(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        """See WrappedSource; the listings with splits, without images that no list names."""
        for listing in self.inner.list_part(part, batch_rows):
            table = listing.table()
            yield self._divided(listing, table) if len(table) else listing

    def _divided(self, listing: Listing, table: pa.Table) -> Listing:
        keys = [join(self.above, key) for key in table["key"].to_pylist()]
        splits = np.array(table["split"].to_pylist(), object)  # of the source, if it has some
        twice = np.zeros(len(keys), bool)
        key = tuple((one.file.url, one.stamp, one.column, one.split, one.num_parts) for one in self.lists)
        for one, named in zip(self.lists, _named_images(_Lists(key, self.lists)), strict=True):
            ends = [one.end_of(path) for path in keys]
            for split, images in named.items():
                is_in = images.contain(ends)
                twice |= is_in & (splits != None) & (splits != split)  # noqa: E711 - of each element
                splits[is_in] = split
        is_good = pc.is_null(table["reason"]).to_numpy(zero_copy_only=False)
        is_named = np.array([split is not None for split in splits.tolist()], bool)
        if self.has_rest:
            splits[~is_named & is_good] = _REST
            is_named |= is_good
        table = _with_column(table, "split", splits.tolist())
        if twice.any():
            message = "two lists, or a list and its folder, give it different splits; leave it in one"
            table = _rejected(table, twice & is_good, message)
        skipped = dict(listing.skipped)
        left_out = is_good & ~is_named
        if left_out.any():
            count_skipped(skipped, _UNNAMED, int(left_out.sum()))
        return replace(listing, rows=[], columns=table.filter(pa.array(~left_out)), skipped=skipped)


def _with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = table.column_names.index(name)
    field_ = table.schema.field(at)
    return table.set_column(at, field_, pa.array(values, field_.type))


def _rejected(table: pa.Table, bad: Any, message: str) -> pa.Table:
    mask = pa.array(bad)
    for name, value in (("split", None), ("label_name", None), ("reason", NO_SPLIT), ("message", message)):
        at = table.column_names.index(name)
        kept = pc.if_else(mask, pa.scalar(value, pa.string()), table[name].cast(pa.string()))
        table = table.set_column(at, table.schema.field(at), kept.cast(table.schema.field(at).type))
    return table
