"""Files, local and remote, through one small interface; a file is either whole or not there.

Local folders use plain ``os`` calls, where a million files pass by; ``s3://`` and ``gs://`` use pyarrow.fs. Both write
an object under its name only when it is complete: locally by temp and rename, remotely by spooling to local disk and
one whole upload, because an exception inside an open remote stream publishes the partial object (in Beam and in pyarrow
alike).
"""

import abc
import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from shardkit.errors import CallError, MachineError, ShardkitError, SpecialFileError
from shardkit.storage import google

TEMPORARY = ".shardkit-tmp-"
COPY_BYTES = 1 << 20  # 1 MiB
UPLOAD_BYTES = 16 << 20  # 16 MiB; of gs:// each costs a request, and the store wants a multiple of 256 KiB


class Entry(NamedTuple):
    """One child of a folder: a file's size in bytes and time of change in ns since the epoch, or a folder."""

    name: str
    is_folder: bool
    num_bytes: int
    mtime_ns: int


class Folder(abc.ABC):
    """A folder and everything below it; paths are relative, POSIX, and '' is the folder itself."""

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """What the user calls the folder."""

    @abc.abstractmethod
    def scan(self, path: str = "") -> list[Entry]:
        """Children of a folder, sorted by name; empty where there is no such folder."""

    @abc.abstractmethod
    def stat(self, path: str) -> Entry | None:
        """The file or folder at path; None where there is none."""

    @abc.abstractmethod
    def read(self, path: str) -> bytes:
        """The whole file."""

    @abc.abstractmethod
    def open(self, path: str) -> Any:
        """The file for reading, seekable, closed by ``with``."""

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """Bytes [start, start + num_bytes) of the file; fewer where it ends before."""
        with self.open(path) as file:
            file.seek(start)
            return _whole(lambda done: file.read(num_bytes - done), num_bytes)

    @abc.abstractmethod
    def make(self) -> None:
        """Make the folder itself, and those above it, where the store has folders; no error where it is there."""

    @abc.abstractmethod
    def writing(
        self, path: str, *, before_rename: Callable[[], None] | None = None
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """Write a file that appears under its name when the block ends without an exception, whole or not at all.

        Folders between this one and the file are made; this one must exist. So removing it stops all its writers.

        Args:
            path: The file's path.
            before_rename: Called when the whole file is there under a temporary name; an exception of it keeps the
                file from appearing.
        """

    @abc.abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file; no error where there is none."""

    @abc.abstractmethod
    def remove_tree(self, path: str) -> None:
        """Remove a folder and all below it; no error where there is none."""

    @abc.abstractmethod
    def real(self, path: str) -> str:
        """The path with symbolic links resolved: two folders are the same where these are equal."""


def open_folder(url: str) -> Folder:
    """The folder at a local path, ``file://``, ``s3://`` or ``gs://`` URL; it need not exist yet.

    Raises:
        CallError: another scheme.
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


@contextlib.contextmanager
def explained(action: str, url: str) -> Iterator[None]:
    """Turn an OSError into one sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ShardkitError):
            raise
        msg = f"{url}: cannot {action}: {error.strerror or error}"
        raise MachineError(msg) from error


def unreadable(url: str, error: OSError) -> ShardkitError:
    """Return the error for a file that exists, or may exist, and that the machine cannot read."""
    if isinstance(error, ShardkitError):  # it says what is wrong, such as a pipe in the place of a file
        return error
    return MachineError(
        f"{url}: cannot be read: {error.strerror or error}; check its permissions, the disk and the network, then run "
        f"again"
    )


@dataclass(frozen=True, slots=True)
class LocalFolder(Folder):
    """A folder of this machine."""

    path: str

    @property
    def url(self) -> str:
        """See Folder."""
        return self.path

    def _at(self, path: str) -> str:
        return f"{self.path}/{path}" if path else self.path

    def scan(self, path: str = "") -> list[Entry]:
        """Children, symbolic links followed; a dangling link is a file of 0 bytes, so that it is reported, not lost."""
        try:
            with os.scandir(self._at(path)) as children:
                return sorted((_local_entry(child) for child in children), key=_name)
        except FileNotFoundError:
            return []

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        try:
            found = os.stat(self._at(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Entry(os.path.basename(self._at(path)), stat.S_ISDIR(found.st_mode), found.st_size, found.st_mtime_ns)

    def read(self, path: str) -> bytes:
        """See Folder; unbuffered, one read of the size the file has."""
        with open(self._at(path), "rb", buffering=0, opener=_open_regular) as file:
            return file.read()

    def open(self, path: str) -> BinaryIO:
        """See Folder."""
        return open(self._at(path), "rb", buffering=COPY_BYTES, opener=_open_regular)

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder; one read where the file system gives all at once, not a buffer's fill."""
        with open(self._at(path), "rb", buffering=0, opener=_open_regular) as file:
            descriptor = file.fileno()
            return _whole(lambda done: os.pread(descriptor, num_bytes - done, start + done), num_bytes)

    def make(self) -> None:
        """See Folder."""
        os.makedirs(self.path, exist_ok=True)

    @contextlib.contextmanager
    def writing(self, path: str, *, before_rename: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
        """See Folder; on the disk before it is renamed: a power cut leaves no empty file under the name."""
        target = self._at(path)
        folder = self.path
        for name in path.split("/")[:-1]:
            folder += f"/{name}"
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
        temporary = f"{folder}/{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}"
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if before_rename is not None:
                before_rename()
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)
            raise

    def remove(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._at(path))

    def remove_tree(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._at(path))

    def real(self, path: str) -> str:
        """See Folder."""
        return os.path.realpath(self._at(path))


def _open_regular(path: str, flags: int) -> int:
    """Open a file, and refuse anything else: opening a named pipe waits for its writer, and /dev/zero has no end."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _special_file(path, "a socket or a device") from error
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # open() itself refuses a folder
        return descriptor
    os.close(descriptor)
    raise _special_file(path, "a named pipe" if stat.S_ISFIFO(mode) else "a device")


def _special_file(path: str, kind: str) -> SpecialFileError:
    msg = f"{path}: this is {kind}, not a file; remove it, or put the file in its place"
    return SpecialFileError(msg)


def _whole(read: Callable[[int], bytes], num_bytes: int) -> bytes:
    """Read until num_bytes have come, or the file ends: file systems of a network give fewer than asked at times.

    Args:
        read: Reads on, given the number of bytes that have come; empty at the end of the file.
        num_bytes: The bytes to read.
    """
    data = read(0)
    if len(data) == num_bytes:
        return data
    parts, done = [data], len(data)
    while data and done < num_bytes:
        data = read(done)
        parts.append(data)
        done += len(data)
    return b"".join(parts)


def _name(entry: Entry) -> str:
    return entry.name


def _local_entry(child: "os.DirEntry[str]") -> Entry:
    try:
        found = child.stat()
    except OSError:
        return Entry(child.name, is_folder=False, num_bytes=0, mtime_ns=0)
    return Entry(child.name, stat.S_ISDIR(found.st_mode), found.st_size, found.st_mtime_ns)


def remove_temporaries(folder: Folder) -> None:
    """Remove the temporary files in a folder. Claim the output first: this removes those of running writers too."""
    for entry in folder.scan():
        if entry.name.startswith(TEMPORARY):
            folder.remove(entry.name)


class RemoteFolder(Folder):
    """A prefix of an object store, by pyarrow.fs: credentials, region and endpoint come from the usual variables."""

    def __init__(self, url: str) -> None:
        from pyarrow import fs

        self._url = url
        is_google = url.startswith("gs://")
        try:
            self._filesystem, self._root = fs.FileSystem.from_uri(google.patient(url) if is_google else url)
        except ValueError as error:
            said = str(error).replace(google.patient(url), url)
            msg = f"{url}: this URL cannot be read: {said}"
            raise CallError(msg) from error
        self._google_folders = google.Folders(self._filesystem) if is_google else None

    def __reduce__(self) -> tuple[type["RemoteFolder"], tuple[str]]:
        return RemoteFolder, (self._url,)

    @property
    def url(self) -> str:
        """See Folder."""
        return self._url

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else str(self._root)

    def _named(self, path: str) -> str:
        return f"{self._url}/{path}" if path else self._url

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        from pyarrow import fs

        with google.plainly_said(self._named(path)):
            if self._google_folders is not None:
                found = self._google_folders.scan(self._at(path))
            else:
                found = self._filesystem.get_file_info(fs.FileSelector(self._at(path), allow_not_found=True))
        # Some stores keep an empty object under the folder's own name.
        return sorted((_remote_entry(info) for info in found if info.base_name), key=_name)

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        from pyarrow import fs

        with google.plainly_said(self._named(path)):
            info = self._filesystem.get_file_info(self._at(path))
        return None if info.type == fs.FileType.NotFound else _remote_entry(info)

    def read(self, path: str) -> bytes:
        """See Folder."""
        with google.plainly_said(self._named(path)), self._filesystem.open_input_file(self._at(path)) as file:
            data: bytes = file.readall()
        return data

    def open(self, path: str) -> Any:
        """See Folder."""
        with google.plainly_said(self._named(path)):
            return self._filesystem.open_input_file(self._at(path))

    def make(self) -> None:
        """See Folder; object stores have none."""

    @contextlib.contextmanager
    def writing(self, path: str, *, before_rename: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
        """See Folder; the object is uploaded after the block, under a temporary name, and moved by the store."""
        with tempfile.TemporaryFile(prefix=TEMPORARY) as spool:
            yield spool
            spool.seek(0)
            # Broken off by Ctrl-C or an error of the spool, the upload is published all the same: pyarrow completes it
            # in the stream's destructor. So not under the object's own name.
            target = self._at(path)
            temporary = f"{os.path.dirname(target)}/{TEMPORARY}{secrets.token_hex(8)}"
            with google.plainly_said(self._named(path)):
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
        with contextlib.suppress(FileNotFoundError), google.plainly_said(self._named(path)):
            self._filesystem.delete_file(self._at(path))
        self._forget_folders()

    def remove_tree(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError), google.plainly_said(self._named(path)):
            try:
                self._filesystem.delete_dir(self._at(path))
            except FileNotFoundError:
                raise
            except OSError:
                # Of gs://, pyarrow has no error of its own for a folder that is not there.
                if self.stat(path) is not None:
                    raise
        self._forget_folders()

    def _forget_folders(self) -> None:
        if self._google_folders is not None:
            self._google_folders.forget()

    def real(self, path: str) -> str:
        """See Folder; object stores have no links."""
        return self._at(path)


def _remote_entry(info: Any) -> Entry:
    from pyarrow import fs

    return Entry(info.base_name, info.type == fs.FileType.Directory, info.size or 0, info.mtime_ns or 0)


def is_out_of_space(error: BaseException) -> bool:
    """Whether an error says that the disk or the quota is full."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
