"""Walking folders of a source for the layouts whose images and labels are files that are paired by name."""

import errno
from collections.abc import Iterator

from shardkit.errors import SpecialFileError
from shardkit.naming import MANIFEST, RUN_LOG
from shardkit.sources.listing import is_ignored
from shardkit.storage import Entry, Folder, os_errors_as

MIN_SLICE = 2_000  # label files: fewer are read faster than a worker is started for them
MAX_SLICES = 16  # every worker walks the folder again: about 5 µs a file and slice, against 100 to parse its labels
# A path from a label file that no file system can follow: there is nothing at its end.
_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}


def join(*parts: str) -> str:
    """Paths one below the other; '' is the root."""
    return "/".join(part for part in parts if part)


def parent_of(path: str) -> str:
    """The folder that a path is in."""
    return path.rpartition("/")[0]


def children(folder: Folder, path: str = "") -> list[Entry]:
    """What a folder holds, without what systems leave behind; empty where it cannot be there.

    Raises:
        MachineError: it cannot be listed.
    """
    with os_errors_as("list the folder", f"{folder.url}/{path}"):
        try:
            return [entry for entry in folder.scan(path) if not is_ignored(entry.name)]
        except OSError as error:
            if error.errno in _NOWHERE:
                return []
            raise


def folders_in(folder: Folder, path: str = "") -> list[str]:
    """Names of the folders in a folder."""
    return [entry.name for entry in children(folder, path) if entry.is_folder]


def is_folder(folder: Folder, path: str) -> bool:
    """Whether there is such a folder."""
    found = file_or_folder(folder, path)
    return found is not None and found.is_folder


def file_or_folder(folder: Folder, path: str) -> Entry | None:
    """What is at a path; None where there is nothing, or can be nothing."""
    with os_errors_as("read", f"{folder.url}/{path}"):
        try:
            return folder.stat(path)
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            raise


def read_label_file(folder: Folder, path: str, num_bytes: int, max_bytes: int) -> bytes | str:
    """Read the label file of one image, or say why it cannot be used.

    Args:
        folder: The folder that the path is below.
        path: The label file.
        num_bytes: Its size as listed.
        max_bytes: The size above which it is not read.

    Raises:
        MachineError: The disk or the network failed.
    """
    if num_bytes > max_bytes:
        return f"it has {num_bytes:,} bytes, more than {max_bytes:,}"
    with os_errors_as("read", f"{folder.url}/{path}"):
        try:
            data = folder.read(path)
        except (PermissionError, SpecialFileError) as error:
            return f"it cannot be read: {error.strerror or error}"
        except OSError as error:
            if error.errno in _NOWHERE:
                return "it cannot be read: is it a link that leads nowhere?"
            raise
    return data if len(data) <= max_bytes else f"it has {len(data):,} bytes, more than {max_bytes:,}"


def files_below(folder: Folder, path: str, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Entry]]:
    """Path and entry of every file below a folder, sorted by name, folder by folder; links that lead up are left out.

    Datasets that were converted into the source are left out too.
    """
    here = folder.resolve(path)
    if here in above:
        return
    entries = children(folder, path)
    if {entry.name for entry in entries} >= {MANIFEST, RUN_LOG}:
        return
    for entry in entries:
        if not entry.is_folder:
            yield join(path, entry.name), entry
    for entry in entries:
        if entry.is_folder:
            yield from files_below(folder, join(path, entry.name), (*above, here))


def num_slices(num_files: int) -> int:
    """How many parts so many label files are listed in."""
    return max(1, min(MAX_SLICES, num_files // MIN_SLICE))


def slice_bounds(num_files: int, index: int, num: int) -> slice:
    """Part `index` of `num`: they cover all files once, and differ by at most one."""
    return slice(num_files * index // num, num_files * (index + 1) // num)
