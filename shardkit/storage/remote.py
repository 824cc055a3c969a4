"""Prefixes of object stores, by pyarrow.fs.

An object is spooled to local disk and uploaded as a whole: an exception inside an open remote stream publishes the
partial object, in Beam and in pyarrow alike.
"""

import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, BinaryIO

from shardkit.errors import CallError, DataError, StoreError
from shardkit.storage import amazon, google
from shardkit.storage.amazon import ANSWERS_EVERYTHING
from shardkit.storage.folder import TEMPORARY, Entry, Folder
from shardkit.storage.store_errors import store_errors

STORES = ("gs://", "s3://")  # beginnings of the URLs that are read and written
UPLOAD_BYTES = 16 << 20  # 16 MiB: in gs:// each part costs a request, and its size must be a multiple of 256 KiB
_VALID_SECONDS = 60.0  # a pipeline opens a folder for each task: one question a minute for all of them
_believed: dict[tuple[str, str], float] = {}  # when the answers of a kind were believed, by kind and bucket


class RemoteFolder(Folder):
    """A prefix of an object store. Credentials, region and endpoint come from the store's usual variables."""

    def __init__(self, url: str) -> None:
        """Connect to the store.

        Args:
            url: An ``s3://`` or ``gs://`` URL without a slash at its end.

        Raises:
            CallError: pyarrow cannot parse the URL.
        """
        from pyarrow import fs

        self._url = url
        is_google = url.startswith("gs://")
        try:
            found, self._root = fs.FileSystem.from_uri(google.with_retry_limit(url) if is_google else url)
        except ValueError as error:
            said = str(error).replace(google.with_retry_limit(url), url)
            msg = f"{url}: this URL cannot be read: {said}"
            raise CallError(msg) from error
        self._filesystem = found if is_google else amazon.with_time_limits(found)
        self._google_folders = google.FolderLister(self._filesystem) if is_google else None

    def __reduce__(self) -> tuple[type["RemoteFolder"], tuple[str]]:
        return RemoteFolder, (self._url,)

    @property
    def url(self) -> str:
        """See Folder."""
        return self._url

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else str(self._root)

    def _url_of(self, path: str) -> str:
        return f"{self._url}/{path}" if path else self._url

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        """Turn errors of the store into sentences; see `store_errors`."""
        try:
            with store_errors(self._url_of(path)):
                yield
        except StoreError as error:
            if amazon.CONTRADICTION in str(error):  # HEAD and GET are answered by different servers
                self._believe(is_there=True)
            if self._google_folders is None and amazon.may_hide_cause(str(error)):
                # An answer to HEAD has no body, and so no code: a listing of the same folder says why.
                with store_errors(self._url_of(path)):
                    self._list(path)
            raise

    def _list(self, path: str) -> Any:
        from pyarrow import fs

        return self._filesystem.get_file_info(fs.FileSelector(self._at(path), allow_not_found=True))

    def _believe(self, *, is_there: bool) -> None:
        """Check that answers of this kind come from a store; see `store_probes`."""
        if self._google_folders is None:
            check = check_presence if is_there else check_absence
            check(self._filesystem, self._root, self._url)

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        with self._errors(path):
            found = self._list(path) if self._google_folders is None else self._google_folders.scan(self._at(path))
        if not found:
            self._believe(is_there=False)
        # Some stores keep an empty object under the folder's own name.
        return sorted((_entry(info) for info in found if info.base_name), key=attrgetter("name"))

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        from pyarrow import fs

        with self._errors(path):
            info = self._filesystem.get_file_info(self._at(path))
        if info.type != fs.FileType.Directory:
            self._believe(is_there=info.type == fs.FileType.File)
        return None if info.type == fs.FileType.NotFound else _entry(info)

    def read(self, path: str) -> bytes:
        """See Folder."""
        with self._errors(path), self._filesystem.open_input_file(self._at(path)) as file:
            data: bytes = file.readall()
        self._believe(is_there=True)
        return data

    def read_at_most(self, path: str, max_bytes: int) -> bytes:
        """See Folder. The size comes with opening the object, so there is no further request."""
        with self._errors(path), self._filesystem.open_input_file(self._at(path)) as file:
            found = file.size()
            data: bytes = file.readall() if found <= max_bytes else b""
        self._believe(is_there=True)
        if found <= max_bytes:
            return data
        msg = f"{self._url_of(path)}: the object has {found:,} bytes; at most {max_bytes:,} are expected"
        raise DataError(msg)

    def open(self, path: str) -> Any:
        """See Folder."""
        with self._errors(path):
            file = self._filesystem.open_input_file(self._at(path))
        self._believe(is_there=True)
        return file

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder."""
        return self.ranges(path)(start, num_bytes)

    def ranges(self, path: str) -> Callable[[int, int], bytes]:
        """See Folder. Opening asks for the object's size; each range is one request more."""
        file = self.open(path)

        def read(start: int, num_bytes: int) -> bytes:
            with self._errors(path):
                data: bytes = file.read_at(num_bytes, start)
            return data

        return read

    def create(self) -> None:
        """See Folder. Object stores have no folders to create."""

    @contextlib.contextmanager
    def atomic_write(self, path: str, *, before_rename: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
        """See Folder. After the block the object is uploaded under a temporary name, and the store moves it."""
        with tempfile.TemporaryFile(prefix=TEMPORARY) as spool:
            yield spool
            spool.seek(0)
            # If Ctrl-C or an error of the spool interrupts the upload, pyarrow's destructor of the stream still
            # completes it and publishes a partial object: so it must not have the object's own name.
            target = self._at(path)
            temporary = f"{os.path.dirname(target)}/{TEMPORARY}{secrets.token_hex(8)}"
            with store_errors(self._url_of(path)):
                upload = self._filesystem.open_output_stream(temporary)
                while chunk := spool.read(UPLOAD_BYTES):
                    upload.write(chunk)
                upload.close()
                if before_rename is not None:
                    try:
                        before_rename()
                    except BaseException:
                        self._filesystem.delete_file(temporary)
                        raise
                self._filesystem.move(temporary, target)
            self._forget_folders()

    def remove(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError), store_errors(self._url_of(path)):
            self._filesystem.delete_file(self._at(path))
        self._forget_folders()

    def remove_tree(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError), store_errors(self._url_of(path)):
            try:
                self._filesystem.delete_dir(self._at(path))
            except FileNotFoundError:
                raise
            except OSError:
                # In gs://, pyarrow raises no FileNotFoundError for a missing folder.
                if self.stat(path) is not None:
                    raise
        self._forget_folders()

    def _forget_folders(self) -> None:
        if self._google_folders is not None:
            self._google_folders.forget()

    def resolve(self, path: str) -> str:
        """See Folder. Object stores have no links."""
        return self._at(path)


def _entry(info: Any) -> Entry:
    from pyarrow import fs

    return Entry(info.base_name, info.type == fs.FileType.Directory, info.size or 0, info.mtime_ns or 0)


def check_presence(filesystem: Any, root: str, url: str) -> None:
    """Check that the store does not find an object whose name is random.

    A login page or a proxy that answers in the place of a store answers 200 to everything. By a HEAD every object is
    there, so that a folder looks like a file, and by a listing without XML no object is: pyarrow passes both on as
    answers of the store. So the first answer of each kind is believed only after a request that no store grants.

    Args:
        filesystem: pyarrow's S3FileSystem.
        root: The folder's path in the store.
        url: The folder, for the message.

    Raises:
        StoreError: It does.
    """

    def is_found() -> bool:
        filesystem.open_input_file(f"{_bucket(root)}/shardkit-{secrets.token_hex(16)}").close()
        return True

    _check("presence", root, url, is_found)


def check_absence(filesystem: Any, root: str, url: str) -> None:
    """Check that the store does not list a bucket whose name is random; see check_presence."""
    from pyarrow import fs

    def is_found() -> bool:
        filesystem.get_file_info(fs.FileSelector(f"shardkit-{secrets.token_hex(16)}"))
        return True

    _check("absence", root, url, is_found)


def forget() -> None:
    """Believe no answer any more."""
    _believed.clear()


def _bucket(root: str) -> str:
    return root.partition("/")[0]


def _check(kind: str, root: str, url: str, is_found: Callable[[], bool]) -> None:
    now, key = time.monotonic(), (kind, _bucket(root))
    if now - _believed.get(key, -_VALID_SECONDS) < _VALID_SECONDS:
        return
    try:
        found = is_found()
    except OSError:  # a store refuses it: no such bucket, or no permission
        found = False
    if found:
        raise StoreError(f"{url}: {ANSWERS_EVERYTHING}") from PermissionError()  # `is_transient`: no use to try again
    _believed[key] = now
