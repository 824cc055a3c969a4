"""Turn a table's image paths into keys: the folder that they share, and each path below it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.naming import PLAIN_PATH, relative_path_problem
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.engine.prefixes import (
    PathPrefix,
    common_parts,
    parse_prefixes,
    replace_prefix,
)
from shardkit.sources.engine.table_refusals import Choice, refuse
from shardkit.sources.formats.tables.values import BLANKS, shown
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import without_link
from shardkit.sources.options import SourceOptions
from shardkit.storage import Folder, open_folder

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_MAX_PATH = 4096  # characters: Linux's PATH_MAX; object stores allow 1,024 bytes


@dataclass(frozen=True, slots=True)
class KeyBuilder:
    """Builds keys from paths."""

    root: str  # URL of the folder that absolute paths must be below, with a '/' at its end
    # Whether relative paths are rejected, because the root is only the common parent of absolute ones
    absolute_only: bool = False
    # URL of the table's folder, with a '/' at its end: paths that begin with `../` start there; None to reject them
    table_folder: str | None = None
    prefixes: tuple[PathPrefix, ...] = ()  # replacements of the beginning of paths

    def key(self, path: object) -> str:
        if isinstance(path, int) and not isinstance(path, bool):
            path = str(path)  # an identifier such as 17 for 17.jpg
        if not isinstance(path, str):
            msg = "the path of the image is missing" if path is None else f"{shown(path)} is not the path of an image"
            raise BadRecord(BAD_PATH, msg)
        path = without_link(path.strip(BLANKS))
        if len(path) > _MAX_PATH:
            msg = f"the path {shown(path)} has {len(path):,} characters, more than {_MAX_PATH:,}"
            raise BadRecord(BAD_PATH, msg)
        if not self.absolute_only and not self.prefixes and PLAIN_PATH.fullmatch(path):
            return path
        mapped = replace_prefix(path, self.prefixes)
        absolute = absolute_form(mapped)
        if self.table_folder and (resolved := _resolved(mapped, self.table_folder)):
            absolute = resolved
        if absolute is None and self.absolute_only:
            msg = f"the path {shown(path)} is relative, those of the first records are absolute; write it like them"
            raise BadRecord(BAD_PATH, msg)
        if absolute is None:
            relative = mapped.replace("\\", "/")  # in tables made on Windows
            while relative.startswith("./"):
                relative = relative[2:]
        elif absolute.startswith(self.root):
            relative = absolute[len(self.root) :]
        else:
            resolved_to = f" (resolved to {absolute})" if absolute != path else ""
            msg = (
                f"the path {shown(path)} is outside {self.root}{resolved_to}; set `root` to a folder that contains all "
                "images"
            )
            raise BadRecord(BAD_PATH, msg)
        if problem := relative_path_problem(relative):
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
    source: str,
    table_folder: Folder,
    options: SourceOptions,
    first: Sequence[str],
    all_paths: Callable[[], Iterable[str]],
) -> tuple[Folder, KeyBuilder]:
    """Return the folder that keys start at, and how keys are built.

    Paths are of one kind if they are all relative, all local, or all in one bucket. The kind of most of the first paths
    counts, and paths of another kind are rejected. Paths that begin with ``../`` are resolved from the table's folder,
    and have to lead below the root, which is then the user's.
    """
    prefixes, start = parse_prefixes(options.path_prefix), root_of(table_folder)
    if options.root is not None:
        folder = open_folder(options.root)
        return folder, KeyBuilder(root_of(folder), table_folder=start, prefixes=prefixes)
    first = [replace_prefix(path, prefixes) for path in first]
    [(kind, num)] = Counter(map(_kind, first)).most_common(1)
    if 2 * num <= len(first):
        one, other, *_ = {_kind(path): path for path in first}.values()
        msg = (
            f"{source}: it names {shown(one)} and {shown(other)}; paths of a table are all relative, all absolute, or "
        )
        raise DataError(f"{msg}or all in one bucket")
    mapped = (replace_prefix(path, prefixes) for path in all_paths())
    if kind is None:
        upwards = {path: leads for path in first if (leads := _resolved(path, start)) and not leads.startswith(start)}
        if 2 * len(upwards) > len({*first}):
            all_resolved = (_resolved(path, start) or start + path for path in mapped if _kind(path) is None)
            path, leads = next(iter(upwards.items()))
            problem = f"{source}: paths such as {shown(path)} point outside the table's folder, to {shown(leads)}"
            root = _common_folder(all_resolved)
            raise refuse(problem, source, [Choice({"root": root}, "all images are below this folder")])
        return table_folder, KeyBuilder(start, table_folder=start, prefixes=prefixes)
    of_kind = (absolute_form(path) or "" for path in mapped if _kind(path) == kind)
    folder = open_folder(_common_folder(path for path in of_kind if "/../" not in path))  # others are rejected later
    return folder, KeyBuilder(root_of(folder), absolute_only=True, prefixes=prefixes)


def _common_folder(paths: Iterable[str]) -> str:
    common: list[str] | None = None
    above = ""
    for path in paths:
        if common is not None and path.startswith(above):
            continue
        parts = path.split("/")[:-1]
        common = parts if common is None else common_parts(common, parts)
        above = "/".join(common) + "/"
    return "/".join(common or []) or "/"


def _resolved(path: str, start: str) -> str | None:
    """Return where a relative path that begins with ``../`` leads; None for other paths, or if it leads nowhere."""
    rest = path.replace("\\", "/") if "/" not in path else path
    if not rest.startswith("../"):
        return None
    scheme, separator, above = start.rpartition("://")
    parts = above.rstrip("/").split("/")
    while rest.startswith("../"):
        if len(parts) <= 1:
            return None
        parts.pop()
        rest = rest[len("../") :]
    return f"{scheme}{separator}{'/'.join(parts)}/{rest}"


def root_of(folder: Folder) -> str:
    """Return a folder's URL with one '/' at its end."""
    return folder.url.rstrip("/") + "/"


def _kind(path: str) -> str | None:
    """Return None for a relative path, '/' for a local one, and ``s3://bucket`` for a path in a bucket.

    A path of Windows is a relative one here.
    """
    absolute = absolute_form(path)
    if absolute is None:
        return None
    return "/" if absolute.startswith("/") else "/".join(absolute.split("/")[:3])
