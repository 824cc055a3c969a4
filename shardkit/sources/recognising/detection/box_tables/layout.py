"""Tables of boxes: one row per box, or one row without coordinates for an image without boxes.

All rows of an image are one example, in the table's order; they need not be next to each other. Boxes are in pixels or
in fractions of the image's sides, which the header or the first 1,000 rows tell. Columns of the image's width and
height are compared with the image. A table of Open Images names many more images than people download: those that are
not there are counted as skipped, not rejected.
"""

import contextlib
import posixpath
from collections.abc import Sequence
from dataclasses import replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.options.words import named
from shardkit.sources.context import Opening
from shardkit.sources.engine.box_table_opening import options_of_tables
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.formats.registry import BOX_TABLE
from shardkit.sources.listing import Source
from shardkit.sources.name_index import NameIndex
from shardkit.sources.readings.values import Annotation, Images, Listed, Reading
from shardkit.sources.recognising.detection.box_tables.files import (
    FoundTables,
    find_tables,
    has_box_tables,
    holds_boxes,
)
from shardkit.sources.recognising.detection.box_tables.tables import FoundTable, open_table
from shardkit.sources.recognising.detection.other_exports import holds_other_export
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.recognising.lists.class_names import find_class_names
from shardkit.sources.walking import parent_of
from shardkit.storage import Folder

__all__ = ["has_box_tables", "holds_boxes", "open_box_tables"]


def is_box_tables(folder: Folder) -> bool:
    """Return whether a folder has tables of boxes."""
    return has_box_tables(folder) or holds_other_export(folder)


def open_box_tables(opening: Opening) -> Source:
    """Find the tables of boxes and their images.

    The images of a file that is the source may be next to its folder, or at absolute paths.
    """
    folder, options, path = opening.folder, opening.options, opening.file
    place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=options.ignore)
    found = FoundTables((path,)) if path is not None else find_tables(folder, place)
    names = NameIndex(folder)
    opened = [open_table(folder, one, options, names, may_leave=path is not None) for one in found.paths]
    left_out = ", ".join(map(printable, found.left_out))
    remark = f"; left out {left_out}" if left_out else ""
    remark += f"; to read one class per image instead, add {named('layout', 'table')}" if path is not None else ""
    return open_tables(opening, BOX_TABLE, LAYOUTS["box-table"].title, opened, remark)


def open_tables(
    opening: Opening, name: str, title: str, opened: Sequence[tuple[Folder, FoundTable]], remark: str = ""
) -> Source:
    """Return tables with the folders that their keys start at as one source."""
    root, tables = opened[0][0], [table for _, table in opened]
    if len(tables) == 1 and tables[0].split == "train":
        # The only table is often called so: then splits can divide it.
        tables = [replace(tables[0], split=None)]
    if len(tables) > 1 and not any(table.has_classes for table in tables):
        tables = _with_classes_of_folders(opening.folder, tables)
    by_name = any(table.paths.by_name for table in tables)
    first = tables[0].paths.place
    origin = Annotation(
        name,
        tuple(table.path for table in tables),
        "" if by_name else first,
        {} if by_name else {table.path: table.paths.place for table in tables if table.paths.place != first},
        "end" if by_name else "path",
        names=tables[0].class_file,
        options=options_of_tables([table.options for table in tables]),
    )
    splits = {table.path: table.split for table in tables if table.split is not None}
    gives_splits = any(table.gives_splits for table in tables)
    reading = Reading(
        images=Images("" if root.url == opening.folder.url else root.url, unnamed="near"),
        split=origin if gives_splits else Listed(splits) if splits else None,
        boxes=origin,
        without_annotation=opening.options.without_annotation or "reject",
    )
    return open_reading(opening, reading, name=title, is_strict=False, remark=remark)


def _with_classes_of_folders(folder: Folder, tables: list[FoundTable]) -> list[FoundTable]:
    """Return tables without classes with the class that each one's folder is of; as they are if a folder is a split."""
    folders = [parent_of(table.path) for table in tables]
    names = [posixpath.basename(path) for path in folders]
    if len(set(names)) < len(names) or any(map(split_of_folder, names)):
        return tables
    with contextlib.suppress(DataError):  # a file of class names that counts otherwise
        named, first, _ = find_class_names(folder, ["", parent_of(folders[0])], set(names))
        names = [named[int(name) - first] for name in names] if named else names
    return [
        replace(table, options={**table.options, "one_class": name}) for table, name in zip(tables, names, strict=True)
    ]
