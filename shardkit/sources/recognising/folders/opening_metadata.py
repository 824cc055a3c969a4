"""Open Hugging Face's image folders: find the metadata files, and decide how their columns are read."""

import posixpath
from dataclasses import replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
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
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.readings.values import Images, PathPart
from shardkit.sources.recognising.detection.of_many_images import is_box_json
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.tables.layout import open_tables_in
from shardkit.sources.recognising.tables.roles import USUAL_OBJECTS
from shardkit.sources.walking import children, is_image, join
from shardkit.storage import Folder

NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_IMAGE_COLUMN = "file_name"


def has_metadata(folder: Folder) -> bool:
    """Return whether a metadata file that describes images is in a folder, or in one of its split folders.

    Other datasets have a metadata.csv about cameras, patients or tiles. JSON of boxes is another layout's.
    """
    folders = label_folders(folder, "", None)
    may_be_classes = len(folders) > 1 and not any(map(split_of_folder, folders))
    paths = [path for path in _metadata_paths(folder, folders) if not is_box_json(folder, path)]
    try:
        files = [open_table_file(folder, path, SourceOptions()) for path in paths]
        return any(_describes_images(one, may_be_classes=may_be_classes) for one in files)
    except DataError:
        return True  # opening it raises it again


def _describes_images(file: TableFile, *, may_be_classes: bool) -> bool:
    """Return whether a table has a column of images, and beside folders of classes a usual one of labels or boxes."""
    if not named_like(file.columns, IMAGE_COLUMNS):
        return False
    is_usual = named_like(file.columns, (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS))
    if may_be_classes and not is_usual and {*map(plain, file.columns)}.isdisjoint(USUAL_OBJECTS):
        return False
    rows = [record.values for record in read_prefix(file)]
    return len(file.columns) == 1 or not all(is_image(str(value)) for row in rows for value in row)  # a pair of images


def open_metadata(opening: Opening) -> Source:
    """Decide how to read a folder with metadata, from the first 1,000 records of each table.

    Paths start at their table's folder, and images without a record have no label.
    """
    folder, options = opening.folder, opening.options
    inner = label_folders(folder, "", opening.excluded)
    paths = _metadata_paths(folder, inner)
    if not paths:
        msg = f"{folder.url}: there is no {', '.join(NAMES[:-1])} or {NAMES[-1]} in it or in its split folders"
        raise DataError(msg)
    if len({posixpath.basename(path) for path in paths}) > 1:
        msg = f"{folder.url}: it holds {' and '.join(paths)}; keep those of one kind, and one a folder"
        raise DataError(msg)
    if options.image_column is None and _IMAGE_COLUMN in open_table_file(folder, paths[0], options).columns:
        options = replace(options, image_column=_IMAGE_COLUMN)
    found = open_tables_in(folder, paths, options, source=folder.url)
    reading = replace(found.reading(folder), images=Images(), classes=options.classes or ())
    splits = {name: split_of_folder(name) for name in inner}
    are_splits = bool(inner) and all(splits.values()) and found.columns.split is None
    if are_splits or any("/" in path for path in paths):  # the table's folder, whatever its columns say
        reading = replace(reading, split=PathPart(0, {} if all(splits.values()) else splits))
    return open_reading(opening, reading, name=LAYOUTS["metadata"].title, is_strict=False)


def _metadata_paths(folder: Folder, folders: list[str]) -> list[str]:
    """Return the paths of the metadata files; one in the folder itself comes first."""
    places = ["", *(name for name in folders if split_of_folder(name))]
    files = ((place, entry) for place in places for entry in children(folder, place))
    return [join(place, entry.name) for place, entry in files if entry.name in NAMES and not entry.is_folder]
