"""The names of Open Images' classes: a file of ``/m/011k07,Tortoise``, with or without a header."""

from collections.abc import Iterator

from shardkit.sources.detection.rows import encodable
from shardkit.sources.tables.formats.csv_files import split_records
from shardkit.sources.tables.formats.lines import read_lines
from shardkit.sources.walking import file_or_folder, join, parent_of
from shardkit.storage import Folder

# As on storage.googleapis.com/openimages, in version 7 with a prefix; FiftyOne saves it as metadata/classes.csv.
_FILES = ("class-descriptions-boxable.csv", "class-descriptions.csv", "classes.csv")
_PREFIXES = ("", "oidv7-", "oidv6-", "oidv4-")
_FOLDERS = ("", "metadata", "annotations", "csv_folder")


def class_file(folder: Folder, table: str) -> str | None:
    """Return the path of the file that names the classes of a table of Open Images; None if there is none."""
    for base in dict.fromkeys((parent_of(table), parent_of(parent_of(table)), "")):
        for place in _FOLDERS:
            for name in (prefix + name for name in _FILES for prefix in _PREFIXES):
                path = join(base, place, name)
                if file_or_folder(folder, path) is not None:
                    return path
    return None


def read_class_names(folder: Folder, path: str) -> dict[str, str]:
    """Return the names of classes by their code."""
    return dict(_pairs(folder, path))


def _pairs(folder: Folder, path: str) -> Iterator[tuple[str, str]]:
    for record in split_records(read_lines(folder, path), ",", spaced=False):
        if record.problem is None and len(record.values) >= 2 and str(record.values[0]).startswith("/"):
            yield record.values[0], encodable(record.values[1].strip())
