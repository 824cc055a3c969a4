"""Find how a table of images is read: the roles of its columns, and where the images are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import relative_path_problem
from shardkit.options.words import named
from shardkit.sources.engine.columns import Columns
from shardkit.sources.engine.table_names import FindImages, JoinedNames, described_images, join_names, values_of
from shardkit.sources.formats.tables.json_files import JsonTable
from shardkit.sources.formats.tables.opening import open_table_file, read_prefix
from shardkit.sources.formats.tables.parquet_files import ParquetFile
from shardkit.sources.formats.tables.records import TableFile, enumerated, records_of
from shardkit.sources.listing import below
from shardkit.sources.name_index import NameIndex, without_link, written_path
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Column, Images, LabelKind, Labels, Listed, Reading
from shardkit.sources.recognising.claims.image_names import is_file as file_exists
from shardkit.sources.recognising.tables.places import Placement, Places, names_near
from shardkit.sources.recognising.tables.roles import find_columns
from shardkit.sources.walking import join, parent_of
from shardkit.storage import Folder, open_folder


@dataclass(frozen=True, slots=True)
class FoundTables:
    """Tables with the same columns for different images, and how they are read as one."""

    files: tuple[TableFile, ...]
    columns: Columns  # the roles of the columns of the first one
    placements: tuple[Placement, ...]  # where the images of each are
    splits: tuple[str | None, ...] = ()  # the split of the images of each; None for none
    names: str = ""  # file next to them with the names of classes that labels are numbers of; '' for none
    unused_names: str = ""  # why such a file is not used; '' for none

    @property
    def layout(self) -> str:
        """Name of the layout."""
        of = " for each split" if any(self.splits) else " for each part"
        return f"{LAYOUTS['table'].title} ({self.files[0].format_name}){of * (len(self.files) > 1)}"

    @property
    def remark(self) -> str:
        """What the user should know about the places of images and the columns."""
        left_out = [repr(self.columns.names[i]) for i in self.columns.left_out]
        return (
            "".join(dict.fromkeys(one.remark for one in self.placements))
            + (f"; left out {enumerated(left_out)}" if left_out else "")
            + (f"; note: {self.unused_names}" * bool(self.unused_names))
        )

    def reading(self, tree: Folder) -> Reading:
        """Return how they are read, with paths below a folder that holds them."""
        columns, labels = self.columns, self.columns.labels
        above = relative(tree, self.files[0].folder)
        origin = self._origin(above)
        kinds: dict[str, LabelKind] = {"numbers": "number"}
        kind = kinds.get(labels.kind, cast("LabelKind", labels.kind))
        names = join(above, self.names) if self.names else ""
        label = Labels(replace(origin, column=labels.names), kind, labels.separator or "", labels.uncertain, names)

        def column(index: int | None) -> Column | None:
            return None if index is None else replace(origin, column=(columns.names[index],))

        of_column = column(columns.discards if columns.split is None else columns.split)
        if of_column is not None and columns.split_numbers:
            of_column = replace(of_column, map=dict(columns.split_numbers))
        named_ = {path: split for path, split in zip(origin.files, self.splits, strict=False) if split}
        split = of_column or (Listed(named_) if named_ else None)
        features = {columns.names[i]: replace(origin, column=(columns.names[i],)) for i, _ in columns.features}
        images = Images(relative(tree, self.placements[0].folder), unnamed="ignore")
        return Reading(images, label, split, column(columns.group), features=features)

    def _origin(self, above: str) -> Column:
        """Return where all facts come from, without a column."""
        first, places = self.files[0], self.placements
        key: tuple[str, ...] = (self.columns.names[self.columns.image],)
        between = "/"
        if isinstance(first, JoinedNames):
            key, between = tuple(first.columns[i] for i in first.joined), first.separator
        matches = {one.match for one in places}
        match = matches.pop() if len(matches) == 1 else None
        strip = tuple(dict.fromkeys(text for one in places for text in one.strip))
        files = tuple(join(above, file.path) for file in self.files)
        base, bases = places[0].base, {path: one.base for path, one in zip(files, places, strict=True)}
        if len({*bases.values()}) == 1:
            bases = {}
        elif all(one.base == parent_of(file.path) for file, one in zip(self.files, places, strict=True)):
            base, bases = ".", {}
        return Column((), files, key, between, match, "" if bases else base, bases, strip)


def relative(tree: Folder, folder: Folder) -> str:
    """Return the path of a folder below another one; its URL if it is not below."""
    if folder.url == tree.url:
        return ""
    return below(tree, folder.url)


def open_tables_in(
    folder: Folder,
    paths: Sequence[str],
    options: SourceOptions,
    *,
    splits: Sequence[str | None] = (),
    source: str | None = None,
    is_file: bool = False,
) -> FoundTables:
    """Decide how to read tables in a folder, which may be an archive, from the first 1,000 records of each.

    If the only table is SOURCE itself (`is_file`), images are also searched beside its folder.

    All records are read once to find the common parent of absolute paths, the types of further columns, and whether
    numbers are classes.
    """
    files = _with_equal_columns([open_table_file(folder, path, options) for path in paths])
    first, prefixes = files[0], [*map(read_prefix, files)]
    if len(files) == 1 and (options.image_column or "") not in first.columns:
        found_in = folder if options.root is None else open_folder(options.root)
        first = join_names(first, [record.values for record in prefixes[0]], _finder(found_in))
        if isinstance(first, JoinedNames):
            files, prefixes = (first,), [read_prefix(first)]
            options = replace(options, image_column=first.columns[-1])
    # The first records of each table, with their values in the order of the first one's columns.
    orders = [[file.columns.index(name) for name in first.columns] for file in files]
    pairs = zip(orders, prefixes, strict=True)
    prefix = [one._replace(values=[one.values[i] for i in order]) for order, some in pairs for one in some]
    read_all = partial(records_of, files)
    near = partial(names_near, folder, options, is_file=is_file)
    columns = find_columns(first, prefix, options, read_all, near=near, source=source)
    places: list[Placement] = []
    for file, some in zip(files, prefixes, strict=True):
        column = first.columns[columns.image]
        at = file.columns.index(column)
        texts = [text for record in some if (text := _path(record.values[at]))]
        if not texts:
            msg = f"{file.url}: column {column!r} holds no path in the first records; name another one with "
            raise DataError(f"{msg}{named('image_column')}")
        places.append(Places(folder, file.path, options, is_file).place(texts, lambda: _paths(files, columns.image)))
        if places[-1].folder.url != places[0].folder.url:
            msg = f"{file.url}: its images are not below {places[0].folder.url}, like those of {first.url}; "
            raise DataError(f"{msg}give this table alone as SOURCE")
    if options.image_column and len(files) == 1 and not places[0].is_found:
        places = [_described(first, columns.image, places[0])]
    return FoundTables(files, columns, tuple(places), tuple(splits))


def _with_equal_columns(files: list[TableFile]) -> tuple[TableFile, ...]:
    first = files[0]
    if isinstance(first, JsonTable):  # an object may omit a column
        union = tuple(dict.fromkeys(name for file in files for name in file.columns))
        return tuple(replace(file, columns=union) for file in files)
    for file in files[1:]:
        if sorted(file.columns) != sorted(first.columns) or _types(file) != _types(first):
            msg = f"{file.url}: its columns are not those of {first.url}, of the same names and types"
            raise DataError(msg)
    return tuple(files)


def _types(file: TableFile) -> object:
    """Return the types and class names of a file's columns, if the file defines them."""
    if not isinstance(file, ParquetFile):
        return None
    classes = {file.columns[i]: names for i, names in file.numbered}
    return dict(zip(file.columns, file.arrow_types, strict=True)), classes


def _described(file: TableFile, column: int, placement: Placement) -> Placement:
    """Return where the images are whose names begin with the values of a column; the same if there are none."""
    if not any(described_images(placement.folder, values_of(file, column)).values()):
        return placement
    remark = f"; each record describes the images whose names begin with its {file.columns[column]!r}"
    return replace(placement, match="start", remark=remark)


def _finder(folder: Folder) -> FindImages:
    """Return the function that finds the images of a name below a folder, which it lists when it is first called."""
    index = NameIndex.of_folder(folder)

    def find(text: str) -> list[str]:
        path = written_path(text)
        return [path] if not relative_path_problem(path) and file_exists(folder, path) else index.find_all(text)

    return find


def _path(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # an identifier such as 17 for 17.jpg
    return without_link(value) if isinstance(value, str) and value else None


def _paths(files: Sequence[TableFile], column: int) -> Iterator[str]:
    for record in records_of(files, frozenset({column})):
        if record.problem is None and (path := _path(record.values[column])):
            yield path
