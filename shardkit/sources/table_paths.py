"""From a table's image paths to keys: the folder that all of them lie below, and each one's path from there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.naming import relative_path_problem
from shardkit.sources.table_records import BadRecord, shown
from shardkit.storage import Folder, open_folder

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Paths that are keys as they stand, found without looking at every character in Python.
_PLAIN = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+)*")

Numbered = tuple[int, str]  # the record's line, and its path


@dataclass(frozen=True, slots=True)
class Keys:
    """Forms keys.

    Attributes:
        root: URL of the folder that absolute paths have to lie below, with a '/' behind it.
    """

    root: str

    def key(self, path: object) -> str:
        """The path below the root.

        Raises:
            BadRecord: ``bad_path``, it is none, or leads elsewhere.
        """
        if not isinstance(path, str):
            msg = "the path of the image is missing" if path is None else f"{shown(path)} is no path of an image"
            raise BadRecord("bad_path", msg)
        if _PLAIN.fullmatch(path):
            return path
        absolute = absolute_form(path)
        if absolute is None:
            relative = path.replace("\\", "/")  # of a table made on Windows
            while relative.startswith("./"):
                relative = relative[2:]
        elif absolute.startswith(self.root):
            relative = absolute[len(self.root) :]
        else:
            msg = f"the path {shown(path)} is not below {self.root}; name a folder above all images with --root"
            raise BadRecord("bad_path", msg)
        if not _PLAIN.fullmatch(relative) and (problem := relative_path_problem(relative)):
            msg = f"the path {shown(path)} may not be followed: {problem}; write it relative to {self.root}"
            raise BadRecord("bad_path", msg)
        return relative


def absolute_form(path: str) -> str | None:
    """A local path without ``file://``, or a URL as it is; None for a relative path."""
    if path.startswith("/"):
        return path
    match = _URL.match(path)
    if match is None:
        return None
    if match[1].lower() == "file":
        return "/" + path[match.end() :].lstrip("/")
    return path


def folder_of_paths(
    url: str, beside: Folder, root: str | None, first: list[Numbered], every: Iterable[Numbered]
) -> Folder:
    """The folder that keys start at.

    Args:
        url: of the table, for messages.
        beside: the folder that the table lies in: relative paths start there.
        root: the folder that the user names instead; None for none.
        first: paths of the first records, at least one of them.
        every: paths of all records; read only where the first ones are absolute and there is no root.

    Raises:
        DataError: absolute and relative paths, or paths of two stores, in one table.
    """
    if root is not None:
        return open_folder(root)
    places = {_place(path): (line, path) for line, path in reversed(first)}
    if len(places) > 1:
        raise _mixed(url, *sorted(places.values())[:2])
    if None in places:
        return beside
    common: list[str] | None = None
    above = ""
    start = first[0]
    place = _place(start[1])
    for line, path in every:
        if common is not None and path.startswith(above):
            continue
        if _place(path) != place:
            raise _mixed(url, start, (line, path))
        parts = (absolute_form(path) or "").split("/")[:-1]
        if ".." in parts:
            continue  # rejected later
        common = parts if common is None else _common(common, parts)
        above = "/".join(common) + "/"
    return open_folder("/".join(common or []) or "/")


def _common(one: list[str], other: list[str]) -> list[str]:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:i]
    return min(one, other, key=len)


def _place(path: str) -> str | None:
    """None for a relative path, '/' for a local one, and a store's bucket as ``s3://bucket``."""
    absolute = absolute_form(path)
    if absolute is None:
        return None
    return "/" if absolute.startswith("/") else "/".join(absolute.split("/")[:3])


def _mixed(url: str, one: Numbered, other: Numbered) -> DataError:
    return DataError(
        f"{url}: line {one[0]} names {shown(one[1])} and line {other[0]} {shown(other[1])}; the paths of one table are "
        "all relative, all absolute, or all in one bucket"
    )
