"""Tables of boxes, one row per box, or one row without coordinates for an image without boxes: what enumerates images.

All rows of an image are one example, in the table's order; they need not be next to each other. A table of Open Images
names many more images than people download: those that are not there are counted as skipped, not rejected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.columns import UNMEASURED
from shardkit.sources.engine.drivers import Complete
from shardkit.sources.engine.paths import PathRule
from shardkit.sources.engine.records import RecordDriver
from shardkit.sources.formats.box_tables.columns import BoxColumns, BoxForm
from shardkit.sources.formats.box_tables.rows import Gathered, Slice
from shardkit.sources.formats.class_names import names_by_number
from shardkit.sources.formats.format import ONE_CLASS, encodable
from shardkit.sources.formats.tables.csv_files import split_records
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.listing import BadRecord, ListingRow, rejected_row
from shardkit.sources.name_index import NameIndex
from shardkit.sources.walking import children, file_or_folder, join
from shardkit.storage import Entry, Folder

_SLICE_BYTES = 128 << 20  # 128 MiB of a table: about two million boxes, which take 300 MB while they are listed
_MAX_SLICES = 64
_TABLES_SHOWN = 4  # that `describe` names


@dataclass(frozen=True, slots=True)
class BoxTable:
    """A table of boxes."""

    file: TableFile
    paths: PathRule
    split: str | None  # the split of all its images, unless it has a column of splits; None if nothing gives it
    columns: BoxColumns
    is_fraction: bool  # whether boxes are fractions of the image's sides
    class_file: str = ""  # path of the file with the names of its classes' codes; '' if there is none
    one_class: str = ONE_CLASS  # the class of every box of a table without classes

    def describe(self) -> str:
        unit = "fractions of the image's sides" if self.is_fraction else "pixels"
        label = self.columns.label
        of_class = (
            f", all of the class {printable(self.one_class)!r}"
            if label is None
            else f", classes of {self.file.columns[label]!r}"
        )
        if self.columns.is_open_images:
            named_by = self.class_file or "their codes, without class-descriptions-boxable.csv"
            of_class = f", classes named by {named_by}"
        as_size = ", as x, y, width, height" if self.columns.form is BoxForm.LIST_OF_SIZE else ""
        return f"{self.file.remark}boxes in {unit}{as_size}{of_class}{self.paths.remark()}"

    def slices(self) -> list[Slice]:
        entry = file_or_folder(self.file.folder, self.file.path)
        num = min(_MAX_SLICES, (entry.num_bytes if entry else 0) // _SLICE_BYTES + 1)
        return [Slice(index, num) for index in range(num)]


@dataclass(frozen=True, slots=True)
class TableSlice:
    """A slice of the images of a table, which its number in the source tells."""

    table: int
    images: Slice


@dataclass(frozen=True, slots=True)
class BoxTableDriver(RecordDriver):
    """Enumerates the images that tables of boxes name."""

    tables: tuple[BoxTable, ...]

    why_unnamed = "that no table names"

    @property
    def object_fields(self) -> Sequence[pa.Field]:
        return [pa.field(name, pa.int64()) for name, _ in self.tables[0].columns.flags]  # 1, 0, -1 for unknown

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(table.file.path for table in self.tables)

    def describe(self) -> str:
        read = []
        for table in self.tables[:_TABLES_SHOWN]:
            split = f" as {table.split}" if table.split else ""
            place = f"{table.paths.place or '.'}/"
            read.append(f"{printable(table.file.path)} with the images in {place}{split}: {table.describe()}")
        if len(self.tables) > _TABLES_SHOWN:
            read.append(f"{len(self.tables) - _TABLES_SHOWN:,} tables more")
        return "; ".join(read)

    def parts(self, folder: Folder) -> Sequence[TableSlice]:
        return [TableSlice(i, some) for i, table in enumerate(self.tables) for some in table.slices()]

    def rows(
        self, folder: Folder, part: TableSlice, complete: Complete, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        table = self.tables[part.table]
        present = _present(folder, table, part.images) if table.columns.is_open_images else None
        names = read_class_names(table.file.folder, table.class_file) if table.class_file else {}
        if table.columns.label is None:
            names = {ONE_CLASS: table.one_class}
        gathered = Gathered(
            table.columns, table.file.name, part.images, table.is_fraction, names, present, skipped=skipped
        )
        gathered.read(table.file.all_records(), _Keys(table, folder).key)
        for record in gathered.records():
            entry = (present or {}).get(record.image)
            size = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
            row = ListingRow(
                record.image, table.split if table.columns.split is None else record.split or None, None, *size
            )
            yield from self.record_rows(row, record, table.file.name, table.file.path, complete, skipped)
        yield from (rejected_row(problem, table.split) for problem in gathered.problems)

    def keys(self, folder: Folder) -> Iterator[str]:
        for table in self.tables:
            key_of, last, image = _Keys(table, folder).key, "", table.columns.image
            for record in table.file.all_records(frozenset({image})):
                if record.problem is None:
                    try:
                        key = key_of(record.values[image])
                    except BadRecord:
                        continue
                    if key != last:
                        yield key
                    last = key

    def unnamed_row(self, key: str, entry: Entry, skipped: dict[str, int], which: str = "") -> Iterator[ListingRow]:
        split = self.tables[0].split if len(self.tables) == 1 else None
        what = "no table names the image; add a record for it"
        yield from self.unannotated(ListingRow(key, split, None, 0, 0), entry, what, skipped)


def _present(folder: Folder, table: BoxTable, images: Slice) -> dict[str, Entry]:
    """Return the files of a slice in the folder that the table's images are in, by key."""
    place = table.paths.place
    entries = ((join(place, one.name), one) for one in children(folder, place) if not one.is_folder)
    return {key: entry for key, entry in entries if images.has_key(key)}


class _Keys:
    """Keys of a table's images; rows of one image usually follow each other."""

    def __init__(self, table: BoxTable, folder: Folder) -> None:
        self._paths = NameIndex(folder) if table.paths.by_name else table.paths
        self._last: tuple[object, str] | None = None

    def key(self, text: object) -> str:
        if self._last is None or self._last[0] != text:
            self._last = text, self._paths.key(text)
        return self._last[1]


def read_class_names(folder: Folder, path: str) -> dict[str, str]:
    """Return the names of classes by their number or code: ``3,cat``, or ``/m/011k07,Tortoise``."""
    names, first = names_by_number(folder, path)
    if names and first is not None:
        return {str(number): encodable(name) for number, name in enumerate(names, first) if name}
    records = split_records(read_lines(folder, path), ",", spaced=False)
    good = [one.values for one in records if one.problem is None and len(one.values) >= 2]
    if not good:
        what = "has no number before each name" if names else "names no classes"
        msg = f"{folder.url}/{path} {what}; write the number and the name of each in a line, such as 0,cat"
        raise DataError(msg)
    return {str(code).strip(): encodable(name.strip()) for code, name, *_ in good}
