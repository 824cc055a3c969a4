"""Open the folder that a path or URL names."""

import os

from shardkit.errors import CallError
from shardkit.storage.folder import Folder
from shardkit.storage.local import LocalFolder
from shardkit.storage.remote import RemoteFolder


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
    if scheme in {"s3", "gs"}:
        return RemoteFolder(url.rstrip("/"))
    msg = f"{url!r}: shardkit reads and writes local folders, s3:// and gs://, not {scheme}://"
    raise CallError(msg)
