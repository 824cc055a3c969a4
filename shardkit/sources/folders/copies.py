"""Folders that repeat what is next to them: an archive unpacked into itself, or "cat - Copy" next to cat."""

import re

from shardkit.sources.listing import is_ignored
from shardkit.sources.walking import children, is_folder, join
from shardkit.storage import Folder

_MAX_PROBED = 300  # folders that are asked for a copy of the tree
_NUM_SAMPLED = 3  # names of its siblings that a copy is asked for
# Windows, macOS, Linux and browsers: "cat - Copy (2)", "cat copy 2", "cat (copy)", "cat (1)".
_COPY = re.compile(
    r"(?P<of>.+?)(?: - (?:copy|kopie|copie|copia)(?: \([0-9]+\))?| (?:copy|kopie)(?: [0-9]+)?| \((?:copy|[0-9]+)\))",
    re.IGNORECASE,
)


def copies_among(folder: Folder, names: list[str]) -> dict[str, str]:
    """Return the folders that may be copies, and what of: the path of a folder, '' for the one around them.

    Args:
        folder: The folder that they are in.
        names: The names of all folders in it.
    """
    found = {name: of for name in names if (of := original_of(name)) and of in names}
    if len(names) <= _MAX_PROBED:
        found |= {name: "" for name in names if _repeats_siblings(folder, name, names)}
    return found


def original_of(name: str) -> str | None:
    """Return the name of which a name is that of a copy, such as ``pets`` of ``pets (1)``; None if it is not one."""
    found = _COPY.fullmatch(name)
    return found["of"] if found else None


def is_same_tree(folder: Folder, copy: str, original: str) -> bool:
    """Return whether a folder has no file that another one lacks; files are compared by path and size.

    Args:
        folder: The folder that both are in.
        copy: Path of the copy.
        original: Path of the other folder; '' for `folder` itself.
    """
    pairs = [(copy, original)]
    while pairs:
        here, there = pairs.pop()
        others = {entry.name: entry for entry in children(folder, there)}
        for entry in children(folder, here):
            if is_ignored(entry.name):
                continue
            other = others.get(entry.name)
            if other is None or other.is_folder != entry.is_folder:
                return False
            if entry.is_folder:
                pairs.append((join(here, entry.name), join(there, entry.name)))
            elif entry.num_bytes != other.num_bytes:
                return False
    return True


def _repeats_siblings(folder: Folder, name: str, names: list[str]) -> bool:
    """Return whether a folder has folders with its siblings' names: an archive was unpacked into itself."""
    # Of the first few names only: all names for each of 20,000 classes would take minutes.
    others = [other for other in names[: _NUM_SAMPLED + 1] if other != name][:_NUM_SAMPLED]
    return len(others) > 1 and all(is_folder(folder, join(name, other)) for other in others)
