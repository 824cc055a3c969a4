"""Tables whose records describe several images each: those whose names, or a folder of theirs, begin with a value.

SKU   Category
4711  Kitchen      photos/4711-1.jpg, photos/4711-2.jpg
P07   healthy      P07/left_001.png, P07/left_002.png
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.file_names import ending
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.name_index import name_key
from shardkit.sources.walking import files_below
from shardkit.storage import Folder

_SEPARATOR = re.compile(r"[._ ()-]+")


def described_images(folder: Folder, texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the images below a folder that each text is about, by `name_key` of the text.

    Memory grows with the number of images, by about 200 bytes each.
    """
    return _described(_images(folder), texts)


def _images(folder: Folder) -> Iterator[str]:
    return (path for path, entry in files_below(folder, "") if ending(entry.name) in IMAGE_ENDINGS)


def _described(paths: Iterable[str], texts: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name_key(text.strip()): [] for text in texts}
    for path in paths:
        if (key := _key_of(path, found)) is not None:
            found[key].append(path)
    return found


def values_of(file: TableFile, column: int) -> Iterator[str]:
    """Yield the values of a column as text."""
    for record in file.all_records(frozenset({column})):
        if record.problem is None and record.values[column] not in (None, ""):
            yield str(record.values[column])


def _key_of(path: str, keys: Mapping[str, Any]) -> str | None:
    """Return the longest of some keys that an image's name begins with, or that a folder of it is called by."""
    *folders, name = path.split("/")
    for part in (posixpath.splitext(name)[0], *reversed(folders)):
        if (found := next((one for one in _beginnings(name_key(part)) if one in keys), None)) is not None:
            return found
    return None


def _beginnings(name: str) -> Sequence[str]:
    return [name, *(name[: one.start()] for one in reversed([*_SEPARATOR.finditer(name)]))]
