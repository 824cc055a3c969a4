"""Read ranges of the files of a folder, with a few files kept open; write one local file whole or not at all.

Opening, checking and closing a file takes several times as long as reading a small record from the page cache; in an
object store it takes a request of its own.
"""

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from shardkit.errors import MachineError
from shardkit.storage.folder import Folder
from shardkit.storage.local import LocalFolder

MAX_OPEN_FILES = 64  # of the usual limit of 1,024 for a process
_NOWAIT = 0x8  # RWF_NOWAIT of Linux 4.14: only what the page cache has
# f_type of tmpfs (/dev/shm) and ramfs: files that are always in memory, and for which the kernel refuses RWF_NOWAIT.
_IN_MEMORY = (0x01021994, 0x858458F6)

# PyDLL keeps the interpreter's lock during a call: see `OpenFiles.read_cached`.
_LIBC = ctypes.PyDLL(None)
_preadv2 = getattr(_LIBC, "preadv2", None)  # Linux has it
if _preadv2 is not None:
    _preadv2.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int]
    _preadv2.restype = ctypes.c_ssize_t


def _flags(descriptor: int) -> int:
    """Return the flags with which `preadv2` never waits for a disk."""
    room = (ctypes.c_ulong * 32)()  # a struct statfs, and more
    is_known = _LIBC.fstatfs(descriptor, room) == 0
    return 0 if is_known and room[0] in _IN_MEMORY else _NOWAIT


class _OpenFile:
    """A descriptor that is closed when nobody uses it any more.

    A thread may still read the file while another one evicts it from the cache. After an explicit close, the kernel
    could give the number to another file, and the thread would read that one.
    """

    __slots__ = ("descriptor", "flags")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.flags = 0 if _preadv2 is None else _flags(descriptor)  # of `preadv2`

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at exit, `os` may be gone already
        close(self.descriptor)


class OpenFiles:
    """Ranges of files of a folder. Safe for threads and for forked processes: `pread` has no shared position."""

    def __init__(self, folder: Folder) -> None:
        """Read files of a folder; none is opened yet."""
        self._folder = folder
        self._ranges = functools.lru_cache(MAX_OPEN_FILES)(folder.ranges)
        self._open: functools._lru_cache_wrapper[_OpenFile] | None = None
        if isinstance(folder, LocalFolder):
            local = folder
            self._open = functools.lru_cache(MAX_OPEN_FILES)(lambda path: _OpenFile(local.open_descriptor(path)))

    @property
    def url(self) -> str:
        """The folder, for messages."""
        return self._folder.url

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine."""
        return self._open is not None

    def reopen(self) -> None:
        """Open each file anew from now on: another one may have its name."""
        self._ranges.cache_clear()
        if self._open is not None:
            self._open.cache_clear()

    def will_need(self, path: str, start: int, num_bytes: int) -> None:
        """Let the kernel read a range of a local file soon, while the program does something else."""
        if self._open is not None and hasattr(os, "posix_fadvise"):  # macOS has none
            with contextlib.suppress(OSError):  # advice, which file systems may refuse; reading reports what is wrong
                os.posix_fadvise(self._open(path).descriptor, start, num_bytes, os.POSIX_FADV_WILLNEED)

    def read_cached(self, path: str, vector: int, start: int) -> int:
        """Read a range of a local file into memory if the page cache has it, without releasing the interpreter's lock.

        Getting the lock back takes up to 5 ms while another thread runs Python without a break. What the page cache
        does not have is left to `read_into`, which releases the lock, so that a slow disk stops no other thread.

        Args:
            path: Path of the file.
            vector: Address of a `struct iovec`: the address of the memory, and the number of bytes.
            start: Offset in the file.

        Returns:
            The number of bytes that were read; -1 if there are none at once.
        """
        if self._open is None or _preadv2 is None:
            return -1
        file = self._open(path)
        return int(_preadv2(file.descriptor, vector, 1, start, file.flags))

    def read_into(self, path: str, room: memoryview, start: int) -> int:
        """Read a range of a local file into memory, and return the number of bytes that were read.

        Raises:
            OSError: The file cannot be opened or read.
        """
        assert self._open is not None  # noqa: S101 - for local files only
        file = self._open(path)
        return os.preadv(file.descriptor, [room], start)

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """Return bytes [start, start + num_bytes) of a file; fewer if the file ends before.

        Raises:
            OSError: The file cannot be opened or read.
        """
        if self._open is not None:
            file = self._open(path)
            data = os.pread(file.descriptor, num_bytes, start)
            if len(data) == num_bytes:
                return data
            return self._folder.read_range(path, start, num_bytes)  # a network file system may return fewer at once
        return self._ranges(path)(start, num_bytes)


@contextlib.contextmanager
def whole_file(path: Path, what: str) -> Iterator[Path]:
    """Give the block a temporary path, and rename it to the file's when the block ends without an error.

    Args:
        path: The file.
        what: What it is, for the error: "the page".

    Raises:
        MachineError: The file cannot be written.
    """
    temporary = path.with_name(f"{path.name}.unfinished")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        msg = f"{path}: {what} cannot be written: {error.strerror or error}"
        raise MachineError(msg) from error
    finally:
        with contextlib.suppress(OSError):  # it is not there
            temporary.unlink()
