"""URIs of images: of a file, of a member of an archive, and of a range of a file.

    /data/pets/cats/1.jpg                      s3://bucket/pets/cats/1.jpg
    zip://cats/1.jpg::/data/pets.zip           tar://cats/1.jpg::s3://bucket/pets.tar
    /data/train-00000.tar#bytes=512-20991
    /data/train-00000-of-00002.tfrecord#bytes=12-20991&feature=mask

A member is written as fsspec writes it, so `fsspec.open(uri)` opens it, too. A range names its first and last byte, as
HTTP does (RFC 9110, 14.1.2); of a tf.train.Example in that range, a feature names one value.
"""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.storage import Entry, Folder, LocalFolder, WrappedFolder, open_folder

_ARCHIVES: dict[str, type[ArchiveFolder]] = {"zip": ZipFolder, "tar": TarFolder}
_MEMBER = re.compile(r"(?P<kind>zip|tar)://(?P<path>.+?)::(?P<archive>.+)", re.DOTALL)
_BYTES = r"(?P<file>.+)#bytes=(?P<first>\d{1,18})-(?P<last>\d{1,18})"
_RANGE = re.compile(_BYTES + r"(?:&feature=(?P<feature>.+))?", re.DOTALL)


class Place(NamedTuple):
    """Where the bytes of an image are.

    Attributes:
        folder: A folder or an archive.
        path: The file in it; '' if the URI names none.
        start: Offset of the first byte; None for the whole file.
        num_bytes: Number of bytes from there.
        feature: Feature of the tf.train.Example in this range that has the bytes; None if they are the range itself.
    """

    folder: Folder
    path: str
    start: int | None = None
    num_bytes: int = 0
    feature: str | None = None


def uri_of(folder: Folder, path: str, start: int | None = None, num_bytes: int = 0, feature: str | None = None) -> str:
    """Return the URI of a file, of `num_bytes` of it from `start` on, or of a feature of the example there."""
    while isinstance(folder, WrappedFolder | MountedFolder):
        folder, path = (folder.inner, path) if isinstance(folder, WrappedFolder) else folder.place_of(path)
    if isinstance(folder, ArchiveFolder):
        kind = next(kind for kind, one in _ARCHIVES.items() if isinstance(folder, one))
        member = f"{folder.root}/{path}" if folder.root else path
        uri = f"{kind}://{member}::{folder.archive}"
    else:
        uri = f"{folder.url.rstrip('/')}/{path}"
    if start is None:
        return uri
    part = f"{uri}#bytes={start}-{start + num_bytes - 1}"
    return part if feature is None else f"{part}&feature={quote(feature)}"


def place_of(uri: str) -> Place:
    """Return where a URI leads.

    Raises:
        CallError: Files cannot be read from there, such as by ``ftp://``.
        DataError: There is no such archive, or it is damaged.
    """
    part = _RANGE.fullmatch(uri)
    if part is not None:
        first, last = int(part["first"]), int(part["last"])
        feature = None if part["feature"] is None else unquote(part["feature"])
        return place_of(part["file"])._replace(start=first, num_bytes=last + 1 - first, feature=feature)
    member = _MEMBER.fullmatch(uri)
    if member is not None:
        return Place(_archive(member["kind"], member["archive"]), member["path"])
    return Place(*_in_folder(uri))


def _in_folder(url: str) -> tuple[Folder, str]:
    """Return the folder of a file, and its name."""
    above, _, name = url.rpartition("/")
    return _folder(above or ("/" if url.startswith("/") else ".")), name


@lru_cache(maxsize=64)
def _folder(url: str) -> Folder:
    return open_folder(url)


def _archive(kind: str, url: str) -> Folder:
    folder, name = _in_folder(url)
    # Its list of members is kept, also where a notebook's next run finds another archive of that name.
    return _opened_archive(kind, url, folder.stat(name) if isinstance(folder, LocalFolder) else None)


@lru_cache(maxsize=64)
def _opened_archive(kind: str, url: str, of_file: Entry | None) -> Folder:
    del of_file  # it tells an archive from one that had its name before
    return _ARCHIVES[kind](url)
