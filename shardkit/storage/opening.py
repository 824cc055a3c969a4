"""Open the folder that a path or URL names."""

import os
import posixpath
from collections.abc import Sequence

from shardkit.errors import CallError
from shardkit.storage.folder import Folder
from shardkit.storage.local import LocalFolder
from shardkit.storage.remote import STORES, RemoteFolder


def open_folder(url: str) -> Folder:
    """Return the folder at a local path or a ``file://``, ``s3://`` or ``gs://`` URL; it need not exist yet.

    Raises:
        CallError: The URL has another scheme.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return LocalFolder(os.path.abspath(os.path.expanduser(url)))
    if scheme == "file":
        return LocalFolder(os.path.abspath("/" + rest.lstrip("/")))
    if url.startswith(STORES):
        return RemoteFolder(url.rstrip("/"))
    msg = f"{url!r}: shardkit reads and writes local folders, s3:// and gs://, not {scheme}://"
    raise CallError(msg)


def shared_folder(urls: Sequence[str]) -> str:
    """Return the deepest folder that all of several absolute paths or URLs are in, or that they are.

    Raises:
        CallError: They are in different stores or buckets.
    """
    schemes = {url.rpartition("://")[0] for url in urls}
    shared = posixpath.commonpath([url.rpartition("://")[2] for url in urls]) if len(schemes) == 1 else ""
    if not shared:
        msg = f"{' and '.join(sorted(set(urls)))} are in different stores; copy one of them next to the other"
        raise CallError(msg)
    scheme = schemes.pop()
    return f"{scheme}://{shared}" if scheme else shared
