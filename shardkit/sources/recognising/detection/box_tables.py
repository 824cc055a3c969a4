"""Find tables with a row for each box, such as those of Open Images, and their images.

All rows of an image are one example, in the table's order; they need not be next to each other. A table of Open Images
names many more images than people download: those that are not there are counted as skipped, not rejected.
"""

import contextlib
import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.annotation_opening import options_of_reading
from shardkit.sources.engine.splits import split_of_path
from shardkit.sources.formats.box_tables.columns import (
    OPEN_IMAGES,
    TEXT,
    columns_without_header,
    first_fields,
    is_box_table,
    open_box_file,
)
from shardkit.sources.formats.box_tables.records import BOX_TABLES
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.formats.tables.opening import column_index, open_table_file
from shardkit.sources.formats.tables.records import PREFIX_RECORDS
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.recognising.claims.searching import candidates
from shardkit.sources.recognising.class_names import find_class_names
from shardkit.sources.recognising.detection.of_many_images import (
    FoundFile,
    open_found_files,
    refuse_other_export,
)
from shardkit.sources.walking import file_or_folder, files_in, join, parent_of
from shardkit.storage import Folder

_JSON_LINES = (".jsonl", ".ndjson")
_FOLDERS = ("annotations", "annotation", "ann", "labels", "csv_folder", "csv", "boxes", "data")
_MAX_TRIED = 64  # tables whose first line is read
# Files of Open Images' class names, as on storage.googleapis.com/openimages, in version 7 with a prefix; FiftyOne saves
# them as metadata/classes.csv.
_CLASS_FILES = ("class-descriptions-boxable.csv", "class-descriptions.csv", "classes.csv")
_CLASS_PREFIXES = ("", "oidv7-", "oidv6-", "oidv4-")
_CLASS_FOLDERS = ("", "metadata", "annotations", "csv_folder")
_ABSOLUTE = re.compile(r"(?:(?:s3|gs)://[^/]+)?/")


def is_box_tables(folder: Folder) -> bool:
    """Return whether a folder has tables of boxes."""
    for path in files_in(folder, "", ".csv", ".tsv")[:8]:
        refuse_other_export(folder, path)
    return bool(_find(folder))


def holds_boxes(folder: Folder, path: str) -> bool:
    """Return whether a table has one row per box, judging by its first line or its schema."""
    kind = posixpath.splitext(path)[1].lower()
    try:
        if kind in TEXT:
            fields = first_fields(folder, path)[0]
            is_list = kind == ".txt" and columns_without_header(fields) is not None  # of boxes of some images, perhaps
            return is_box_table(fields) and not is_list
        if kind in _JSON_LINES:  # opening it would read all lines
            return is_box_table(_first_names(folder, path))
        return is_box_table(open_table_file(folder, path, SourceOptions()).columns)
    except DataError:  # it is no table at all
        return False


def _first_names(folder: Folder, path: str) -> Sequence[str]:
    """Return the names in the first line of a JSON Lines table."""
    first = next((line for line in read_lines(folder, path) if line.text.strip()), None)
    try:
        record = json.loads(first.text) if first is not None else None
    except (RecursionError, ValueError):
        return ()
    return list(record) if isinstance(record, dict) else ()


def _find(folder: Folder) -> list[str]:
    """Return the tables in a folder, in its folders of splits or of labels; else in several of its folders."""
    paths = [
        path for path in islice(candidates(folder, None, frozenset(TEXT)), _MAX_TRIED) if holds_boxes(folder, path)
    ]
    tops = {path: path.partition("/")[0] if "/" in path else "" for path in paths}
    near = [path for path, top in tops.items() if not top or top.lower() in _FOLDERS or split_of_folder(top)]
    return sorted(near) or (sorted(paths) if len(set(map(parent_of, paths))) > 1 else [])


def open_box_tables(opening: Opening) -> Source:
    """Find the tables of boxes and their images.

    Of tables of splits and others, those of the splits are read. The images of a file that is the source may be next to
    its folder, or at absolute paths.
    """
    folder, file = opening.folder, opening.file
    found = [file] if file is not None else _find(folder)
    if not found:
        msg = (
            f"{folder.url}: there is no table of boxes; searched for .csv and .tsv files with columns such as "
            "filename, class, xmin, ymin, xmax, ymax in it, in annotations/, in split folders; give the file as SOURCE"
        )
        raise DataError(msg)
    of_splits = [path for path in found if split_of_path(path)]
    paths = of_splits or found
    left_out = ", ".join(printable(path) for path in found if path not in paths)
    remark = f"; left out {left_out}" if left_out else ""
    remark += f"; to read one class per image instead, add {named('layout', 'table')}" if file is not None else ""
    tables = [_look_at(opening, path) for path in paths]
    if len(tables) > 1 and not any("label" in table.options for table in tables):
        tables = _with_classes_of_folders(folder, tables)
    # The only table is often called train: then splits can divide it.
    if any(table.gives_splits for table in tables) or [table.split for table in tables] == ["train"]:
        tables = [replace(table, split=None) for table in tables]
    options, title = options_of_reading([table.options for table in tables]), LAYOUTS["box-table"].title
    names = _class_file(folder, paths[0]) if tables[0].options.get("kind") == OPEN_IMAGES else ""
    outside = _common_folder(folder, tables[0]) if file is not None else ""
    try:
        return open_found_files(
            opening, BOX_TABLES.name, title, tables, options, remark, class_file=names, outside=outside
        )
    except DataError as error:
        if file is not None:
            raise
        what = "each folder is a class, and the table is not read"
        command = Change(what, {"layout": "class-folders"}, sources=(folder.url,))
        raise RefusalError(str(error), [command]) from None


def _with_classes_of_folders(folder: Folder, tables: list[FoundFile]) -> list[FoundFile]:
    """Return tables without classes with the class that each one's folder is of; as they are if a folder is a split."""
    names = [posixpath.basename(parent_of(table.path)) for table in tables]
    if len(set(names)) < len(names) or any(map(split_of_folder, names)):
        return tables
    with contextlib.suppress(DataError):  # a file of class names that counts otherwise
        known, first, _ = find_class_names(folder, ["", parent_of(parent_of(tables[0].path))], set(names))
        names = [known[int(name) - first] for name in names] if known else names
    return [
        replace(table, options={**table.options, "one_class": name}) for table, name in zip(tables, names, strict=True)
    ]


def _look_at(opening: Opening, path: str) -> FoundFile:
    """Decide how to read a table, from its first 1,000 records."""
    folder, options = opening.folder, opening.options
    file = open_box_file(folder, path)
    for name in filter(None, (options.image_column, *options.label_columns, options.split_column)):
        column_index(file, name)
    label = next(iter(options.label_columns), None)
    said = {"image": options.image_column, "label": label, "split": options.split_column}
    completed = BOX_TABLES.completed(folder, path, {role: name for role, name in said.items() if name})
    gives_splits = "split" in completed
    return FoundFile(path, None if gives_splits else split_of_path(path), completed, gives_splits=gives_splits)


def _common_folder(folder: Folder, table: FoundFile) -> str:
    """Return the folder above the absolute paths and URLs of a table; '' if the first path is relative."""
    file = open_box_file(folder, table.path)
    texts = [*islice(filter(str.strip, BOX_TABLES.names(file, file.url, table.options)), PREFIX_RECORDS)]
    if not texts or not _ABSOLUTE.match(texts[0]):
        return ""
    above = posixpath.commonpath([posixpath.dirname(text) for text in texts if _ABSOLUTE.match(text)])
    # commonpath makes one slash of two.
    return re.sub(r"^(s3|gs):/(?=[^/])", r"\1://", above) or "/"


def _class_file(folder: Folder, table: str) -> str:
    """Return the path of the file that names the classes of a table of Open Images; '' if there is none."""
    for base in dict.fromkeys((parent_of(table), parent_of(parent_of(table)), "")):
        for place in _CLASS_FOLDERS:
            for name in (prefix + name for name in _CLASS_FILES for prefix in _CLASS_PREFIXES):
                path = join(base, place, name)
                if file_or_folder(folder, path) is not None:
                    return path
    return ""
