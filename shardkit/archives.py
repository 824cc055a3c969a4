"""A .zip as a read-only folder, so that every layout of files and folders works inside of one.

Nothing is extracted. The table of members is read once a process; after that each read is one range of the archive, so
threads need no lock, forked processes share no position, and an object store is asked once a file.
"""

import contextlib
import errno
import io
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NoReturn

from shardkit.errors import CallError, DataError
from shardkit.storage import COPY_BYTES, Entry, Folder, explained
from shardkit.zip_members import LOCAL_HEADER, Member, Table, load_table, located

MAX_MEMBER_BYTES = 1 << 30  # 1 GiB: a larger member is refused
_MAX_RATIO = 1000  # more than any picture shrinks by, unless it is small and of one colour; deflate's limit is 1032
_SMALL_BYTES = 64 << 20  # 64 MiB: up to here memory is bounded anyway, and an empty mask may shrink by any ratio
_IN_MEMORY_BYTES = 16 << 20  # 16 MiB: larger members are opened by way of a temporary file
_SIGNATURE = b"PK\3\4"
_STORED, _DEFLATED = 0, 8  # compression methods (APPNOTE 4.4.5)


@dataclass(frozen=True, slots=True)
class ZipFolder(Folder):
    """A folder in a .zip, by default the outermost.

    Symbolic links in an archive are not followed: they are files that hold a path. Of two members of one name the last
    one counts, as it does when the archive is unpacked. Entries whose names lead out of it (``../x``, absolute, with a
    drive) are not followed either: ``scan("")`` lists them under their full names, which hold a "/", for layouts to
    reject.

    Attributes:
        archive: path or URL of the .zip.
        num_bytes: its size when it was opened; -1: as it is now.
        mtime_ns: its time of change then.
        root: path of the folder in it; '' for the outermost.
    """

    archive: str
    num_bytes: int = -1
    mtime_ns: int = 0
    root: str = ""

    def __post_init__(self) -> None:
        if self.num_bytes < 0:
            # Looked up once, not before every read: in workers this comes with the pickled folder.
            beside, name = located(self.archive)
            with explained("read the archive", self.archive):
                found = beside.stat(name)
            if found is None or found.is_folder:
                msg = f"{self.archive}: there is no such archive"
                raise DataError(msg)
            # Absolute: a worker may have another working folder.
            object.__setattr__(self, "archive", f"{beside.url.rstrip('/')}/{name}")
            object.__setattr__(self, "num_bytes", found.num_bytes)
            object.__setattr__(self, "mtime_ns", found.mtime_ns)

    @property
    def url(self) -> str:
        """See Folder."""
        return f"{self.archive}/{self.root}" if self.root else self.archive

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if self.root and path else path or self.root

    @property
    def _table(self) -> Table:
        return load_table(self.archive, self.num_bytes, self.mtime_ns)

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder; of '' also the entries that lead out of the archive."""
        table = self._table
        found = table.folders.get(self._at(path), [])
        return sorted(found + table.strange) if not path and table.strange else list(found)

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        at = self._at(path)
        name = at.rpartition("/")[2]
        table = self._table
        if at in table.folders:
            return Entry(name, is_folder=True, num_bytes=0, mtime_ns=self.mtime_ns)
        member = table.files.get(at)
        return None if member is None else Entry(name, False, member.num_bytes, member.mtime_ns)  # noqa: FBT003

    def read(self, path: str) -> bytes:
        """See Folder.

        Raises:
            OSError: the member is damaged, encrypted, too large, or packed in another way than zip's usual ones.
        """
        return b"".join(self._blocks(path))

    def open(self, path: str) -> Any:
        """See Folder; a large member is unpacked to a temporary file first.

        Raises:
            OSError: as ``read``.
        """
        member = self._table.files.get(self._at(path))
        if member is None or member.num_bytes <= _IN_MEMORY_BYTES:
            return io.BytesIO(self.read(path))
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile())
            for block in self._blocks(path):
                file.write(block)
            file.seek(0)
            stack.pop_all()
        return file

    def _blocks(self, path: str) -> Iterator[bytes]:
        """The file's content, checked."""
        table = self._table
        member = table.files.get(self._at(path))
        if member is None:
            if self._at(path) in table.folders:
                raise IsADirectoryError(errno.EISDIR, "Is a directory", f"{self.url}/{path}")
            raise FileNotFoundError(errno.ENOENT, "No such file in the archive", f"{self.url}/{path}")
        _refuse_unreadable(member)
        beside, name = located(self.archive)
        with _ranged(beside, name, member) as file:
            header = file.read(LOCAL_HEADER.size)
            if len(header) < LOCAL_HEADER.size or not header.startswith(_SIGNATURE):
                raise _damaged(f"has no member at byte {member.offset}, where its table says one is")
            _, name_bytes, extra_bytes = LOCAL_HEADER.unpack(header)
            file.seek(name_bytes + extra_bytes, io.SEEK_CUR)
            crc = num_bytes = 0
            for block in _inflated(file, member):
                crc = zlib.crc32(block, crc)
                num_bytes += len(block)
                if num_bytes > member.num_bytes:
                    break
                yield block
        if num_bytes != member.num_bytes:
            more = "more" if num_bytes > member.num_bytes else "fewer"
            raise _damaged(f"holds {more} bytes of this member than the {member.num_bytes} it announces")
        if crc != member.crc:
            raise _damaged("holds a member whose bytes contradict its CRC")

    def real(self, path: str) -> str:
        """See Folder; nothing in an archive is a link that is followed."""
        beside, name = located(self.archive)
        at = self._at(path)
        return f"{beside.real(name)}/{at}" if at else beside.real(name)

    def _refuse_writing(self) -> NoReturn:
        msg = f"{self.archive}: an archive is only read, not written; choose a folder for what shardkit writes"
        raise CallError(msg)

    def make(self) -> None:
        """Refused."""
        self._refuse_writing()

    def writing(self, path: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Refused."""
        self._refuse_writing()

    def remove(self, path: str) -> None:
        """Refused."""
        self._refuse_writing()

    def remove_tree(self, path: str) -> None:
        """Refused."""
        self._refuse_writing()


def archive_root(folder: ZipFolder) -> ZipFolder:
    """The only top folder of an archive, if there is just one and no file beside it; else the archive itself.

    What macOS adds (``__MACOSX``), hidden files, and entries that lead out of the archive do not count.
    """
    entries = [
        one
        for one in folder.scan()
        if not (one.name.startswith(".") or "/" in one.name or one.name.lower() == "__macosx")
    ]
    if len(entries) != 1 or not entries[0].is_folder:
        return folder
    return replace(folder, root=f"{folder.root}/{entries[0].name}".lstrip("/"))


@contextlib.contextmanager
def _ranged(beside: Folder, name: str, member: Member) -> Iterator[Any]:
    """The archive's bytes from a member's local header on."""
    wanted = member.header_bytes + member.stored_bytes
    if wanted <= _IN_MEMORY_BYTES:
        data = beside.read_range(name, member.offset, wanted)
        if len(data) >= LOCAL_HEADER.size:
            _, name_bytes, extra_bytes = LOCAL_HEADER.unpack_from(data)
            exact = LOCAL_HEADER.size + name_bytes + extra_bytes + member.stored_bytes
            if exact > wanted:
                data = beside.read_range(name, member.offset, exact)
        yield io.BytesIO(data)
        return
    with beside.open(name) as file:
        file.seek(member.offset)
        yield file


def _inflated(file: Any, member: Member) -> Iterator[bytes]:
    """Blocks of at most COPY_BYTES; all of the member's compressed bytes are consumed."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == _DEFLATED else None
    remaining = member.stored_bytes
    while remaining:
        packed = file.read(min(COPY_BYTES, remaining))
        if not packed:
            raise _damaged("ends within a member")
        remaining -= len(packed)
        if inflate is None:
            yield packed
            continue
        while packed and not inflate.eof:
            try:
                block = inflate.decompress(packed, COPY_BYTES)
            except zlib.error as error:
                raise _damaged(f"holds a member that cannot be inflated ({error})") from None
            packed = inflate.unconsumed_tail
            yield block
    if inflate is not None and not inflate.eof:
        yield inflate.flush()


def _damaged(found: str) -> OSError:
    return OSError(f"the archive {found}; copy it again from its origin, or test it with unzip -t")


def _refuse_unreadable(member: Member) -> None:
    if member.is_encrypted:
        msg = "it is encrypted; unpack the archive with its password and convert the folder"
        raise OSError(msg)
    if member.method not in {_STORED, _DEFLATED}:
        msg = f"it is packed by method {member.method}, neither stored nor deflated; unpack the archive first"
        raise OSError(msg)
    if member.num_bytes > MAX_MEMBER_BYTES:
        msg = f"it unpacks to {member.num_bytes} bytes, more than the {MAX_MEMBER_BYTES} that are read from an archive"
        raise OSError(f"{msg}; unpack the archive first")
    if member.num_bytes > max(_SMALL_BYTES, _MAX_RATIO * member.stored_bytes):
        msg = f"it claims to unpack from {member.stored_bytes} to {member.num_bytes} bytes, as no picture does"
        raise OSError(f"{msg}; leave it out of the archive")
