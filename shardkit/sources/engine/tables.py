"""Tables, whose records name the images: as what enumerates examples, or as values by key."""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.reject_reasons import NO_LABEL, NO_SPLIT
from shardkit.sources.columns import LINE, UNMEASURED
from shardkit.sources.engine.columns import Columns
from shardkit.sources.engine.drivers import Complete, Context, Driver
from shardkit.sources.engine.facts import LEFT_OUT, Fact, OfPath, Values, once
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.matching import ImageNames, Matching, Strip
from shardkit.sources.engine.paths import KeyBuilder, root_of
from shardkit.sources.engine.table_names import described_images, values_of
from shardkit.sources.formats.tables.records import TableFile, TablePart, in_order
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord, ListingRow, count_skipped
from shardkit.sources.name_index import name_key
from shardkit.sources.unlisted_images import NamedImages, SharedImages
from shardkit.sources.walking import is_image, parent_of
from shardkit.storage import Folder


class PiecePart(NamedTuple):
    """A part of a table."""

    file: int
    piece: TablePart


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that are read as one."""

    files: tuple[TableFile, ...]
    columns: Columns  # the roles of their columns; their indexes are those of the first table
    matching: Matching  # how they name images; a base of '.' is the folder of each table
    bases: Mapping[str, str]  # other bases, by the paths of tables
    strip: Strip
    root: str  # folder that keys start at, below the folder of the tables, or its URL
    images: ImagePaths
    map: Mapping[str, str | None]  # value of a label's text; other texts stand for themselves
    splits: tuple[str, ...] = ()  # the split of the records of each table; () if tables give none
    identity: str = ""  # text that tells these from other tables, and from what was read for an earlier opening

    def rows(self, folder: Folder, file: int, piece: TablePart, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the rows of a part of a table; a rejected one for a record that gives no example."""
        table = self.files[file]
        columns = self.columns
        row_of = columns.rows(table.name, self._key_of(folder, table))
        split = self.splits[file] if self.splits else None
        shared = self._shared(folder)
        described = self._described(folder, table) if self.matching.match == "start" else None
        for record in in_order(table.records(piece), table.columns, columns.names):
            if kind := columns.why_left_out(record):
                count_skipped(skipped, kind)
                continue
            row = row_of(record)
            if described is not None and row.reason is None:
                keys = described[name_key(row.key)]
                yield from (row._replace(key=key, split=split or row.split) for key in keys)
                if not keys:
                    count_skipped(skipped, "records that no image's name begins with")
                continue
            if self.map and row.reason is None:
                row = self._mapped(row)
            if shared is None or row.key not in shared:
                yield row if split is None else row._replace(split=split)
                continue
            others = [i for i, keys in enumerate(self._keys_of_tables(folder)) if row.key in keys]
            if file == others[0]:  # one row for all
                paths = " and ".join(printable(self.files[i].path) for i in others)
                why, nulls = f"it is in two splits: {paths}; leave it in one", (None,) * len(columns.fields)
                yield ListingRow(row.key, None, None, UNMEASURED, 0, NO_SPLIT, why, (row.extra[0], *nulls))

    def _mapped(self, row: ListingRow) -> ListingRow:
        """Return a row with what the map says in place of its classes or numbers; rejected if a number means none."""
        if row.label_name is not None:
            return row._replace(label_name=self.map.get(row.label_name, row.label_name))
        line, found, *more = row.extra
        if self.columns.labels.kind != "numbers":
            names = [name for one in found if (name := self.map.get(one, one)) is not None]
            return row._replace(extra=(line, [*dict.fromkeys(names)], *more))
        numbers = {float(text): value for text, value in self.map.items()}
        targets = [numbers.get(one, one) for one in found]
        if None in targets:
            message = f"{shown(found[targets.index(None)])} means no value, as the map of the label says"
            return row._replace(reason=NO_LABEL, message=message, extra=(line, None, *more))
        return row._replace(extra=(line, [float(one) for one in targets], *more))

    @property
    def are_lists(self) -> bool:
        return all(file.path.lower().endswith(TEXT_ENDINGS) for file in self.files)

    def _shared(self, folder: Folder) -> SharedImages | None:
        """Return the images that lists of several splits name; None for none. Tables are compared as they are found."""
        if len({*self.splits}) < 2 or not self.are_lists:
            return None
        shared = SharedImages(self._keys_of_tables(folder))
        return shared if len(shared) else None

    def _keys_of_tables(self, folder: Folder) -> Sequence[NamedImages]:
        sets = (NamedImages(self._keys_of(folder, one)) for one in self.files)
        return once(f"keys: {self.identity}", lambda: [*sets])  # type: ignore[no-any-return]

    def rows_of(self, folder: Folder, file: int) -> Iterator[ListingRow]:
        for piece in self.files[file].parts():
            yield from self.rows(folder, file, piece, {})

    def keys(self, folder: Folder) -> Iterator[str]:
        """Yield the keys of all records that name an image, whether they give it a label or not."""
        return itertools.chain.from_iterable(self._keys_of(folder, table) for table in self.files)

    def _keys_of(self, folder: Folder, table: TableFile) -> Iterator[str]:
        if self.matching.match == "start":
            yield from itertools.chain.from_iterable(self._described(folder, table).values())
            return
        column = self._image_in(table)
        key_of = self._key_of(folder, table)
        for record in table.all_records(frozenset({column})):
            if record.problem is None:
                with contextlib.suppress(BadRecord):
                    yield key_of(record.values[column])

    def _described(self, folder: Folder, table: TableFile) -> dict[str, list[str]]:
        return described_images(folder, values_of(table, self._image_in(table)))

    def _image_in(self, table: TableFile) -> int:
        return table.columns.index(self.columns.names[self.columns.image])

    def base_of(self, table: TableFile) -> str:
        """Return the folder that a table's paths start at, below that of the keys."""
        base = self.bases.get(table.path, self.matching.base)
        if base != ".":
            return base
        above = parent_of(table.path)
        return above[len(self.root) + 1 :] if self.root and f"{above}/".startswith(f"{self.root}/") else above

    def _key_of(self, folder: Folder, table: TableFile) -> Callable[[object], str]:
        base = self.base_of(table)
        start = root_of(table.folder) + (f"{parent_of(table.path)}/" if "/" in table.path else "")
        keys = KeyBuilder(root_of(folder), table_folder=start, prefixes=self.strip.prefixes, place=base)
        if (self.matching.is_plain and not self.strip.of_names) or self.matching.match == "start":
            return keys.key
        below = base if self.matching.match in {"name", "stem"} else ""
        identity = f"{self.identity} {below}"
        names = once(identity, lambda: ImageNames(self.images.paths(folder, below), self.matching))

        def key(value: object) -> str:
            text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
            found: str | None = None
            if isinstance(text, str) and text.strip():
                found = names.find(self.strip.of(text), base, where=table.url)
            return keys.key(value) if found is None else found  # the check reports that it is missing

        return key


@dataclass(frozen=True, slots=True)
class TableDriver(Driver):
    """Enumerates the records of tables."""

    tables: Tables
    is_whole: bool = False  # whether images in other folders are counted: if SOURCE is a folder that has the images

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (LINE, *self.tables.columns.fields)

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.tables.files)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Driver; names of a Hugging Face ClassLabel column, or in the file that names numbers."""
        return tuple(filter(None, self.tables.columns.labels.class_names)) or None

    def describe(self) -> str:
        names = " and ".join(printable(file.path) for file in self.tables.files)
        lines = f"the lines of {names}: " * self.tables.are_lists
        return lines + self.tables.files[0].remark + self.tables.columns.describe()

    def parts(self, folder: Folder) -> list[PiecePart]:
        return [PiecePart(i, piece) for i, file in enumerate(self.tables.files) for piece in file.parts()]

    def divided(self, part: PiecePart) -> Sequence[PiecePart]:
        if not isinstance(part.piece, int):
            return [part]
        return [PiecePart(part.file, piece) for piece in self.tables.files[part.file].divided(part.piece)]

    def rows(self, context: Context, part: PiecePart) -> Iterator[ListingRow]:
        for row in self.tables.rows(context.folder, part.file, part.piece, context.skipped):
            if row.reason is not None:
                yield row
                continue
            try:
                yield context.complete(row)
            except BadRecord as error:
                line = f"{self.tables.files[part.file].name}, line {row.extra[0]}: " * (error.reason != LEFT_OUT)
                nulls = (None,) * (len(self.fields) - 1)
                yield row._replace(
                    label_name=None, reason=error.reason, message=f"{line}{error}", extra=(row.extra[0], *nulls)
                )

    def keys(self, folder: Folder) -> Iterator[str]:
        return self.tables.keys(folder)


@dataclass(frozen=True, slots=True)
class OfTables:
    """Values of columns by key; all are kept in memory, some 300 bytes for each image."""

    tables: Tables
    what: str = field(default="label")  # label, split, group or feature
    rest: OfPath | None = None  # where the value of the images is that no record names; None: they have none

    def values(self, folder: Folder) -> Values:
        found: dict[str, Any] = once(f"{self.what}: {self.tables.identity}", lambda: self._read(folder))

        rest = self.rest.values(folder) if self.rest is not None else lambda _: None

        def value(key: str) -> Any:
            one = found[key] if key in found else rest(key)
            if isinstance(one, BadRecord):
                raise one
            return one

        return value

    def _read(self, folder: Folder) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for row in itertools.chain.from_iterable(self.tables.rows_of(folder, i) for i in range(len(self.tables.files))):
            value = self._of(row)
            if row.key in found and found[row.key] != value and not isinstance(value, BadRecord):
                names = " and ".join(printable(one.name) for one in self.tables.files)
                msg = (
                    f"{names}: {shown(row.key)} has two values, {shown(found[row.key])} and {shown(value)}; correct "
                    "one, or remove it"
                )
                raise DataError(msg)
            found.setdefault(row.key, value)
        return found

    def _of(self, row: ListingRow) -> Any:
        if row.reason is not None:
            return BadRecord(row.reason, row.message or "")
        if self.what == "split":
            return row.split
        if self.what == "label" and self.tables.columns.labels.field is None:
            return row.label_name
        return tuple(row.extra[1:])


def tables_of_classes(facts: Iterable[Fact]) -> list[Tables]:
    """Return the tables that give the classes of images in folders."""
    return [one.source.tables for one in facts if one.column == "label_name" and isinstance(one.source, OfTables)]


def records_without_image(folder: Folder, of_classes: Iterable[Tables], complete: Complete) -> Iterator[ListingRow]:
    """Yield the rows of the records of tables that give no image its class, as those of ImageNet: they are rejected."""
    for tables in of_classes:
        for number, table in enumerate(tables.files):
            images = NamedImages(tables.images.paths(folder, tables.base_of(table)))
            for row in tables.rows_of(folder, number):
                if row.reason is not None and not is_image(row.key):
                    yield row._replace(extra=())
                elif row.key not in images:
                    yield _checked(row.key, complete)


def _checked(key: str, complete: Complete) -> ListingRow:
    """Return the row of an image that is not there, which the check finds."""
    row = ListingRow(key, None, None, UNMEASURED, 0)
    try:
        return complete(row)
    except BadRecord as error:
        return row._replace(reason=error.reason, message=str(error))
