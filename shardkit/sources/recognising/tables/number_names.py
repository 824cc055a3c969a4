"""Names of classes that a table has numbers for, from a file next to it: label_map.json, classes.txt."""

import re

from shardkit.errors import DataError
from shardkit.sources.engine.labels.reading import Labels
from shardkit.sources.formats.number_names import names_by_number, names_in_json
from shardkit.sources.formats.tables.opening import read_prefix
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.values import as_text
from shardkit.sources.recognising.lists.class_names import find_class_names
from shardkit.sources.walking import children
from shardkit.storage import Folder

_JSON = re.compile(r"(?:.*[_-])?(?:class|label|categor|cat|disease|name)[^/]*\.json", re.IGNORECASE)


def names_file_of(folder: Folder, file: TableFile, labels: Labels) -> tuple[str, str]:
    """Return the file in a folder that names the numbers of a table, and why one is not used; '' for none."""
    if labels.kind not in {"class", "classes"} or not labels.whole or labels.class_names:
        return "", ""
    values = {record.values[labels.columns[0]] for record in read_prefix(file)}
    try:
        return find_names_file(folder, {as_text(value) for value in values if value not in (None, "")})[0], ""
    except DataError as error:  # it is about something else, or counts otherwise
        return "", f"not used: {error}"


def find_names_file(folder: Folder, labels: set[str]) -> tuple[str, int | None]:
    """Return the file in a folder that names numbers, '' for none; and the number of the first, None if it says so."""
    for entry in children(folder):
        if not entry.is_folder and _JSON.fullmatch(entry.name) and names_in_json(folder, entry.name):
            return entry.name, None
    _, first, path = find_class_names(folder, [""], labels)
    return path, first if path and names_by_number(folder, path)[1] is None else None
