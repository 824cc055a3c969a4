"""Find out whether folders hold images, by a look at the first few folders in each."""

from collections.abc import Sequence

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.sources.walking import children, ending, join
from shardkit.storage import Folder

MAX_DEPTH = 4  # levels that are searched for a folder's first image, and folders between a split and its labels
NUM_SAMPLED = 3  # folders that are looked into
_SHOWN = 3  # folders named in a message


def image_names(folder: Folder, path: str) -> list[str]:
    """Return the names of the images that are directly in a folder."""
    entries = children(folder, path)
    return [one.name for one in entries if not one.is_folder and ending(one.name) in IMAGE_ENDINGS]


def has_images(folder: Folder, path: str) -> bool:
    """Return whether images are directly in a folder."""
    return bool(image_names(folder, path))


def holds_image(folder: Folder, path: str, depth: int = MAX_DEPTH) -> bool:
    """Return whether a folder, or the first few folders in it, hold an image."""
    if has_images(folder, path):
        return True
    inner = [one.name for one in children(folder, path) if one.is_folder]
    return depth > 0 and any(holds_image(folder, join(path, name), depth - 1) for name in inner[:NUM_SAMPLED])


def listed(names: Sequence[str]) -> str:
    """Return folders as a message names them: ``cat/, dog/, fox/ and 4 more``."""
    shown = ", ".join(f"{printable(name)}/" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
