"""Open Hugging Face's image folders: find the metadata files, and decide how their columns are read."""

import posixpath
from dataclasses import replace

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import also_offering
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.formats.column_names import (
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    LIKELY_LABEL_COLUMNS,
    named_like,
    plain,
)
from shardkit.sources.formats.tables.opening import open_table_file, read_prefix
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Images, PathPart, Reading
from shardkit.sources.recognising.detection.of_many_images import is_box_json
from shardkit.sources.recognising.tables.layout import open_tables_in
from shardkit.sources.recognising.tables.roles import USUAL_OBJECTS
from shardkit.sources.walking import children, is_dataset, is_image
from shardkit.storage import Folder, os_errors_as

_LAYOUT = LAYOUTS["metadata"].title
NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_IMAGE_COLUMN = "file_name"
_NUM_LOOKED_UP = 20  # records of each table


def has_metadata(folder: Folder) -> bool:
    """Return whether a metadata file is in a folder, or in one of its split folders, and has a column of images.

    Other datasets have a metadata.csv about cameras, patients or tiles. JSON of boxes is another layout's.
    """
    paths = [path for path in _metadata_paths(folder, None) if not is_box_json(folder, path)]
    try:
        files = [open_table_file(folder, path, SourceOptions()) for path in paths]
        named = [one for one in files if named_like(one.columns, IMAGE_COLUMNS)]
        return any(not _describes_classes(folder, one) and not _names_images_only(one) for one in named)
    except DataError:
        return True  # opening it raises it again


def _names_images_only(file: TableFile) -> bool:
    """Return whether a table has several columns, and all hold names of images: an image and its mask."""
    rows = [record.values for record in read_prefix(file)]
    return len(file.columns) > 1 and all(is_image(str(value)) for row in rows for value in row)


def _describes_classes(folder: Folder, file: TableFile) -> bool:
    """Return whether a table has no usual column of labels or boxes for images in class folders, such as cameras."""
    is_usual = named_like(file.columns, (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS))
    has_boxes = not {*map(plain, file.columns)}.isdisjoint(USUAL_OBJECTS)
    folders = child_folders(folder, None)
    return not (is_usual or has_boxes) and len(folders) > 1 and not any(map(split_of_folder, folders))


def open_metadata(opening: Opening) -> Source:
    """Decide how to read a folder with metadata, from the first 1,000 records of each table.

    Relative paths start at their table's folder, whatever `root` is.
    """
    folder, excluded, options = opening.folder, opening.excluded, opening.options
    paths = _metadata_paths(folder, excluded)
    if not paths:
        msg = f"{folder.url}: there is no {', '.join(NAMES[:-1])} or {NAMES[-1]} in it or in its split folders"
        raise DataError(msg)
    if len({posixpath.basename(path) for path in paths}) > 1:
        msg = f"{folder.url}: it holds {' and '.join(paths)}; keep those of one kind, and one a folder"
        raise DataError(msg)
    try:
        return open_reading(opening, _reading(folder, paths, options, excluded), name=_LAYOUT, is_strict=False)
    except UnknownNameError:
        raise
    except CallError as error:
        if options.layout is not None or not child_folders(folder, excluded):
            raise
        command = Change("the folders are the labels", {"layout": "class-folders"}, sources=(folder.url,))
        raise also_offering(error, command) from error
    except DataError as error:
        if options.layout is not None or not child_folders(folder, excluded):
            raise
        what = (
            "if the file does not describe the images and their folders are the labels, say "
            f"{named('layout', 'class-folders')}"
        )
        msg = f"{error}; {what}"
        raise DataError(msg) from error


def _reading(folder: Folder, paths: list[str], options: SourceOptions, excluded: str | None) -> Reading:
    if options.image_column is None and _IMAGE_COLUMN in open_table_file(folder, paths[0], options).columns:
        options = replace(options, image_column=_IMAGE_COLUMN)
    split_folders = any("/" in path for path in paths)
    found = open_tables_in(folder, paths, options, source=folder.url)
    inner = child_folders(folder, excluded)
    if not split_folders and found.columns.split is None:
        split_folders = bool(inner) and all(map(split_of_folder, inner))
    reading = replace(found.reading(folder), images=Images(), classes=options.classes or ())
    if not split_folders:
        return reading
    splits = {name: split_of_folder(name) for name in inner}  # the table's folder, whatever its columns say
    return replace(reading, split=PathPart(0, {} if all(splits.values()) else splits))


def _metadata_paths(folder: Folder, excluded: str | None) -> list[str]:
    """Return the paths of the metadata files; one in the folder itself comes first."""
    prefixes = [f"{name}/" for name in child_folders(folder, excluded) if split_of_folder(name)]
    found = []
    for prefix in ["", *prefixes]:
        with os_errors_as("list the folder", folder.url_of(prefix)):
            entries = folder.scan(prefix.rstrip("/"))
        found += [prefix + entry.name for entry in entries if entry.name in NAMES and not entry.is_folder]
    return found


def child_folders(folder: Folder, excluded: str | None) -> list[str]:
    """Return the folders in a folder that may hold images: no output, and no dataset."""
    names = [entry.name for entry in children(folder) if entry.is_folder]
    return [name for name in names if name != excluded and not is_dataset(folder, name)]
