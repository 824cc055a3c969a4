"""Names of classes that a table has numbers for, from a file next to it: label_map.json, classes.txt."""

import json
import re
from dataclasses import replace

from shardkit.errors import DataError
from shardkit.sources.lists.class_names import find_class_names
from shardkit.sources.tables.formats.values import as_text
from shardkit.sources.tables.labels.reading import Labels
from shardkit.sources.tables.layout import Table
from shardkit.sources.tables.roles import read_prefix
from shardkit.sources.walking import children, read_sample
from shardkit.storage import Folder

_JSON = re.compile(r"(?:.*[_-])?(?:class|label|categor|cat|disease|name)[^/]*\.json", re.IGNORECASE)
_MAX_BYTES = 16 << 20
_INTEGER = re.compile(r"\d{1,9}")


def with_class_names(table: Table, folder: Folder) -> Table:
    """Return a table whose numbers have the names that a file in a folder gives them; the table itself without one.

    Args:
        table: The table.
        folder: The folder.
    """
    labels = table.columns.labels
    if labels.kind not in {"class", "classes"} or not labels.whole or labels.class_names:
        return table
    names, path = _from_json(folder)
    if not names:
        names, path = _from_text(folder, table, labels)
    if not names:
        return table
    return replace(table, columns=replace(table.columns, labels=replace(labels, class_names=names, named_by=path)))


def _from_json(folder: Folder) -> tuple[tuple[str, ...], str]:
    """Return the names in ``{"0": "cat", …}`` or ``{"cat": 0, …}``, and the file; () and '' if there is none."""
    for entry in children(folder):
        if entry.is_folder or not _JSON.fullmatch(entry.name) or entry.num_bytes > _MAX_BYTES:
            continue
        try:
            content = json.loads(read_sample(folder, entry.name, _MAX_BYTES) or b"")
        except (ValueError, RecursionError):
            continue
        pairs = content.items() if isinstance(content, dict) else ()
        found = {}
        for key, value in pairs:
            if isinstance(value, str) and _INTEGER.fullmatch(key):
                found[int(key)] = value
            elif type(value) is int:
                found[value] = key
        names = tuple(found.get(number, "") for number in range(len(found)))
        if len(names) > 1 and len(found) == len(pairs) and all(names) and len(set(names)) == len(names):
            return names, entry.name
    return (), ""


def _from_text(folder: Folder, table: Table, labels: Labels) -> tuple[tuple[str, ...], str]:
    values = {record.values[labels.columns[0]] for record in read_prefix(table.file)}
    texts = {as_text(value) for value in values if value not in (None, "")}
    try:
        names, first, path = find_class_names(folder, [""], texts)
    except DataError:  # it is about something else, or counts otherwise
        return (), ""
    return (names, path) if first == 0 else ((), "")
