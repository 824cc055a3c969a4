"""Open archives that are not read in place: compressed tars, .7z, and archives in archives.

Each becomes one file in the work folder of the conversion, whose members are then read by ranges: a .tar stays a .tar
without its compression, a .7z becomes one, a .zip in a .zip is copied. No member is ever written under its own name, so
that no path, link or device of an archive can reach the disk. The file appears whole or not at all, its name follows
from the archive, and a conversion that is resumed finds it again.
"""

import bz2
import contextlib
import gzip
import hashlib
import lzma
import posixpath
import re
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.archives.mounted_folder import Mount, MountedFolder
from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.errors import BombError, DataError
from shardkit.extras import require_extra
from shardkit.naming import WORK_FOLDER, printable
from shardkit.storage import COPY_BYTES, Folder, LocalFolder, RemoteFolder, os_errors_as

MAX_BYTES = 1 << 40  # 1 TiB, unpacked
_MAX_RATIO = 1000  # see zip_folder
_SMALL_BYTES = 64 << 20  # 64 MiB: below this an archive of empty masks may have any ratio
_TOLD_BYTES = 4 << 20  # 4 MiB: smaller archives are unpacked in a moment
_TOLD_SECONDS = 10  # between two messages
UNPACKED = f"{WORK_FOLDER}/unpacked"
_OPENERS: dict[str, Callable[[Any], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
    **dict.fromkeys((".gz", ".tgz"), lambda file: gzip.GzipFile(fileobj=file)),
    **dict.fromkeys((".bz2", ".tbz2", ".tbz"), bz2.BZ2File),
    **dict.fromkeys((".xz", ".txz"), lzma.LZMAFile),
}
COMPRESSED_TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz")
ARCHIVES = (".zip", ".tar", ".7z", *COMPRESSED_TARS)
_TABLE = re.compile(r"(?P<plain>.+\.(?:csv|tsv|json|jsonl|ndjson|txt))\.(?:gz|bz2|xz)", re.IGNORECASE)
# Parts of one archive that was cut: data.z01, data.zip.001, data.7z.001, data.part1.rar, data.tar.gz.aa
_CUT = re.compile(
    r"(?P<of>.+?)\.(?:z[0-9]{2}|(?:zip|7z|tar|tar\.gz|tgz)\.(?:[0-9]{3}|a[a-z]|part[0-9a-z]+)|part[0-9]+\.rar)",
    re.IGNORECASE,
)
_SHARED: ContextVar[Folder | None] = ContextVar("folder of all unpackers", default=None)
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def is_archive(name: str) -> bool:
    """Return whether a file has the ending of an archive that is read as a tree of folders."""
    return name.lower().endswith(ARCHIVES)


def plain_name(name: str) -> str | None:
    """Return the name of a table such as labels.csv.gz without the compression; None for other files."""
    found = _TABLE.fullmatch(name)
    return found["plain"] if found else None


def cut_from(name: str) -> str | None:
    """Return the stem of the archive that a file such as data.zip.001 or data.z01 is a part of; None for others."""
    found = _CUT.fullmatch(name)
    return found["of"] if found else None


def stem_of(name: str) -> str:
    """Return the name of an archive without its ending."""
    kind = max((one for one in ARCHIVES if name.lower().endswith(one)), key=len, default="")
    return name[: len(name) - len(kind)]


def head_of_tar(folder: Folder, path: str, num_bytes: int) -> bytes:
    """Return the first bytes of a compressed .tar; b"" if it is damaged from the beginning."""
    with os_errors_as("read the archive", folder.url_of(path)), folder.open(path) as file:
        try:
            with _opener(path)(file) as unpacked:
                return unpacked.read(num_bytes)
        except (*_DAMAGED, OSError):  # bz2 reports damage as OSError
            return b""


@contextlib.contextmanager
def unpacking_once(folder: Folder) -> Iterator[None]:
    """Let all unpackers inside use one work folder, so that trying several calls unpacks each archive once.

    Args:
        folder: The folder, which the caller removes.
    """
    token = _SHARED.set(folder)
    try:
        yield
    finally:
        _SHARED.reset(token)


@dataclass(slots=True)
class Unpacker:
    """Opens archives, and keeps in the work folder what cannot be read in place.

    Attributes:
        work: Function that returns the folder whose work folder receives the files.
        tell: Function that tells the user about an archive that takes a while.
    """

    work: Callable[[], Folder]
    tell: Callable[[str], None] = lambda _: None
    _made: list[str] = field(default_factory=list)
    _has_made_work: bool = False

    def open(self, folder: Folder, path: str) -> ArchiveFolder | MountedFolder:
        """Open the archive at a path as a folder.

        Raises:
            DataError: It is damaged, cut short, encrypted, or unpacks to far more than an archive of pictures does.
            MissingExtraError: The package for .7z is not installed.
            MachineError: The disk or the network failed.
        """
        url, kind = f"{folder.url}/{path}", path.lower()
        is_file = isinstance(folder, LocalFolder | RemoteFolder)
        if is_file and kind.endswith(".tar"):
            return TarFolder(url)
        if kind.endswith(".zip"):
            copy = "" if is_file else self._url(self._copied(folder, path, ".zip", _stored))
            opened = ZipFolder(copy or url, origin=url)
            if opened.is_encrypted:  # of an archive with other files, too, these are rejected one by one
                raise DataError(f"{url}: the archive is encrypted; unpack it with its password, and convert the folder")
            return opened if is_file else MountedFolder(url, (Mount("", opened),))
        unpack = _seven_zip if kind.endswith(".7z") else _stored if kind.endswith(".tar") else _decompressed
        return MountedFolder(
            url, (Mount("", TarFolder(self._url(self._copied(folder, path, ".tar", unpack)), origin=url)),)
        )

    def table(self, folder: Folder, path: str) -> tuple[Folder, str]:
        """Return the folder and the path in it of what a table such as labels.csv.gz holds.

        Raises:
            DataError: It is damaged, or unpacks to far more than a table does.
            MachineError: The disk or the network failed.
        """
        return self._work(), self._copied(folder, path, "", _decompressed)

    def undo(self) -> None:
        """Remove the files that this object made, because no conversion will follow."""
        if not self._made or _SHARED.get() is not None:
            return
        work = self.work()
        for path in self._made:
            work.remove(path)
        for path in (UNPACKED, WORK_FOLDER, *([""] if self._has_made_work else [])):
            if work.scan(path):
                break
            work.remove_tree(path)

    def _work(self) -> Folder:
        return _SHARED.get() or self.work()

    def _url(self, copy: str) -> str:
        return f"{self._work().url}/{copy}"

    def _copied(self, folder: Folder, path: str, kind: str, unpack: "_Unpack") -> str:
        """Return the path in the work folder of the file that an archive becomes."""
        work, url = self._work(), f"{folder.url}/{path}"
        with os_errors_as("read the archive", url):
            found = folder.stat(path)
        if found is None or found.is_folder:
            raise DataError(f"{url}: there is no such archive")
        seen = f"{url}\n{found.num_bytes}\n{found.mtime_ns}"
        copy = f"{UNPACKED}/{hashlib.sha256(seen.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}{kind}"
        with os_errors_as("unpack into the work folder", work.url):
            if work.stat(copy) is None:
                self._has_made_work = self._has_made_work or work.stat("") is None
                self._made.append(copy)
                work.create()
                blocks = _limited(url, found.num_bytes, unpack(folder, path, url))
                if found.num_bytes >= _TOLD_BYTES:
                    blocks = _told(f"unpacking {printable(path)}", found.num_bytes, blocks, self.tell)
                with work.atomic_write(copy) as out:
                    for block in blocks:
                        out.write(block)
        return copy


_Unpack = Callable[[Folder, str, str], Iterator[bytes]]


def _told(what: str, num_stored: int, blocks: Iterator[bytes], tell: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the blocks of an unpacked archive, and tell at the beginning and every few seconds how far it is."""
    tell(f"{what}, {num_stored >> 20:,} MiB")
    num_bytes, told = 0, time.monotonic()
    for block in blocks:
        num_bytes += len(block)
        if time.monotonic() - told >= _TOLD_SECONDS:
            tell(f"{what}: {num_bytes >> 20:,} MiB so far")
            told = time.monotonic()
        yield block


def _limited(url: str, num_stored: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks of an unpacked archive, up to the size that one of pictures may have.

    Raises:
        BombError: There are more.
    """
    num_bytes, most = 0, _most_bytes(num_stored)
    for block in blocks:
        num_bytes += len(block)
        if num_bytes > most:
            msg = f"{url}: it unpacks from {num_stored:,} to more than {most:,} bytes, which no pictures do"
            raise BombError(f"{msg}; unpack it, and convert the folder")
        yield block


def _most_bytes(num_stored: int) -> int:
    """Return the size to which an archive may unpack."""
    return min(MAX_BYTES, max(_SMALL_BYTES, _MAX_RATIO * num_stored))


def _opener(path: str) -> Callable[[Any], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]:
    return next(opener for kind, opener in _OPENERS.items() if path.lower().endswith(kind))


def _decompressed(folder: Folder, path: str, url: str) -> Iterator[bytes]:
    with folder.open(path) as file:
        try:
            with _opener(path)(file) as unpacked:
                while block := unpacked.read(COPY_BYTES):
                    yield block
        except (*_DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            msg = f"{url}: the archive is cut short or damaged ({error}); copy it again from its origin"
            raise DataError(msg) from error


def _stored(folder: Folder, path: str, url: str) -> Iterator[bytes]:
    """Yield the bytes of an archive that is a member of another one."""
    del url
    with folder.open(path) as file:
        while block := file.read(COPY_BYTES):
            yield block


def _seven_zip(folder: Folder, path: str, url: str) -> Iterator[bytes]:
    """Yield a .tar of the files of a .7z, which is made in a temporary file."""
    require_extra("7z", f"reading {printable(posixpath.basename(path))}")
    from shardkit.archives.seven_zip import write_tar

    found = folder.stat(path)
    with folder.open(path) as file, tempfile.TemporaryFile() as out:
        write_tar(file, url, out, _most_bytes(0 if found is None else found.num_bytes))
        out.seek(0)
        while block := out.read(COPY_BYTES):
            yield block
