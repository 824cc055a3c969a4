"""Darknet's obj.data, which CVAT exports as "YOLO 1.1": the paths of the image lists and of the class names.

    classes = 2
    train = data/train.txt
    names = data/obj.names
    backup = backup/

Paths start at the trainer's folder, often ``data/``, which is not in the export.
"""

import posixpath
from collections.abc import Callable

from shardkit.naming import split_of_folder
from shardkit.sources.detection.yolo.data_yaml import resolve
from shardkit.sources.walking import children
from shardkit.storage import Folder, os_errors_as

_MAX_BYTES = 1 << 16  # 64 KiB
_NAMES = "names"


def darknet_data(folder: Folder) -> str | None:
    """Return the name of a folder's only ``*.data`` file, if it has class names and image lists; else None."""
    found = [one.name for one in children(folder) if not one.is_folder and one.name.lower().endswith(".data")]
    if len(found) != 1:
        return None
    keys = read_darknet(folder, found[0]).keys()
    return found[0] if _NAMES in keys and any(map(split_of_folder, keys)) else None


def read_darknet(folder: Folder, path: str) -> dict[str, str]:
    """Return the file's values by key."""
    with os_errors_as("read", f"{folder.url}/{path}"), folder.open(path) as file:
        text = file.read(_MAX_BYTES).decode("utf-8-sig", "replace")
    pairs = (line.partition("=") for line in text.split("\n") if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def darknet_paths(
    values: dict[str, str], root: str, exists: Callable[[str], bool]
) -> tuple[str | None, list[tuple[str, str]]]:
    """Return the path of the class names, and (split, path) of the lists that exist.

    A path is shortened from its beginning until it exists.

    Args:
        values: Result of read_darknet.
        root: The source's folder.
        exists: Returns whether a path exists below it.
    """

    def found(value: str) -> str | None:
        # `resolve` tries every end of an absolute path: the dataset may have been moved.
        return resolve(root, "", f"/{posixpath.normpath(value)}", exists) if value else None

    lists = [
        (split, path) for key, value in values.items() if (split := split_of_folder(key)) and (path := found(value))
    ]
    return found(values.get(_NAMES, "")), lists
