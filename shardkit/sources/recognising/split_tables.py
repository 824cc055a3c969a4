"""One table for each split, read as one source: ``train/_classes.csv`` of Roboflow, or train.csv and test.csv."""

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from shardkit.errors import DataError
from shardkit.sources.context import Opening, subfolder
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.table_paths import root_of
from shardkit.sources.formats.tables.opening import open_table_file, read_prefix
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Column, Images, Labels, Listed, Origin, Reading
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.recognising.tables.layout import FoundTable, open_table_in, relative
from shardkit.sources.recognising.tables.places import parent_folder
from shardkit.sources.unlisted_images import NamedImages, SharedImages
from shardkit.sources.walking import file_or_folder, folders_in, join
from shardkit.storage import Folder

ROBOFLOW = "_classes.csv"
_ROBOFLOW_IMAGE = "filename"


@dataclass(frozen=True, slots=True)
class SplitTables:
    """Tables with the same columns, one for each split.

    Attributes:
        folder: The folder that keys start at.
        tables: Each table, and the split of its records; None for none.
    """

    folder: Folder
    tables: tuple[tuple[str | None, FoundTable], ...]

    @property
    def layout(self) -> str:
        """Name of the layout."""
        of = "each split" if any(split for split, _ in self.tables) else "each part"
        return f"{self.tables[0][1].layout} for {of}"

    def share_images(self, tree: Folder) -> bool:
        """Return whether an image is in several tables; reads all of them."""
        keys = []
        for _, table in self.tables:
            source = open_reading(Opening(tree), table.reading(tree), is_strict=False)
            above = relative(tree, table.placement.folder)
            keys.append(NamedImages(join(above, key) for key in source.driver.keys(source.folder)))
        return len(SharedImages(keys)) > 0

    def reading(self, tree: Folder) -> Reading:
        """Return how they are read, with paths below a folder that holds them."""
        readings = [table.reading(tree) for _, table in self.tables]
        first, root = readings[0], relative(tree, self.folder)
        origins = [cast("Column", cast("Labels", one.label).origin) for one in readings]
        files = tuple(one.files[0] for one in origins)
        places = [(one.images.root, origin) for one, origin in zip(readings, origins, strict=True)]
        bases = {origin.files[0]: join(_below(root, above), origin.base) for above, origin in places}
        base = ""
        if len({*bases.values()}) == 1:
            base, bases = next(iter(bases.values())), {}
        elif all(above == _below(root, posixpath.dirname(path)) for path, above in bases.items()):
            base, bases = ".", {}
        matches = {one.match for one in origins}
        match = matches.pop() if len(matches) == 1 else "end" if matches <= {"path", "end"} else None

        def together(one: Column) -> Column:
            return replace(one, files=files, match=match, base=base, bases=bases)

        label = replace(cast("Labels", first.label), origin=together(origins[0]))
        split = self._split(files, readings, together)
        group = None if first.group is None else together(cast("Column", first.group))
        features = {name: together(cast("Column", one)) for name, one in first.features.items()}
        include = tuple(
            f"/{join(_below(root, above), glob)}"
            for one in readings
            for glob in one.images.include
            for above in [one.images.root]
        )
        images = Images(root, include=include, unnamed="ignore")
        return Reading(images, label, split, group, features=features)

    def _split(
        self, files: Sequence[str], readings: Sequence[Reading], together: Callable[[Column], Column]
    ) -> Origin | None:
        """Return where splits come from: a column, of all tables or of some and the names of others; or the names."""
        named = {path: split for path, (split, _) in zip(files, self.tables, strict=True) if split}
        with_column = [i for i, one in enumerate(readings) if isinstance(one.split, Column)]
        if not with_column:
            return Listed(named) if named else None
        column = together(cast("Column", readings[with_column[0]].split))
        rest = {named.get(path) for i, path in enumerate(files) if i not in with_column}
        if not rest:
            return column
        some = tuple(files[i] for i in with_column)
        return replace(column, files=some, rest=rest.pop() if len(rest) == 1 else None)


def _below(root: str, path: str) -> str:
    return path[len(root) + 1 :] if root and f"{path}/".startswith(f"{root}/") else path


def open_split_tables(folder: Folder, paths: Sequence[tuple[str, str | None]], options: SourceOptions) -> SplitTables:
    """Open the tables of several splits."""
    tables = [open_table_in(folder, path, options) for path, _ in paths]
    separators = {one.columns.labels.separator for one in tables}
    if None in separators and len(separators) == 2:  # a table of few images may have the same labels in all rows
        [separator] = separators - {None}
        options = replace(options, label_separator=separator)
        tables = [open_table_in(folder, path, options) for path, _ in paths]
    for one in tables:
        if one.columns.schema != tables[0].columns.schema:
            msg = f"{one.file.url}: its columns are not those of {tables[0].file.url}; give each alone as SOURCE"
            raise DataError(msg)
    # Paths may begin with the name of the folder that the tables are in: CheXpert-v1.0-small/train/….
    roots = [root_of(one.placement.folder) for one in tables]
    start = root_of(folder)
    if any(not root.startswith(start) for root in roots):
        parent = parent_folder(folder)
        if parent is None or any(not root.startswith(root_of(parent)) for root in roots):
            msg = f"{tables[0].file.url}: its images are not below {folder.url}; give this table alone as SOURCE"
            raise DataError(msg)
        folder = parent
    splits = [split for _, split in paths]
    return SplitTables(folder, tuple(zip(splits, tables, strict=True)))


def open_roboflow_classes(folder: Folder, options: SourceOptions) -> SplitTables | None:
    """Open Roboflow's multi-label export: ``_classes.csv`` in each split folder, with a column of 0 and 1 a class.

    None if there is no such file.
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
    for _, table in source.tables:
        _refuse_other_values(table.file, options.label_columns)
    return source


def _refuse_other_values(file: TableFile, label_columns: Sequence[str]) -> None:
    """Refuse a table whose class columns hold more than 0 and 1: these values would become classes."""
    for record in read_prefix(file):
        for name, value in zip(file.columns, record.values, strict=True):
            if name in label_columns and str(value).strip() not in {"0", "1"}:
                msg = f"{file.url}: line {record.line} has {value!r} for the class {name!r}; it is 0 or 1: correct it"
                raise DataError(msg)
