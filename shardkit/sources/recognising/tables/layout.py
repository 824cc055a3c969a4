"""Find how a table of images is read: the roles of its columns, and where the images are."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import relative_path_problem
from shardkit.options.words import named
from shardkit.sources.engine.columns import Columns
from shardkit.sources.engine.described_images import describing_column
from shardkit.sources.engine.joined_names import FindImages, JoinedNames, join_names
from shardkit.sources.formats.tables.opening import open_table_file, read_prefix
from shardkit.sources.formats.tables.records import TableFile, enumerated
from shardkit.sources.listing import below
from shardkit.sources.name_index import UPLOAD_PREFIX, NameIndex, uploaded_name, without_link, written_path
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Column, Images, LabelKind, Labels, Reading
from shardkit.sources.recognising.tables.places import Placement, Places, is_file
from shardkit.sources.recognising.tables.roles import find_columns
from shardkit.sources.walking import join
from shardkit.storage import Folder, open_folder


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table of images, and how it is to be read.

    Attributes:
        file: The table.
        columns: The roles of its columns.
        placement: Where the images are.
        names: File next to the table with the names of classes that labels are numbers of; '' for none.
        unused_names: Why such a file is not used; '' for none.
    """

    file: TableFile
    columns: Columns
    placement: Placement
    names: str = ""
    unused_names: str = ""

    @property
    def layout(self) -> str:
        """Name of the layout."""
        return f"{LAYOUTS['table'].title} ({self.file.format_name})"

    @property
    def remark(self) -> str:
        """What the user should know about the places of images and the columns."""
        left_out = [repr(self.columns.names[i]) for i in self.columns.left_out]
        return (
            self.placement.remark
            + (f"; left out {enumerated(left_out)}" if left_out else "")
            + (f"; note: {self.unused_names}" * bool(self.unused_names))
        )

    def reading(self, tree: Folder) -> Reading:
        """Return how it is read, with paths below a folder that holds the table."""
        columns, labels = self.columns, self.columns.labels
        above = relative(tree, self.file.folder)
        file = join(above, self.file.path)
        of_label = self._column(labels.names, file)
        kinds: dict[str, LabelKind] = {"numbers": "number"}
        kind = kinds.get(labels.kind, cast("LabelKind", labels.kind))
        names = join(above, self.names)
        label = Labels(of_label, kind, labels.separator or "", labels.uncertain, names if self.names else "")

        def column(index: int | None) -> Column | None:
            return None if index is None else self._column((columns.names[index],), file)

        split = column(columns.discards if columns.split is None else columns.split)
        if split is not None and columns.split_numbers:
            split = replace(split, map=dict(columns.split_numbers))
        features = {columns.names[i]: self._column((columns.names[i],), file) for i, _ in columns.features}
        images = Images(relative(tree, self.placement.folder), unnamed="ignore")
        return Reading(images, label, split, column(columns.group), features=features)

    def _are_uploads(self) -> bool:
        """Return whether the names of images begin as those of uploaded files do, and the images' own names do not."""
        values = (record.values[self.columns.image] for record in read_prefix(self.file))
        names = [posixpath.basename(written_path(str(value))) for value in values if value not in (None, "")]
        are_like = bool(names) and all(map(uploaded_name, names))
        return are_like and not any(uploaded_name(path) for path in NameIndex(self.placement.folder).find_all(names[0]))

    def _column(self, names: tuple[str, ...], file: str) -> Column:
        placement = self.placement
        key: tuple[str, ...] = (self.columns.names[self.columns.image],)
        between = "/"
        if isinstance(self.file, JoinedNames):
            key, between = tuple(self.file.columns[i] for i in self.file.joined), self.file.separator
        strip = placement.strip
        if placement.match is None and self._are_uploads():
            strip += (f"~^{UPLOAD_PREFIX.pattern}",)
        return Column(names, (file,), key, between, placement.match, placement.base, strip=strip)


def with_tables(reading: Reading, files: tuple[str, ...], base: str) -> Reading:
    """Return a reading of one table for several, whose paths start at a folder."""

    def put(one: Any) -> Any:
        return replace(one, files=files, base=base) if isinstance(one, Column) else one

    label = reading.label and replace(reading.label, origin=put(reading.label.origin))
    features = {name: put(one) for name, one in reading.features.items()}
    return replace(reading, label=label, split=put(reading.split), group=put(reading.group), features=features)


def relative(tree: Folder, folder: Folder) -> str:
    """Return the path of a folder below another one; its URL if it is not below."""
    if folder.url == tree.url:
        return ""
    return below(tree, folder.url)


def open_table_in(folder: Folder, name: str, options: SourceOptions) -> FoundTable:
    """Decide how to read a table in a folder, which may be an archive, from its first 1,000 records.

    All records are read once to find the common parent of absolute paths, the types of further columns, and whether
    numbers are classes.
    """
    file = open_table_file(folder, name, options)
    prefix = read_prefix(file)
    if options.image_column is None or options.image_column not in file.columns:
        file = join_names(
            file,
            [record.values for record in prefix],
            _finder(folder if options.root is None else open_folder(options.root)),
        )
        if isinstance(file, JoinedNames):
            prefix = read_prefix(file)
            options = replace(options, image_column=file.columns[-1])
    places: dict[int, Placement | None] = {}

    found_by = Places(folder, name, options)

    def place(column: int, *, counting: bool = True) -> Placement | None:
        if column not in places:
            first = [text for record in prefix if (text := _path(record.values[column]))]
            places[column] = found_by.place(first, lambda: _paths(file, column), counting=counting) if first else None
        return places[column]

    columns = find_columns(file, prefix, options, file.all_records, place=place)
    placement = place(columns.image, counting=False)
    if options.image_column and placement is not None and not placement.files:
        placement = _described(file, columns.image, placement)
    if placement is None:
        column = file.columns[columns.image]
        msg = (
            f"{file.url}: column {column!r} holds no path in the first records; name another one with "
            f"{named('image_column')}"
        )
        raise DataError(msg)
    return FoundTable(file, columns, placement)


def _described(file: TableFile, column: int, placement: Placement) -> Placement:
    """Return where the images are whose names begin with the values of a column; the same if there are none."""
    if describing_column(file, placement.folder) != file.columns[column]:
        return placement
    remark = f"; each record describes the images whose names begin with its {file.columns[column]!r}"
    return replace(placement, match="start", remark=remark)


def _finder(folder: Folder) -> FindImages:
    """Return the function that finds the images of a name below a folder, which it lists when it is first called."""
    index = NameIndex(folder)

    def find(text: str) -> list[str]:
        path = written_path(text)
        return [path] if not relative_path_problem(path) and is_file(folder, path) else index.find_all(text)

    return find


def _path(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # an identifier such as 17 for 17.jpg
    return without_link(value) if isinstance(value, str) and value else None


def _paths(file: TableFile, column: int) -> Iterator[str]:
    for record in file.all_records(frozenset({column})):
        if record.problem is None and (path := _path(record.values[column])):
            yield path
