"""One table for each split, read as one source: ``train/_classes.csv`` of Roboflow, or train.csv and test.csv."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import DataError
from shardkit.naming import first_of, printable
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.columns import PATH
from shardkit.sources.context import subfolder
from shardkit.sources.folders.split_folders import splits_of
from shardkit.sources.listing import Listing, Source, batched
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.formats.records import TableFile, TablePart
from shardkit.sources.tables.images.nearby import parent_folder
from shardkit.sources.tables.layout import Table, count_others, open_table_file, open_table_in
from shardkit.sources.tables.paths import root_of
from shardkit.sources.tables.roles import read_prefix
from shardkit.sources.unlisted_images import NamedImages, SharedImages, UnlistedImages
from shardkit.sources.walking import file_or_folder, folders_in, join
from shardkit.storage import Folder

ROBOFLOW = "_classes.csv"
_ROBOFLOW_IMAGE = "filename"
_DESCRIBED = 8  # tables


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The table of one split.

    Attributes:
        split: The split of its records, unless the table has a column of splits; None for none.
        above: Path of the folder that its keys start at, below the source's folder.
        table: The table.
    """

    split: str | None
    above: str
    table: Table


@dataclass(frozen=True, slots=True)
class SplitTables(Source):
    """Tables with the same columns, one for each split.

    Attributes:
        folder: The folder that keys start at.
        tables: The tables.
    """

    folder: Folder
    tables: tuple[SplitTable, ...]

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return self.tables[0].table.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source."""
        return self.tables[0].table.classes

    @property
    def layout(self) -> str:
        """See Source."""
        of = "each split" if any(one.split for one in self.tables) else "each part"
        return f"{self.tables[0].table.layout} for {of}"

    @property
    def label_files(self) -> tuple[str, ...]:
        """See Source."""
        return tuple(url for one in self.tables for url in one.table.label_files)

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return tuple(dict.fromkeys(file for one in self.tables for file in one.table.used_files))

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return all(one.split is None and one.table.takes_splits for one in self.tables)

    @property
    def share_images(self) -> bool:
        """Whether an image is in several tables; reads all of them."""
        keys = [NamedImages(f"{one.above}/{key}" for key in one.table.all_keys()) for one in self.tables]
        return len(SharedImages(keys)) > 0

    def describe(self) -> str:
        """See Source."""
        found = [f"{join(one.above, one.table.file.name)}{f' as {one.split}' * bool(one.split)}" for one in self.tables]
        names = first_of(found, _DESCRIBED)
        return (
            f"{self.folder.url}: read as {self.layout} ({printable(names)}): {self.tables[0].table.columns.describe()}"
        )

    def parts(self) -> list[tuple[int, int | UnlistedImages]]:
        """Return the parts of each table, with the number of the table."""
        # The first table of a folder counts for the others, too.
        first = {one.above: i for i, one in reversed([*enumerate(self.tables)])}
        return [
            (i, part)
            for i, one in enumerate(self.tables)
            for part in one.table.parts()
            if not isinstance(part, UnlistedImages) or first[one.above] == i
        ]

    def divided(self, part: tuple[int, TablePart]) -> Sequence[tuple[int, TablePart | UnlistedImages]]:
        """See Source."""
        number, of_table = part
        return [(number, piece) for piece in self.tables[number].table.divided(of_table)]

    def list_part(self, part: tuple[int, TablePart], batch_rows: int) -> Iterator[Listing]:
        """See Source; records in their file's order."""
        one = self.tables[part[0]]
        if isinstance(part[1], UnlistedImages):
            together = [other.table for other in self.tables if other.above == one.above]
            yield from batched(self.schema, (), batch_rows, count_others(together))
            return
        for listing in one.table.list_part(part[1], batch_rows):
            yield replace(listing, rows=[], columns=_placed(listing.table(), one))


def _placed(rows: pa.Table, one: SplitTable) -> pa.Table:
    """Return the rows of one table with keys that start at the source's folder, and with their split."""
    if one.above:
        for name in {"key", PATH.name} & set(rows.column_names):
            at = rows.column_names.index(name)
            rows = rows.set_column(at, rows.schema.field(at), pc.binary_join_element_wise(one.above, rows[name], "/"))
    if one.table.columns.split is None and one.split is not None:
        at = rows.column_names.index("split")
        rows = rows.set_column(at, rows.schema.field(at), pa.array([one.split] * len(rows), pa.string()))
    return rows


def open_split_tables(
    folder: Folder, paths: Sequence[tuple[str, str | None]], options: SourceOptions, of_others: Collection[str] = ()
) -> SplitTables:
    """Open the tables of several splits.

    Args:
        folder: The source.
        paths: Each table's path and split; None for none.
        options: Options of the source.
        of_others: Paths of tables whose images are not below the tables' folders.

    Raises:
        DataError: A table cannot be read, has other columns than the first, or names images outside the source.
    """
    tables = [SplitTable(split, "", _open(folder, path, options, of_others)) for path, split in paths]
    separators = {one.table.columns.labels.separator for one in tables}
    if None in separators and len(separators) == 2:  # a table of few images may have the same labels in all rows
        [separator] = separators - {None}
        options = replace(options, label_separator=separator)
        tables = [SplitTable(split, "", _open(folder, path, options, of_others)) for path, split in paths]
    for one in tables:
        if one.table.schema != tables[0].table.schema:
            first = tables[0].table.file.url
            msg = f"{one.table.file.url}: its columns are not those of {first}; give each alone as SOURCE"
            raise DataError(msg)
    # Paths may begin with the name of the folder that the tables are in: CheXpert-v1.0-small/train/….
    roots = [root_of(one.table.folder) for one in tables]
    start = root_of(folder)
    if any(not root.startswith(start) for root in roots):
        parent = parent_folder(folder)
        if parent is None or any(not root.startswith(root_of(parent)) for root in roots):
            msg = f"{tables[0].table.file.url}: its images are not below {folder.url}; give this table alone as SOURCE"
            raise DataError(msg)
        folder, start = parent, root_of(parent)
    placed = [replace(one, above=root[len(start) :].rstrip("/")) for one, root in zip(tables, roots, strict=True)]
    return SplitTables(folder, tuple(placed))


def _open(folder: Folder, path: str, options: SourceOptions, of_others: Collection[str]) -> Table:
    above, _, name = ("", "", path) if path in of_others else path.rpartition("/")
    return open_table_in(subfolder(folder, above) if above else folder, name, options)


def open_roboflow_classes(folder: Folder, options: SourceOptions) -> SplitTables | None:
    """Open Roboflow's multi-label export: ``_classes.csv`` in each split folder, with a column of 0 and 1 a class.

    Returns:
        The source; None if there is no such file.

    Raises:
        DataError: The tables do not fit together.
    """
    splits = splits_of(folders_in(folder))
    paths = [(join(name, ROBOFLOW), split) for name, split in splits.items()]
    paths = [(path, split) for path, split in paths if file_or_folder(folder, path) is not None]
    if not paths:
        return None
    above, _, name = paths[0][0].rpartition("/")
    columns = open_table_file(subfolder(folder, above), name, options).columns
    if _ROBOFLOW_IMAGE in columns and not options.label_columns:
        labels = tuple(name for name in columns if name not in {_ROBOFLOW_IMAGE, ""})
        options = replace(options, image_column=_ROBOFLOW_IMAGE, label_columns=labels)
    source = open_split_tables(folder, paths, options)
    for one in source.tables:
        _refuse_other_values(one.table.file, options.label_columns)
    return source


def _refuse_other_values(file: TableFile, label_columns: Sequence[str]) -> None:
    """Refuse a table whose class columns hold more than 0 and 1: these values would become classes.

    Raises:
        DataError: One does, in the first records.
    """
    for record in read_prefix(file):
        for name, value in zip(file.columns, record.values, strict=True):
            if name in label_columns and str(value).strip() not in {"0", "1"}:
                msg = f"{file.url}: line {record.line} has {value!r} for the class {name!r}; it is 0 or 1: correct it"
                raise DataError(msg)
