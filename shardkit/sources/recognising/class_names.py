"""Names of the classes of integer labels, from a file next to the table or list that has them."""

import re
from collections.abc import Iterable, Sequence

from shardkit.errors import DataError
from shardkit.sources.engine.column_labels import first_label, unfit
from shardkit.sources.engine.labels.reading import Labels
from shardkit.sources.formats.class_names import names_by_number, names_in_json, read_names
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.values import as_text
from shardkit.sources.walking import children, join, parent_of
from shardkit.storage import Folder

# The usual names of such files, in any case: "classes.txt", "categories_places365.txt", UCF101's "classInd.txt".
_FILE = re.compile(
    r"(?:(?:[a-z]+[_-])?class(?:es)?|categor(?:y|ies)|labels?|synsets?|wnids|names)(?:[_-]?(?:names?|words|ind|index|list|map|places365))?\.txt",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"\d+")
_JSON = re.compile(r"(?:.*[_-])?(?:class|label|categor|cat|disease|name)[^/]*\.json", re.IGNORECASE)


def is_names_file(name: str) -> bool:
    """Return whether a file has the name of a list of classes."""
    return _FILE.fullmatch(name) is not None


def find_class_names(folder: Folder, places: Iterable[str], labels: set[str]) -> tuple[tuple[str, ...], int, str]:
    """Return the names of integer labels in order, the label of the first, and the file; (), 0 and '' for no file.

    Raises:
        DataError: A file names the classes, but it does not say whether labels count from 0 or from 1, or lacks some.
    """
    if not labels or not all(map(_INTEGER.fullmatch, labels)):
        return (), 0, ""
    numbers = set(map(int, labels))
    for place in dict.fromkeys(places):
        for entry in children(folder, place):
            if not entry.is_folder and is_names_file(entry.name):
                path = join(place, entry.name)
                names, first = read_names(folder, path)
                if len(names) < 2:
                    continue
                if first is None:
                    first = first_label(f"{folder.url}/{path}", len(names), numbers)
                elif not numbers <= set(range(first, first + len(names))):
                    raise unfit(f"{folder.url}/{path}", len(names), numbers)
                return names, first, path
    return (), 0, ""


def names_file_of(folder: Folder, files: Sequence[TableFile], labels: Labels) -> tuple[str, str]:
    """Return the file that names the numbers of some tables, and why one is not used; '' for none."""
    if labels.kind not in {"class", "classes"} or not labels.whole or labels.class_names:
        return "", ""
    values = set()
    for file in files:
        column = file.columns.index(labels.names[0])
        values |= {one.values[column] for one in file.all_records(frozenset({column})) if one.problem is None}
    texts = {as_text(value) for value in values if value not in (None, "")}
    try:
        return find_names_file(folder, texts, [parent_of(files[0].path), ""])[0], ""
    except DataError as error:  # it is about something else, or counts otherwise
        return "", f"not used: {error}"


def find_names_file(folder: Folder, labels: set[str], places: Sequence[str] = ("",)) -> tuple[str, int | None]:
    """Return the file in some folders that names numbers, '' for none; and the first number, None if it says so."""
    for place in dict.fromkeys(places):
        for entry in children(folder, place):
            path = join(place, entry.name)
            if not entry.is_folder and _JSON.fullmatch(entry.name) and names_in_json(folder, path):
                return path, None
    _, first, path = find_class_names(folder, places, labels)
    return path, first if path and names_by_number(folder, path)[1] is None else None
