"""Read several TFRecord files or folders as one source: `shardkit convert train.tfrecord val.tfrecord OUT`."""

import posixpath
from collections.abc import Sequence

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.sources.packed.tfrecord.files import is_tfrecord_file, is_tfrecord_folder
from shardkit.storage import Folder, open_folder, os_errors_as


def is_tfrecords(url: str) -> bool:
    """Return whether a URL is a TFRecord file, or a folder with TFRecord files and no images."""
    folder = open_folder(url)
    with os_errors_as("read the source", folder.url):
        entry = folder.stat("")
        if entry is None:
            return False
        if entry.is_folder:
            return is_tfrecord_folder(folder)
        above, _, name = folder.url.rpartition("/")
        return is_tfrecord_file(open_folder(above or "/"), name)


def place_together(urls: Sequence[str]) -> tuple[Folder, tuple[str, ...]]:
    """Return the folder that all of several files and folders are in, and their paths below it.

    Raises:
        CallError: One is given twice or is inside another, or they are in different stores.
        DataError: One is neither a TFRecord file nor a folder of such files.
    """
    places = [open_folder(url).url.rstrip("/") for url in urls]
    for i, place in enumerate(places):
        others = [other for j, other in enumerate(places) if j != i]
        if place in others or any(place.startswith(f"{other}/") for other in others):
            msg = f"{printable(place)}: its TFRecords are given twice; give each file or folder once"
            raise CallError(msg)
    for place in places:
        if not is_tfrecords(place):
            msg = (
                f"{printable(place)}: several sources are converted together if all are datasets that shardkit wrote, "
                "or all are TFRecord files or folders of them, and this is none; convert it alone"
            )
            raise DataError(msg)
    schemes = {place.rpartition("://")[0] for place in places}
    paths = [place.rpartition("://")[2] for place in places]
    shared = posixpath.commonpath([posixpath.dirname(path) for path in paths]) if len(schemes) == 1 else ""
    if not shared:
        msg = f"{' and '.join(map(printable, places))} are in different stores; copy one of them next to the other"
        raise CallError(msg)
    scheme = next(iter(schemes))
    return open_folder(f"{scheme}://{shared}" if scheme else shared), tuple(
        posixpath.relpath(path, shared) for path in paths
    )
