"""Open a table of boxes: what its columns mean, in which unit its boxes are, and where its images are."""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from shardkit.errors import DataError
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.box_table_opening import decided, open_box_file, options_of_table
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.formats.box_tables.columns import BoxColumns, find_columns
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, TableFile
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.detection.box_tables.files import split_of_table
from shardkit.sources.recognising.detection.image_paths import find_paths, image_places, not_near, paths_by_names
from shardkit.sources.walking import file_or_folder, join, parent_of
from shardkit.storage import Folder, open_folder

# Files of Open Images' class names, as on storage.googleapis.com/openimages, in version 7 with a prefix; FiftyOne saves
# them as metadata/classes.csv.
_CLASS_FILES = ("class-descriptions-boxable.csv", "class-descriptions.csv", "classes.csv")
_CLASS_PREFIXES = ("", "oidv7-", "oidv6-", "oidv4-")
_CLASS_FOLDERS = ("", "metadata", "annotations", "csv_folder")
_ABSOLUTE = re.compile(r"(?:(?:s3|gs)://[^/]+)?/")


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table of boxes, and how it is read.

    Attributes:
        path: Path of the table.
        paths: How its image paths become keys.
        split: The split of all its images; None if its name gives none, or if it has a column of splits.
        options: Settings of a reading.
        class_file: Path of the file with the names of its classes' codes; '' if there is none.
        gives_splits: Whether it has a column of splits.
        has_classes: Whether it has a column of classes.
    """

    path: str
    paths: PathRule
    split: str | None
    options: dict[str, str]
    class_file: str
    gives_splits: bool
    has_classes: bool


def open_table(
    folder: Folder, path: str, options: SourceOptions, names: NameIndex, *, may_leave: bool
) -> tuple[Folder, FoundTable]:
    """Decide how to read a table, from its first 1,000 records.

    Return the folder that keys start at, too. The images in `names` are searched last.
    """
    file = open_box_file(folder, path, options)
    columns = find_columns(file.url, file.columns, options)
    return open_records(folder, file, columns, options, names, may_leave=may_leave)


def open_records(
    folder: Folder, file: TableFile, columns: BoxColumns, options: SourceOptions, names: NameIndex, *, may_leave: bool
) -> tuple[Folder, FoundTable]:
    """Decide how to read a table whose columns are known; see `open_table`."""
    path = file.path
    first = list(islice(file.all_records(), PREFIX_RECORDS))
    records = [record for record in first if record.problem is None]
    texts = [text for record in records if isinstance(text := record.values[columns.image], str) and text.strip()]
    if not texts:
        why = f"; line {first[0].line}: {first[0].problem}" if first and first[0].problem else ""
        msg = f"{file.url}: the first records of the table name no image{why}"
        raise DataError(msg)
    columns, is_fraction = decided(file, columns, first)
    places = image_places(folder, path, options, may_leave=may_leave)
    found = find_paths(texts, places)
    if found is None and may_leave and options.root is None and (outside := _common_folder(texts)):
        found = find_paths(texts, [(outside, "")])
    if found is None and options.root is None and (by_name := paths_by_names(names, texts)):
        found = folder, by_name
    if found is None:
        msg = not_near(file.url, texts, places, "the table")
        remedy = f"give the folder that the images are in with {named('root')}"
        if may_leave:
            msg = f"{msg}; {remedy}"
            raise DataError(msg)
        command = Change(
            "each folder is a class, and the table is not read", {"layout": "class-folders"}, sources=(folder.url,)
        )
        raise RefusalError(msg, [command], remedy=remedy)
    root, paths = found
    told = options_of_table(file, columns, is_fraction=is_fraction)
    told |= {"drop": str(paths.num_dropped)} if paths.num_dropped else {}
    told |= {"ending": paths.ending} if paths.ending else {}
    return root, FoundTable(
        path=path,
        paths=paths,
        split=None if columns.split is not None else split_of_table(path),
        options=told,
        class_file=_class_file(folder, path) or "" if columns.is_open_images else "",
        gives_splits=columns.split is not None,
        has_classes=columns.label is not None,
    )


def _common_folder(texts: Sequence[str]) -> Folder | None:
    """Return the folder above all absolute paths and URLs; None if the first path is relative."""
    if not _ABSOLUTE.match(texts[0]):
        return None
    above = posixpath.commonpath([posixpath.dirname(text) for text in texts if _ABSOLUTE.match(text)])
    # commonpath makes one slash of two.
    return open_folder(re.sub(r"^(s3|gs):/(?=[^/])", r"\1://", above) or "/")


def _class_file(folder: Folder, table: str) -> str | None:
    """Return the path of the file that names the classes of a table of Open Images; None if there is none."""
    for base in dict.fromkeys((parent_of(table), parent_of(parent_of(table)), "")):
        for place in _CLASS_FOLDERS:
            for name in (prefix + name for name in _CLASS_FILES for prefix in _CLASS_PREFIXES):
                path = join(base, place, name)
                if file_or_folder(folder, path) is not None:
                    return path
    return None
