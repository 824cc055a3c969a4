"""URIs of images: of a file, of a member of an archive, and of a range of a file.

    /data/pets/cats/1.jpg                      s3://bucket/pets/cats/1.jpg
    zip://cats/1.jpg::/data/pets.zip           tar://cats/1.jpg::s3://bucket/pets.tar
    /data/train-00000.tar#bytes=512-20991

A member is written as fsspec writes it, so `fsspec.open(uri)` opens it, too. A range names its first and last byte, as
HTTP does (RFC 9110, 14.1.2).
"""

import re
from functools import lru_cache
from typing import NamedTuple

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.storage import Folder, WrappedFolder, open_folder

_ARCHIVES: dict[str, type[ArchiveFolder]] = {"zip": ZipFolder, "tar": TarFolder}
_MEMBER = re.compile(r"(?P<kind>zip|tar)://(?P<path>.+?)::(?P<archive>.+)", re.DOTALL)
_RANGE = re.compile(r"(?P<file>.+)#bytes=(?P<first>\d{1,18})-(?P<last>\d{1,18})", re.DOTALL)


class Place(NamedTuple):
    """Where the bytes of an image are.

    Attributes:
        folder: A folder or an archive.
        path: The file in it; '' if the URI names none.
        start: Offset of the first byte; None for the whole file.
        num_bytes: Number of bytes from there.
    """

    folder: Folder
    path: str
    start: int | None = None
    num_bytes: int = 0


def uri_of(folder: Folder, path: str, start: int | None = None, num_bytes: int = 0) -> str:
    """Return the URI of a file, or of `num_bytes` of it from `start` on."""
    while isinstance(folder, WrappedFolder | MountedFolder):
        folder, path = (folder.inner, path) if isinstance(folder, WrappedFolder) else folder.place_of(path)
    if isinstance(folder, ArchiveFolder):
        kind = next(kind for kind, one in _ARCHIVES.items() if isinstance(folder, one))
        member = f"{folder.root}/{path}" if folder.root else path
        uri = f"{kind}://{member}::{folder.archive}"
    else:
        uri = f"{folder.url.rstrip('/')}/{path}"
    return uri if start is None else f"{uri}#bytes={start}-{start + num_bytes - 1}"


def place_of(uri: str) -> Place:
    """Return where a URI leads.

    Raises:
        CallError: Files cannot be read from there, such as by ``ftp://``.
        DataError: There is no such archive, or it is damaged.
    """
    part = _RANGE.fullmatch(uri)
    if part is not None:
        first, last = int(part["first"]), int(part["last"])
        return place_of(part["file"])._replace(start=first, num_bytes=last + 1 - first)
    member = _MEMBER.fullmatch(uri)
    if member is not None:
        return Place(_archive(member["kind"], member["archive"]), member["path"])
    above, _, name = uri.rpartition("/")
    return Place(_folder(above or ("/" if uri.startswith("/") else ".")), name)


@lru_cache(maxsize=64)
def _folder(url: str) -> Folder:
    return open_folder(url)


@lru_cache(maxsize=64)
def _archive(kind: str, url: str) -> Folder:
    return _ARCHIVES[kind](url)
