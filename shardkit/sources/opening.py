"""From what the user typed as SOURCE to the layout that reads it."""

from shardkit.errors import DataError
from shardkit.sources.class_folders import open_class_folders
from shardkit.sources.listing import Source
from shardkit.storage import Folder, explained, open_folder


def open_source(url: str, *, output: Folder | None = None) -> Source:
    """Find out how a source is laid out.

    Args:
        url: the source's folder.
        output: the folder converted into; left out of the listing where it lies inside the source.

    Raises:
        DataError: there is no such folder, or nothing in it that shardkit knows how to read.
        MachineError: it cannot be read.
    """
    folder = open_folder(url)
    with explained("read the source", folder.url):
        found = folder.stat("")
        if found is None:
            msg = f"{folder.url}: there is no such folder; SOURCE is the folder that holds the label folders"
            raise DataError(msg)
        if not found.is_folder:
            msg = f"{folder.url}: this is a file; SOURCE is the folder that holds the label folders"
            raise DataError(msg)
        return open_class_folders(folder, _path_below(folder, output))


def _path_below(folder: Folder, inner: Folder | None) -> str | None:
    if inner is None:
        return None
    above, below = folder.real(""), inner.real("")
    return below[len(above) + 1 :] if below.startswith(above.rstrip("/") + "/") else None
