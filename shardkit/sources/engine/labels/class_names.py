"""Names of the classes that the labels of a table or of lists are numbers of."""

from collections.abc import Iterable
from typing import Any

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.engine.labels.numbers import number_of
from shardkit.sources.formats.number_names import names_by_number, numbered_names
from shardkit.storage import Folder


def class_names_in(
    folder: Folder, path: str, first: int | None, values: Iterable[Any], *, only_used: bool = False
) -> tuple[tuple[str, ...], int | None]:
    """Return the names in a file by number, '' for none, and the first line's number: None if the file has numbers."""
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


def first_label(url: str, num_names: int, numbers: set[int]) -> int:
    """Return the number of the first name, 0 or 1."""
    if 0 in numbers and max(numbers) < num_names:
        return 0
    if 0 not in numbers and max(numbers) == num_names:
        return 1
    raise unfit(url, num_names, numbers)


def unfit(url: str, num_names: int, numbers: set[int]) -> DataError:
    """Return the error for labels that are not the numbers of the names."""
    return DataError(
        f"{printable(url)}: it names {num_names:,} classes, and the labels of the lists are {min(numbers)} to "
        f"{max(numbers)}, so names and labels cannot be matched; write a number before each name, such as "
        f"'{min(numbers)} cat', or move the file away and use the labels as names"
    )
