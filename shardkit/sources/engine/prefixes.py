r"""Replace the beginning of paths that were written on another machine: ``C:\Users\…`` or ``/content/drive/…``."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shardkit.errors import CallError
from shardkit.options.words import named

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
    for path in paths:
        parts = folder_parts(path)
        shared = parts if shared is None else common_parts(shared, parts)
    return shared or []


def common_parts(one: list[str], other: list[str]) -> list[str]:
    """Return the parts that both paths begin with."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:i]
    return min(one, other, key=len)


def _slashed(path: str) -> str:
    # A path of Windows has no other use for a backslash; a path that has '/' may have one in a name.
    return path.replace("\\", "/") if is_drive(path) or "/" not in path else path
