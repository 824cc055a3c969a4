"""Open a folder that no layout recognises by its files: a table beside images, class folders, or a folder around them.

Each folder around the source is opened like SOURCE itself, so dataset/coco/annotations/ is found as well as
dataset/flowers/rose/.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from shardkit.errors import CallError, DataError
from shardkit.option_values import Layout
from shardkit.sources.commands import Command, refusal
from shardkit.sources.folders.class_tree import FlatFolders, Wrapper, read_tree
from shardkit.sources.folders.flat_folders import open_flat_folders
from shardkit.sources.folders.tables_beside import TableBeside, TablesBeside, are_classes, look_at_tables
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.subfolders import is_archive, subfolder
from shardkit.sources.tables.layout import open_table_in
from shardkit.sources.tables.split_tables import open_roboflow_classes, open_split_tables
from shardkit.sources.walking import folders_in, join
from shardkit.sources.wrapped import NotedSource
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class Recognised:
    """A folder that a layout recognises.

    Attributes:
        folder: The folder.
        excluded: Path below it that is not listed; None for none.
        layout: The layout.
    """

    folder: Folder
    excluded: str | None
    layout: Layout


def open_unmarked_folder(
    folder: Folder,
    excluded: str | None,
    url: str,
    options: SourceOptions,
    recognise: Callable[[Folder], Layout | None],
) -> Source | Recognised:
    """Open a folder whose layout the user does not name, or find the folder in it that a layout recognises.

    Args:
        folder: The source.
        excluded: Path below it that is not listed; None for none.
        url: SOURCE in commands.
        options: Options of the source.
        recognise: Function that returns the layout that recognises a folder by its files; None for none.

    Raises:
        CallError: The folder can be read in several ways; the message has the commands.
        DataError: Nothing that shardkit reads is in it.
    """
    path = ""
    while True:
        if (layout := recognise(folder)) is not None:
            return Recognised(folder, excluded, layout)
        here = url if is_archive(folder) else join(url.rstrip("/"), path)
        if tables := open_roboflow_classes(folder, options):
            return tables
        beside = look_at_tables(folder, excluded)
        if any(not table.repeats_folders for table in beside.naming):
            return _open_tables(folder, beside, options, here)
        found = read_tree(folder, excluded, here)
        if isinstance(found, Wrapper):
            path = join(path, found.name)
            folder, excluded = subfolder(folder, found.name), _below(excluded, found.name)
            continue
        if isinstance(found, FlatFolders):
            source: Source = open_flat_folders(folder, found, excluded, here, url)
        else:
            source = found
        return NotedSource(source.folder, source, beside.remark, folder) if beside.remark else source


def open_only_table(folder: Folder, excluded: str | None, url: str, options: SourceOptions) -> Source:
    """Open the table in a folder or archive, or in the only folder in it, whatever the folders may mean.

    Raises:
        CallError: There are several tables; the message has the commands.
        DataError: There is none.
    """
    while not (tables := look_at_tables(folder, excluded)).naming:
        inner = folders_in(folder)
        if len(inner) != 1:
            msg = f"{folder.url}: there is no table in it that names images below it; give the table's file as SOURCE"
            raise DataError(msg)
        folder, excluded = subfolder(folder, inner[0]), _below(excluded, inner[0])
    if len(tables.naming) > 1:
        raise _refuse_tables(tables, url, in_archive=is_archive(folder))
    return _open_table(folder, tables, tables.naming[0], options)


def _open_tables(folder: Folder, beside: TablesBeside, options: SourceOptions, source: str) -> Source:
    """Open the tables that are the source.

    Raises:
        CallError: Several tables, or a table and the folders, may be it.
    """
    if len(beside.naming) == 1 and not are_classes(folder, beside.naming[0]):
        return _open_table(folder, beside, beside.naming[0], options)
    if len(beside.of_splits) == len(beside.naming):
        if options.image_column is None:
            options = replace(options, image_column=beside.naming[0].image_column)
        source_of = open_split_tables(folder, beside.of_splits, options)
        return _noted(source_of, folder, beside, "that no table names")
    raise _refuse_tables(beside, source, in_archive=is_archive(folder))


def _open_table(folder: Folder, beside: TablesBeside, table: TableBeside, options: SourceOptions) -> Source:
    if options.image_column is None:
        options = replace(options, image_column=table.image_column)
    if not options.label_columns and len(table.others) == 1:
        options = replace(options, label_columns=tuple(table.others))
    return _noted(open_table_in(folder, table.name, options), folder, beside, f"that {table.name} does not name")


def _refuse_tables(beside: TablesBeside, source: str, *, in_archive: bool) -> CallError:
    commands = []
    if beside.of_splits:
        splits = {name for name, _ in beside.of_splits}
        ignored = tuple(
            word for one in beside.naming if one.name not in splits for word in ("--ignore", f"/{one.name}")
        )
        commands.append(Command(source, ignored, f"the splits are in {' and '.join(sorted(splits))}"))
    for table in beside.naming:
        meaning = f"the labels are in {table.name}"
        if in_archive:  # a table in an archive cannot be SOURCE
            others = (word for one in beside.naming if one is not table for word in ("--ignore", f"/{one.name}"))
            commands.append(Command(source, ("--layout", "table", *others), meaning))
        else:
            commands.append(Command(join(source, table.name), (), meaning))
    if any(table.image_folders - {""} for table in beside.naming):
        commands.append(Command(source, ("--layout", "class-folders"), "each folder is a class"))
    names = " and ".join(one.name for one in beside.naming)
    if len(beside.naming) == 1:
        return refusal(f"{source}: {names} names the images, and the folders' names may be classes", commands)
    return refusal(f"{source}: {names} all name images", commands)


def _noted(source: Source, folder: Folder, beside: TablesBeside, why: str) -> Source:
    used = frozenset[str]().union(*(one.image_folders for one in beside.naming))
    unused = () if "" in used else tuple(name for name in folders_in(folder) if name not in used)
    return NotedSource(source.folder, source, beside.remark, folder, unused, why)


def _below(excluded: str | None, name: str) -> str | None:
    if excluded is None or not excluded.startswith(f"{name}/"):
        return None
    return excluded[len(name) + 1 :]
