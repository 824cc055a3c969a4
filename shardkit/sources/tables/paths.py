"""Turn a table's image paths into keys: the folder that they share, and each path below it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from shardkit.errors import DataError
from shardkit.naming import relative_path_problem
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.listing import BadRecord
from shardkit.sources.tables.formats.records import shown
from shardkit.storage import Folder, open_folder

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Paths that are keys already, found without a loop over their characters in Python.
_PLAIN = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_ .-]+)*")
_MAX_PATH = 4096  # characters: Linux's PATH_MAX; object stores allow 1,024 bytes


class NumberedPath(NamedTuple):
    """The line of a record, and its image path."""

    line: int
    path: str


@dataclass(frozen=True, slots=True)
class KeyBuilder:
    """Builds keys from paths.

    Attributes:
        root: URL of the folder that absolute paths must be below, with a '/' at its end.
        absolute_only: Whether relative paths are rejected, because the root is only the common parent of absolute ones.
    """

    root: str
    absolute_only: bool = False

    def key(self, path: object) -> str:
        """Return the path below the root.

        Raises:
            BadRecord: BAD_PATH: the value is not a path, or not below the root.
        """
        if not isinstance(path, str):
            msg = "the path of the image is missing" if path is None else f"{shown(path)} is not the path of an image"
            raise BadRecord(BAD_PATH, msg)
        if len(path) > _MAX_PATH:
            msg = f"the path {shown(path)} has {len(path):,} characters, more than {_MAX_PATH:,}"
            raise BadRecord(BAD_PATH, msg)
        if not self.absolute_only and _PLAIN.fullmatch(path):
            return path
        absolute = absolute_form(path)
        if absolute is None and self.absolute_only:
            msg = f"the path {shown(path)} is relative, those of the first records are absolute; write it like them"
            raise BadRecord(BAD_PATH, msg)
        if absolute is None:
            relative = path.replace("\\", "/")  # in tables made on Windows
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
    """Return a local path without ``file://``, or a URL as it is; None for a relative path."""
    if path.startswith("/"):
        return path
    match = _URL.match(path)
    if match is None:
        return None
    if match[1].lower() == "file":
        return "/" + path[match.end() :].lstrip("/")
    return path


def build_keys(
    url: str, table_folder: Folder, root: str | None, first: list[NumberedPath], all_paths: Iterable[NumberedPath]
) -> tuple[Folder, KeyBuilder]:
    """Return the folder that keys start at, and how keys are built.

    Paths are of one kind if they are all relative, all local, or all in one bucket. The kind of most of the first paths
    counts, and paths of another kind are rejected.

    Args:
        url: Name of the table in messages.
        table_folder: The table's folder: relative paths start there.
        root: The folder that the user names instead; None for none.
        first: Paths of the first records, at least one.
        all_paths: Paths of all records; read only if the first ones are absolute and there is no root.

    Raises:
        DataError: No kind of path is that of more than half of the first ones.
    """
    if root is not None:
        return _keys_below(open_folder(root), absolute_only=False)
    kinds = Counter(_kind(path) for _, path in first)
    kind, count = kinds.most_common(1)[0]
    if 2 * count <= len(first):
        raise _mixed(url, first)
    if kind is None:
        return _keys_below(table_folder, absolute_only=False)
    common: list[str] | None = None
    above = ""
    for _, path in all_paths:
        if (common is not None and path.startswith(above)) or _kind(path) != kind:
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
    """Return a folder's URL with one '/' at its end."""
    return folder.url.rstrip("/") + "/"


def _common(one: list[str], other: list[str]) -> list[str]:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:i]
    return min(one, other, key=len)


def _kind(path: str) -> str | None:
    """Return None for a relative path, '/' for a local one, and ``s3://bucket`` for a path in a bucket."""
    absolute = absolute_form(path)
    if absolute is None:
        return None
    return "/" if absolute.startswith("/") else "/".join(absolute.split("/")[:3])


def _mixed(url: str, first: list[NumberedPath]) -> DataError:
    one, other = sorted({_kind(one.path): one for one in reversed(first)}.values())[:2]
    return DataError(
        f"{url}: line {one.line} names {shown(one.path)} and line {other.line} {shown(other.path)}; paths of a table "
        "are all relative, all absolute, or all in one bucket"
    )
