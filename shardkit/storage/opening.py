"""Open the folder that a path or URL names."""

import os
import posixpath
from collections.abc import Sequence

from shardkit.errors import CallError, DataError, SpecialFileError
from shardkit.storage.folder import Folder
from shardkit.storage.local import LocalFolder
from shardkit.storage.remote import STORES, RemoteFolder
from shardkit.storage.store_errors import unreadable


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


def read_text_file(where: str, name: str, max_bytes: int) -> str:
    """Return the text of a file that the user has named.

    Args:
        where: The option with its value, for messages.
        name: Path or URL of the file.
        max_bytes: Size above which it is not read.

    Raises:
        CallError: There is no such file, it is a folder, a pipe or a device, it is larger, or it is not UTF-8.
        MachineError: It cannot be read.
    """
    folder, slash, last = name.rpartition("/")
    if not last:  # for example an undefined variable of a shell
        raise CallError(f"{where}: this is no file")
    try:
        return open_folder(folder + slash or ".").read_at_most(last, max_bytes).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        raise CallError(f"{where}: there is no such file") from None
    except IsADirectoryError:
        raise CallError(f"{where}: this is a folder; give a file") from None
    except UnicodeDecodeError as error:
        msg = f"{where}: the file is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise CallError(msg) from None
    except SpecialFileError:
        raise CallError(f"{where}: this is a pipe or a device; write its content into a file, and give that") from None
    except DataError:
        raise CallError(f"{where}: the file has more than {max_bytes:,} bytes, the most that is read") from None
    except OSError as error:
        raise unreadable(where, error) from error
