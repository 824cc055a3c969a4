"""Names of classes that a table has numbers for, from a file next to it: label_map.json, classes.txt."""

import re
from collections.abc import Iterable
from typing import Any

from shardkit.errors import DataError
from shardkit.sources.formats.number_names import names_by_number, names_in_json, numbered_names
from shardkit.sources.lists.class_names import find_class_names, first_label
from shardkit.sources.tables.formats.opening import read_prefix
from shardkit.sources.tables.formats.records import TableFile
from shardkit.sources.tables.formats.values import as_text
from shardkit.sources.tables.labels.numbers import number_of
from shardkit.sources.tables.labels.reading import Labels
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
    """Return the file in a folder that names numbers, '' for none; and the number of the first, None if it says so.

    Raises:
        DataError: A file names classes, but it does not fit the numbers.
    """
    for entry in children(folder):
        if not entry.is_folder and _JSON.fullmatch(entry.name) and names_in_json(folder, entry.name):
            return entry.name, None
    _, first, path = find_class_names(folder, [""], labels)
    return path, first if path and names_by_number(folder, path)[1] is None else None


def class_names_in(
    folder: Folder, path: str, first: int | None, values: Iterable[Any], *, only_used: bool = False
) -> tuple[tuple[str, ...], int | None]:
    """Return the class names in a file by number, '' for none, and the number of the first line.

    Args:
        folder: The folder that the path starts at.
        path: The file: lines, lines with numbers, or JSON.
        first: The number of the first line, if lines have none; None to find out.
        values: The labels.
        only_used: Whether names that no label is are no classes.

    Returns:
        The names; the number of the first line, None if the file has numbers.

    Raises:
        DataError: It holds none, or the labels are not those numbers.
    """
    is_json = path.lower().endswith(".json")
    names, in_file = names_by_number(folder, path)
    if names and in_file is not None and not only_used:
        return ("",) * in_file + names, None
    numbers = {found for one in values if isinstance(found := number_of(one, holds_text=True), int)}
    url = f"{folder.url}/{path}"
    if names and not (only_used and in_file is not None):
        first = first if first is not None else first_label(url, len(names), numbers or {0})
        return ("",) * first + names, first
    # NABirds also names groups of classes.
    by_number = {} if is_json else numbered_names(folder, path)
    used = {number: by_number[number] for number in sorted(numbers) if number in by_number}
    if not used:
        msg = f"{url}: it does not name classes by number, from 0; write a name in each line"
        raise DataError(msg)
    if twice := [name for name in used.values() if [*used.values()].count(name) > 1][:1]:
        msg = f"{url}: two classes are called {twice[0]!r}; rename one"
        raise DataError(msg)
    return tuple(used.get(number, "") for number in range(max(used) + 1)), None
