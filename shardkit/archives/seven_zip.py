"""Turn a .7z into a .tar, whose members are read by ranges: those of a .7z are compressed together.

The only module that imports py7zr.
"""

import io
import lzma
import tarfile
import tempfile
import zlib
from typing import IO

import py7zr
from py7zr import exceptions
from py7zr.io import Py7zIO, WriterFactory

from shardkit.errors import DataError, ShardkitError
from shardkit.naming import printable

MAX_MEMBERS = 10_000_000  # about 5 GB of memory
_IN_MEMORY_BYTES = 16 << 20  # 16 MiB: larger members pass through a temporary file
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, ValueError, IndexError, KeyError, TypeError, OSError)


def write_tar(file: IO[bytes], url: str, out: IO[bytes], max_bytes: int) -> None:
    """Write the files of a .7z as a .tar.

    Args:
        file: The .7z, seekable.
        url: Its path or URL, for messages.
        out: Receives the .tar.
        max_bytes: Size, unpacked, above which it is not read.

    Raises:
        DataError: It is damaged, encrypted, too large, or has links.
    """
    try:
        with py7zr.SevenZipFile(file) as archive:
            if archive.needs_password():
                raise DataError(f"{url}: the archive is encrypted; unpack it with its password, and convert the folder")
            _refuse_members(url, archive.list(), max_bytes)
            with tarfile.open(fileobj=out, mode="w") as tar:
                archive.extractall(factory=_TarMembers(tar, max_bytes))  # noqa: S202 - writes no file of its own
    except ShardkitError:
        raise
    except (exceptions.PasswordRequired, exceptions.UnsupportedCompressionMethodError) as error:
        msg = f"{url}: the archive is encrypted or packed by an unusual method; unpack it, and convert the folder"
        raise DataError(msg) from error
    except (exceptions.ArchiveError, *_DAMAGED) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = str(error) or type(error).__name__
        msg = f"{url}: this is not a .7z archive, or it is cut short or damaged ({printable(why)})"
        raise DataError(f"{msg}; copy it again from its origin") from error


def _refuse_members(url: str, members: list[py7zr.FileInfo], max_bytes: int) -> None:
    if len(members) > MAX_MEMBERS:
        raise DataError(f"{url}: it has more than {MAX_MEMBERS:,} members; unpack it, and convert the folder")
    if links := [one.filename for one in members if one.is_symlink]:
        msg = f"{url}: {printable(links[0])} in it is a link, and links are not followed"
        raise DataError(f"{msg}; pack the file itself")
    num_bytes = sum(one.uncompressed or 0 for one in members)
    if num_bytes > max_bytes:
        msg = f"{url}: it unpacks to {num_bytes:,} bytes, more than the {max_bytes:,} that such an archive may have"
        raise DataError(f"{msg}; unpack it, and convert the folder")


class _TarMembers(WriterFactory):
    """Adds each file that is unpacked to a .tar."""

    def __init__(self, tar: tarfile.TarFile, max_bytes: int) -> None:
        self._tar = tar
        self._max_bytes = max_bytes

    def create(self, filename: str) -> Py7zIO:
        """Return the object that receives a file."""
        return _TarMember(self._tar, filename, self._max_bytes)


class _TarMember(Py7zIO):
    """One file that is unpacked; it goes into the .tar when it is complete."""

    def __init__(self, tar: tarfile.TarFile, name: str, max_bytes: int) -> None:
        self._tar, self._name, self._max_bytes = tar, name, max_bytes
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - closed by `close`
        self._num_bytes = 0

    def write(self, s: bytes | bytearray) -> int:
        """Add bytes."""
        self._num_bytes += len(s)
        if self._num_bytes > self._max_bytes:
            raise ValueError("a member is larger than the archive says")
        return self._file.write(s)

    def read(self, size: int | None = None) -> bytes:
        """Return bytes that were written."""
        return self._file.read(-1 if size is None else size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        return self._file.seek(offset, whence)

    def flush(self) -> None:
        """Do nothing: the file is temporary."""

    def size(self) -> int:
        """Return the number of bytes."""
        return self._num_bytes

    def close(self) -> None:
        """Write the file into the .tar."""
        if self._file.closed:
            return
        member = tarfile.TarInfo(self._name)
        member.size = self._num_bytes
        self._file.seek(0)
        self._tar.addfile(member, self._file)
        self._file.close()
