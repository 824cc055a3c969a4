"""How the paths of images in tables and label files, which another machine may have written, become keys."""

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from shardkit.errors import CallError, DataError
from shardkit.naming import IMAGE_ENDINGS, PLAIN_PATH, relative_path_problem
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.formats.format import encodable
from shardkit.sources.formats.tables.opening import Choice, refuse
from shardkit.sources.formats.tables.values import BLANKS, shown
from shardkit.sources.listing import BadRecord
from shardkit.sources.name_index import without_link
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import ending, join
from shardkit.storage import Folder, open_folder

_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")


class PathPrefix(NamedTuple):
    """A beginning of paths and what replaces it; both without a separator at the end."""

    old: str  # the beginning, with '/' between its parts; '' for the '/' of absolute paths
    new: str  # a local folder's absolute path, or a URL; '' to make the rest a relative path


def parse_prefixes(texts: Iterable[str]) -> tuple[PathPrefix, ...]:
    """Parse ``OLD=NEW``. A local NEW is relative to the working directory."""
    return tuple(map(_parsed, texts))


def _parsed(text: str) -> PathPrefix:
    old, separator, new = text.partition("=")
    if not separator or (not old.strip("/\\") and old != "/"):
        msg = (
            f"{named('path_prefix')} is OLD=NEW: how paths of the table begin, and the folder that it is here, such as "
            f"'C:\\data=/home/me/data'; found {text!r}"
        )
        raise CallError(msg)
    if new and "://" not in new:
        new = os.path.abspath(os.path.expanduser(new))
    return PathPrefix(_slashed(old).rstrip("/"), new.rstrip("/") or new)


def replace_prefix(path: str, prefixes: Sequence[PathPrefix]) -> str:
    """Return a path with the first prefix that fits replaced; whole folder names count, and case on drives does not."""
    if not prefixes:
        return path
    slashed = _slashed(path)
    for old, new in prefixes:
        begins = slashed[: len(old)]
        same = begins.lower() == old.lower() if is_drive(old + "/") else begins == old
        if same and slashed[len(old) : len(old) + 1] in {"", "/"}:
            rest = slashed[len(old) :]
            return new.rstrip("/") + rest if new else rest.lstrip("/")
    return path


def is_drive(path: str) -> bool:
    r"""Return whether a path begins with a drive or a share of Windows: ``C:\`` or ``\\server``."""
    return _DRIVE.match(path) is not None


def folder_parts(path: str) -> list[str]:
    """Return the parts of the folder of a path; the first is '' if the path is absolute."""
    return _slashed(path).split("/")[:-1]


def shared_folder(paths: Iterable[str]) -> list[str]:
    """Return the parts of the deepest folder that all paths begin with."""
    shared: list[str] | None = None
    above = ""
    for path in paths:
        if shared is None or not path.startswith(above):  # most are below what the paths before share
            shared = folder_parts(path) if shared is None else common_parts(shared, folder_parts(path))
            above = "/".join([*shared, ""])
    return shared or []


def common_parts(one: list[str], other: list[str]) -> list[str]:
    """Return the parts that both paths begin with."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return [part for part, _ in pairs]


def _slashed(path: str) -> str:
    # A path of Windows has no other use for a backslash; a path that has '/' may have one in a name.
    return path.replace("\\", "/") if is_drive(path) or "/" not in path else path


MAX_PATH = 4096  # characters: Linux's PATH_MAX
_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # of a URL, or a drive letter
_SHOWN = 100  # characters of a bad path
DROP, ENDING = "drop", "ending"  # options of a reading


@dataclass(frozen=True, slots=True)
class PathRule:
    """How the image paths of a label file become keys."""

    place: str  # folder that the paths start at, below the source's folder
    num_dropped: int = 0  # number of leading folders of each path that do not exist here
    ending: str = ""  # ending to add to names without one; '' to add none

    def key(self, text: object) -> str:
        if not isinstance(text, str) or not text.strip():
            msg = "the path of the image is missing"
            raise BadRecord(BAD_PATH, msg)
        is_whole = self.num_dropped == 0 and len(text) <= MAX_PATH and text == text.strip()
        if is_whole and PLAIN_PATH.fullmatch(text):
            name = f"{self.place}/{text}" if self.place else text
            has_ending = not self.ending or ("." in text and ending(text) in IMAGE_ENDINGS)
            return name if has_ending else name + self.ending
        parts = path_parts(text)
        parts = parts[min(self.num_dropped, len(parts) - 1) :] if parts else []
        path = posixpath.normpath("/".join([*([self.place] if self.place else []), *parts]))
        if self.ending and ending(path) not in IMAGE_ENDINGS:
            path += self.ending
        problem = "it is too long" if len(text) > MAX_PATH else relative_path_problem(path)
        if not problem and encodable(path) != path:
            problem = "it is not Unicode"
        if problem:
            msg = f"the path {text[:_SHOWN]!r} may not be followed: {problem}; write it relative to the image folder"
            raise BadRecord(BAD_PATH, msg)
        return path

    def without_folders(self, text: str) -> str:
        """Return a path without its first folders, if it has some that are dropped."""
        return "/".join(path_parts(text)[self.num_dropped :]) or text if self.num_dropped else text

    @property
    def options(self) -> dict[str, str]:
        """How paths become keys as options of a reading."""
        found = {DROP: str(self.num_dropped) if self.num_dropped else "", ENDING: self.ending}
        return {name: text for name, text in found.items() if text}

    def remark(self) -> str:
        if self.num_dropped:
            if self.num_dropped == MAX_PATH:
                return ", paths without their folders"
            return f", paths without their first {self.num_dropped} {'folders' if self.num_dropped > 1 else 'folder'}"
        return f", names with {self.ending} added" if self.ending else ""


def path_parts(text: str) -> list[str]:
    """Return the parts of a path or URL, without drive letter, scheme and empty parts."""
    text = _START.sub("", text.strip().replace("\\", "/"), count=1)
    return [part for part in text.split("/") if part not in {"", "."}]


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True, slots=True)
class KeyBuilder:
    """Builds keys from paths."""

    root: str  # URL of the folder that absolute paths must be below, with a '/' at its end
    # URL of the table's folder, with a '/' at its end: paths that begin with `../` start there; None to reject them
    table_folder: str | None = None
    prefixes: tuple[PathPrefix, ...] = ()  # replacements of the beginning of paths
    place: str = ""  # folder below the root that relative paths start at

    def key(self, path: object) -> str:
        if isinstance(path, int) and not isinstance(path, bool):
            path = str(path)  # an identifier such as 17 for 17.jpg
        if not isinstance(path, str):
            msg = "the path of the image is missing" if path is None else f"{shown(path)} is not the path of an image"
            raise BadRecord(BAD_PATH, msg)
        path = without_link(path.strip(BLANKS))
        if len(path) > MAX_PATH:
            msg = f"the path {shown(path)} has {len(path):,} characters, more than {MAX_PATH:,}"
            raise BadRecord(BAD_PATH, msg)
        if not self.prefixes and PLAIN_PATH.fullmatch(path):
            return f"{self.place}/{path}" if self.place else path
        mapped = replace_prefix(path, self.prefixes)
        absolute = absolute_form(mapped)
        if self.table_folder and (resolved := _resolved(mapped, self.table_folder)):
            absolute = resolved
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
        return join(self.place, relative) if absolute is None else relative


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
    """Return the folder that keys start at, and how keys are built; without a table's folder for absolute paths.

    Paths are of one kind if they are all relative, all local, or all in one bucket. The kind of most of the first paths
    counts. Paths that begin with ``../`` are resolved from the table's folder,
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
            root = "/".join(shared_folder(all_resolved)) or "/"
            raise refuse(problem, source, [Choice({"root": root}, "all images are below this folder")])
        return table_folder, KeyBuilder(start, table_folder=start, prefixes=prefixes)
    of_kind = (absolute_form(path) or "" for path in mapped if _kind(path) == kind)
    shared = shared_folder(path for path in of_kind if "/../" not in path)  # others are rejected later
    folder = open_folder("/".join(shared) or "/")
    return folder, KeyBuilder(root_of(folder), prefixes=prefixes)


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
