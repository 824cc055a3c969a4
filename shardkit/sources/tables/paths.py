"""From a table's image paths to keys: the folder that all of them lie below, and each one's path from there."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.naming import relative_path_problem
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.tables.records import BadRecord, shown
from shardkit.storage import Folder, open_folder

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Paths that are keys as they stand, found without looking at every character in Python.
_PLAIN = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+)*")
_MAX_PATH = 4096  # characters: Linux's PATH_MAX; object stores allow 1,024 bytes

NumberedPath = tuple[int, str]  # the record's line, and its path


@dataclass(frozen=True, slots=True)
class KeyBuilder:
    """Forms keys.

    Attributes:
        root: URL of the folder that absolute paths have to lie below, with a '/' behind it.
        absolute_only: whether relative paths start nowhere, for the root is only what the absolute ones have in common.
    """

    root: str
    absolute_only: bool = False

    def key(self, path: object) -> str:
        """The path below the root.

        Raises:
            BadRecord: ``bad_path``, it is none, or leads elsewhere.
        """
        if not isinstance(path, str):
            msg = "the path of the image is missing" if path is None else f"{shown(path)} is no path of an image"
            raise BadRecord(BAD_PATH, msg)
        if len(path) > _MAX_PATH:
            msg = f"the path {shown(path)} has {len(path):,} characters, more than {_MAX_PATH:,}"
            raise BadRecord(BAD_PATH, msg)
        if not self.absolute_only and _PLAIN.fullmatch(path):
            return path
        absolute = absolute_form(path)
        if absolute is None and self.absolute_only:
            msg = (
                f"the path {shown(path)} is relative where those of the first records are absolute; write it like them"
            )
            raise BadRecord(BAD_PATH, msg)
        if absolute is None:
            relative = path.replace("\\", "/")  # of a table made on Windows
            while relative.startswith("./"):
                relative = relative[2:]
        elif absolute.startswith(self.root):
            relative = absolute[len(self.root) :]
        else:
            msg = f"the path {shown(path)} is not below {self.root}; name a folder above all images with --root"
            raise BadRecord(BAD_PATH, msg)
        if not _PLAIN.fullmatch(relative) and (problem := relative_path_problem(relative)):
            msg = f"the path {shown(path)} may not be followed: {problem}; write it relative to {self.root}"
            raise BadRecord(BAD_PATH, msg)
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


def build_keys(
    url: str, beside: Folder, root: str | None, first: list[NumberedPath], every: Iterable[NumberedPath]
) -> tuple[Folder, KeyBuilder]:
    """The folder that keys start at, and how they are formed.

    Where over half of the first paths are of one kind (relative, of this machine, or of one bucket), a path of another
    kind is its record's fault alone.

    Args:
        url: of the table, for messages.
        beside: the folder that the table lies in: relative paths start there.
        root: the folder that the user names instead; None for none.
        first: paths of the first records, at least one of them.
        every: paths of all records; read only where the first ones are absolute and there is no root.

    Raises:
        DataError: no kind of path is that of over half of the first ones.
    """
    if root is not None:
        return _keys_below(open_folder(root), absolute_only=False)
    places = Counter(_place(path) for _, path in first)
    place, count = places.most_common(1)[0]
    if 2 * count <= len(first):
        raise _mixed(url, first)
    if place is None:
        return _keys_below(beside, absolute_only=False)
    common: list[str] | None = None
    above = ""
    for _, path in every:
        if (common is not None and path.startswith(above)) or _place(path) != place:
            continue
        parts = (absolute_form(path) or "").split("/")[:-1]
        if ".." in parts:
            continue  # rejected later
        common = parts if common is None else _common(common, parts)
        above = "/".join(common) + "/"
    return _keys_below(open_folder("/".join(common or []) or "/"), absolute_only=True)


def _keys_below(folder: Folder, *, absolute_only: bool) -> tuple[Folder, KeyBuilder]:
    return folder, KeyBuilder(root_of(folder), absolute_only)


def root_of(folder: Folder) -> str:
    """A folder's URL with one '/' behind it."""
    return folder.url.rstrip("/") + "/"


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


def _mixed(url: str, first: list[NumberedPath]) -> DataError:
    one, other = sorted({_place(path): (line, path) for line, path in reversed(first)}.values())[:2]
    return DataError(
        f"{url}: line {one[0]} names {shown(one[1])} and line {other[0]} {shown(other[1])}; the paths of one table are "
        "all relative, all absolute, or all in one bucket"
    )
