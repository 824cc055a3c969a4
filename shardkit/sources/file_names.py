"""Names of files: their endings, what tools leave behind, and bytes that are no text."""

import os
import posixpath

_JUNK = frozenset(
    {
        *("thumbs.db", "desktop.ini", "__macosx", "icon\r", "@eadir", "#recycle", "$recycle.bin"),
        *("venv", "site-packages", "node_modules", "__pycache__"),  # they hold pictures, too
    }
)


def is_ignored(name: str) -> bool:
    """Return whether a file or folder is one that operating systems and tools leave behind, and not data."""
    return name.startswith(".") or name.lower() in _JUNK


def ending(name: str) -> str:
    """Return the lower-case ending of a file name with its dot; '(none)' if the name has none."""
    kind = os.path.splitext(name)[1].lower()
    return encodable_path(kind) or "(none)"  # it is printed, and stored in the manifest


def stem_of(path: str) -> str:
    """Return the name of a file without its ending."""
    return posixpath.splitext(posixpath.basename(path))[0]


def encodable_path(path: str) -> str:
    """Return a path that can be stored in a table: bytes that are not UTF-8 are escaped."""
    if path.isascii():
        return path
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path
