"""Refuse a list or a pattern of files given as SOURCE, with the commands for their folder."""

import contextlib
import posixpath
import re
from collections.abc import Sequence

from shardkit.dataset.foreign.file_names import is_tfrecord_name
from shardkit.naming import IMAGE_ENDINGS
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.walking import ending
from shardkit.storage import open_folder

_PATTERN = re.compile(r"[*?\[{]")


def files_refusal(paths: Sequence[str]) -> RefusalError | None:
    """Return the error for image files given as SOURCE; None if not all of them are named like images."""
    if not paths or any(ending(path) not in IMAGE_ENDINGS for path in paths):
        return None
    what = f"{paths[0]} is an image file" if len(paths) == 1 else f"{paths[0]} and the others are image files"
    are_alike = len({path.startswith("/") for path in paths}) == 1  # URLs are relative
    folder = posixpath.commonpath([posixpath.dirname(path) for path in paths]) if are_alike else ""
    return RefusalError(f"{what}, and SOURCE is the folder of the images", _commands(folder or "."))


def pattern_refusal(source: str) -> RefusalError | None:
    """Return the error for a pattern such as ``photos/*.jpg``; None if there is none, or a folder has this name."""
    scheme, separator, path = source.rpartition("://")
    parts = path.split("/")
    first = next((i for i, part in enumerate(parts) if _PATTERN.search(part)), None)
    if first is None:
        return None
    with contextlib.suppress(OSError):
        if open_folder(source).stat("") is not None:
            return None
    folder = scheme + separator + ("/".join(parts[:first]) or ("/" if path.startswith("/") else "."))
    if is_tfrecord_name(_PATTERN.sub("0", parts[-1])):
        commands = [Change(f"all TFRecord files in it; {named('ignore')} leaves some out", sources=(folder,))]
        return RefusalError(f"{source} is a pattern; SOURCE is one file, or a folder", commands)
    return RefusalError(
        f"{source} is a pattern; SOURCE is one folder, table, list, label file or archive", _commands(folder)
    )


def _commands(folder: str) -> list[Change]:
    """Return the commands for a folder, and for the one above if it has no folders, as a class has none."""
    above, _, name = folder.rpartition("/")
    commands = [Change("each folder in it is a class", sources=(folder,))]
    if not above or name in {".", ".."} or above.endswith(":/"):
        return commands
    with contextlib.suppress(OSError):
        if any(entry.is_folder for entry in open_folder(folder).scan()):
            return commands
    return [Change(f"{name} is one of the classes", sources=(above,)), *commands]
