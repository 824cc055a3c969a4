"""Folders on this machine, with plain `os` calls: a source may hold a million files.

Paths below a folder are UTF-8 on disk, whatever the locale of the process says: they are keys and names of classes,
and the same files must give the same ones on every host.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import BinaryIO, NamedTuple

from shardkit.errors import SpecialFileError
from shardkit.storage.folder import COPY_BYTES, TEMPORARY, Entry, Folder, read_fully
from shardkit.storage.store_errors import is_of_machine

_IS_UTF8 = sys.getfilesystemencoding() == "utf-8"  # otherwise Python decodes the names of files by the locale


class FileIdentity(NamedTuple):
    """What shows that a file was replaced or changed, without reading it.

    Attributes:
        inode: Number of the file in its file system.
        num_bytes: Size.
        mtime_ns: Modification time, in ns since the epoch.
    """

    inode: int
    num_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class LocalFolder(Folder):
    """A folder of this machine.

    Attributes:
        path: The folder's absolute path, as Python's own functions take it in this process.
    """

    path: str

    @property
    def url(self) -> str:
        """See Folder."""
        return self.path

    def os_path(self, path: str) -> str:
        """Return the path of a file or folder below this one, as Python's own functions take it in this process."""
        return f"{self.path}/{path if _IS_UTF8 else _of_locale(path)}" if path else self.path

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder. Symbolic links are followed; a dangling link is a file of 0 bytes, so that it is reported."""
        return self.scan_names(path, lambda _: True)

    def scan_names(self, path: str, shows: Callable[[str], bool]) -> list[Entry]:
        """Return the children of a folder whose names `shows` accepts, without looking at the others; see `scan`."""
        try:
            with os.scandir(self.os_path(path)) as children:
                if not _IS_UTF8:
                    named = ((child, _of_disk(child.name)) for child in children)
                    return sorted((_entry(child, name) for child, name in named if shows(name)), key=attrgetter("name"))
                shown = (_entry(child, child.name) for child in children if shows(child.name))
                return sorted(shown, key=attrgetter("name"))
        except FileNotFoundError:
            return []

    def names(self, path: str) -> list[str]:
        """Return the names of the children of a folder, in no order; an empty list if there is no such folder."""
        try:
            names = os.listdir(self.os_path(path))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return names if _IS_UTF8 else list(map(_of_disk, names))

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        try:
            found = os.stat(self.os_path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        name = path.rpartition("/")[2] or os.path.basename(self.path)
        return Entry(name, stat.S_ISDIR(found.st_mode), found.st_size, found.st_mtime_ns)

    def identity(self, path: str) -> FileIdentity:
        """Return the identity of the file at a path."""
        found = os.stat(self.os_path(path))
        return FileIdentity(found.st_ino, found.st_size, found.st_mtime_ns)

    def read(self, path: str) -> bytes:
        """See Folder. Unbuffered: one read of the file's size."""
        with open(self.os_path(path), "rb", buffering=0, opener=_open_regular) as file:
            return file.read()

    def open(self, path: str) -> BinaryIO:
        """See Folder."""
        return open(self.os_path(path), "rb", buffering=COPY_BYTES, opener=_open_regular)

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder. Unbuffered: one read of these bytes if the file system returns all at once."""
        with open(self.os_path(path), "rb", buffering=0, opener=_open_regular) as file:
            descriptor = file.fileno()
            return read_fully(lambda done: os.pread(descriptor, num_bytes - done, start + done), num_bytes)

    def open_descriptor(self, path: str) -> int:
        """Open a regular file for reading; the caller closes the descriptor."""
        return _open_regular(self.os_path(path), os.O_RDONLY | os.O_CLOEXEC)

    def create(self) -> None:
        """See Folder."""
        os.makedirs(self.path, exist_ok=True)

    @contextlib.contextmanager
    def atomic_write(self, path: str, *, before_rename: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
        """See Folder. The file is flushed to disk before its rename: a power cut leaves no empty file behind."""
        target = self.os_path(path)
        folder = self.path
        for name in path.split("/")[:-1]:
            folder += f"/{name if _IS_UTF8 else _of_locale(name)}"
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

    def touch(self, path: str) -> None:
        """Give a file the present time; OSError if it does not exist."""
        os.utime(self.os_path(path))

    def remove(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.os_path(path))

    def remove_tree(self, path: str) -> None:
        """See Folder."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.os_path(path))

    def resolve(self, path: str) -> str:
        """See Folder."""
        return os.path.realpath(self.os_path(path))

    def is_link(self, path: str) -> bool:
        """See Folder."""
        return os.path.islink(self.os_path(path))


def _open_regular(path: str, flags: int) -> int:
    """Open a regular file; refuse others: opening a named pipe waits for its writer, and /dev/zero never ends."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    except OSError as error:
        # The disk may have the same error.
        if error.errno == errno.ENXIO and not stat.S_ISREG(os.stat(path).st_mode):
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


def _of_disk(name: str) -> str:
    """Return a name that Python has decoded by the locale as UTF-8; bytes that are not UTF-8 become surrogates."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def _of_locale(path: str) -> str:
    """Return what Python encodes by the locale to the path's bytes in UTF-8; the reverse of `_of_disk`."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def _entry(child: "os.DirEntry[str]", name: str) -> Entry:
    try:
        found = child.stat()
    except OSError as error:
        if is_of_machine(error):  # as an empty file, a good image would be rejected
            raise
        return Entry(name, is_folder=False, num_bytes=0, mtime_ns=0)
    return Entry(name, stat.S_ISDIR(found.st_mode), found.st_size, found.st_mtime_ns)


def write_fully(descriptor: int, data: bytes, start: int) -> None:
    """Write bytes into an open file from an offset on; one call of the kernel may write only some of them."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, start)
        rest, start = rest[written:], start + written
