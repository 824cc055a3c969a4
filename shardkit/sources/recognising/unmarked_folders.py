"""Open a folder that no layout recognises by its files: a table next to images, class folders, or a folder around them.

Each folder around the source is opened like SOURCE itself, so dataset/coco/annotations/ is found as well as
dataset/flowers/rose/.
"""

from collections.abc import Callable

from shardkit.errors import DataError
from shardkit.layouts import Layout
from shardkit.refusals import RefusedDataError
from shardkit.sources.context import Opening
from shardkit.sources.engine.lost_zeros import refuse_lost_zeros
from shardkit.sources.file_names import ending
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS, open_table_file
from shardkit.sources.formats.unsupported_images import unsupported_format
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.folders.class_tree import FlatFolders, Without, Wrapper, read_tree
from shardkit.sources.recognising.folders.flat_folders import refusal_of_flat_folders, refuse_without_images
from shardkit.sources.recognising.unmarked_tables import (
    IsReadWithout,
    open_roboflow_classes,
    open_tables,
    source_of,
    tables_of,
)
from shardkit.sources.walking import children, files_below, folders_in, is_image, join
from shardkit.storage import Folder

_MAX_TABLES = 3  # that are compared with the images' names


def open_unmarked_folder(
    opening: Opening, recognise: Callable[[Folder], Layout | None]
) -> Source | tuple[Opening, Layout]:
    """Open a folder whose layout the user does not name, or find the folder in it that a layout recognises.

    Return the source, or the folder to open and its layout.
    """
    options, above = opening.options, ""
    while True:
        folder, excluded = opening.folder, opening.excluded
        shown = opening.url if opening.is_in_archive or not above else join(opening.url.rstrip("/"), above)
        if (layout := recognise(folder)) is not None:
            return opening, layout
        if classes := open_roboflow_classes(folder, options):
            return source_of(opening, classes)
        if tables := tables_of(folder, excluded):
            return open_tables(opening, tables)
        if (only := _only_folder(folder, excluded)) and recognise(opening.below(only).folder) is not None:
            opening = opening.below(only)
            continue
        found = read_tree(folder, excluded, shown)
        if isinstance(found, Wrapper):
            above = join(above, found.name)
            opening = opening.below(found.name)
            continue
        if isinstance(found, Without):
            raise IsReadWithout(tuple(f"/{join(above, path)}" for path in found.paths), found.why)
        if isinstance(found, FlatFolders):
            _refuse_lost_zeros(folder)
            raise refusal_of_flat_folders(opening, found, shown)
        _refuse_data_files(folder, shown)
        return found.source(opening)


def _refuse_lost_zeros(folder: Folder) -> None:
    """Refuse tables whose numbers are names of images without their zeros."""
    tables = [one.name for one in children(folder) if not one.is_folder and ending(one.name) in TABLE_ENDINGS]
    for name in tables[:_MAX_TABLES]:
        try:
            file = open_table_file(folder, name, SourceOptions())
        except DataError:
            continue  # no table
        paths = (path for path, entry in files_below(folder, "") if is_image(entry.name))
        refuse_lost_zeros(file, range(len(file.columns)), paths)


def _refuse_data_files(folder: Folder, shown: str) -> None:
    """Refuse folders that hold no images, but files of a known format with images in them, such as videos."""
    if not any(is_image(path) or unsupported_format(path) for path, _ in files_below(folder, "")):
        error = refuse_without_images(folder, shown)
        if isinstance(error, RefusedDataError):
            raise error


def _only_folder(folder: Folder, excluded: str | None) -> str | None:
    """Return the folder that holds all images of the source, some of them directly; None if there is none."""
    names = [name for name in folders_in(folder) if name != excluded]
    if len(names) != 1 or any(is_image(entry.name) for entry in children(folder) if not entry.is_folder):
        return None
    return names[0] if any(is_image(entry.name) for entry in children(folder, names[0])) else None
