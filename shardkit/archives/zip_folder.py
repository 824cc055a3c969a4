"""A .zip as a read-only folder, so that every layout of files and folders works inside it.

Nothing is extracted. Each process reads the list of members once; after that each read is one range of the archive. So
threads need no lock, forked processes share no file position, and each file is one request to an object store.
"""

import contextlib
import io
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.archives.member_tree import ArchiveFolder, MemberTree, folder_and_name
from shardkit.archives.zip_members import LOCAL_HEADER, ZipMember, zip_members
from shardkit.errors import BombError, MemberError
from shardkit.storage import COPY_BYTES, Folder

MAX_MEMBER_BYTES = 1 << 30  # 1 GiB: a larger member is refused
_MAX_RATIO = 1000  # higher than for any picture, unless it is small and of one colour; deflate's limit is 1032
_SMALL_BYTES = 64 << 20  # 64 MiB: below this an empty mask may have any ratio, because memory is bounded anyway
_IN_MEMORY_BYTES = 16 << 20  # 16 MiB: larger members are unpacked to a temporary file
_SIGNATURE = b"PK\3\4"
_STORED, _DEFLATED = 0, 8  # compression methods (APPNOTE 4.4.5)


@dataclass(frozen=True, slots=True)
class ZipFolder(ArchiveFolder):
    """A folder in a .zip; see ArchiveFolder. A symbolic link is a file that contains a path."""

    @staticmethod
    def load_tree(file: BinaryIO, archive: str, num_bytes: int, mtime_ns: int) -> MemberTree[ZipMember]:
        """See ArchiveFolder."""
        return zip_members(file, archive, mtime_ns)

    @property
    def is_encrypted(self) -> bool:
        """Whether every file in the archive is encrypted."""
        files = self._tree().files.values()
        return bool(files) and all(member.is_encrypted for member in files)

    def read(self, path: str) -> bytes:
        """See Folder.

        Raises:
            MemberError: The member is damaged, encrypted, too large, or packed by an unusual method.
            OSError: The archive cannot be read.
        """
        return b"".join(self._blocks(path))

    def open(self, path: str) -> Any:
        """See Folder. A large member is unpacked to a temporary file first.

        Raises:
            MemberError: See `read`.
            OSError: See `read`.
        """
        member = self._tree().files.get(self._at(path))
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
        """Yield the file's content, and raise after it if its size or CRC is wrong."""
        member: ZipMember = self._member(path)
        parent, name = folder_and_name(self.archive)
        entry = self._entry(path)
        _refuse_unreadable(entry, member)
        with _ranged(parent, name, member) as file:
            header = file.read(LOCAL_HEADER.size)
            if len(header) < LOCAL_HEADER.size or not header.startswith(_SIGNATURE):
                raise _damaged(entry, f"is not at byte {member.offset}, where the archive's directory lists it")
            _, name_bytes, extra_bytes = LOCAL_HEADER.unpack(header)
            file.seek(name_bytes + extra_bytes, io.SEEK_CUR)
            crc = num_bytes = 0
            for block in _inflated(file, entry, member):
                crc = zlib.crc32(block, crc)
                num_bytes += len(block)
                if num_bytes > member.num_bytes:
                    break
                yield block
        if num_bytes != member.num_bytes:
            more = "more" if num_bytes > member.num_bytes else "fewer"
            raise _damaged(entry, f"has {more} bytes than the {member.num_bytes} that the archive's directory lists")
        if crc != member.crc:
            raise _damaged(entry, "has bytes that do not match their CRC")


@contextlib.contextmanager
def _ranged(parent: Folder, name: str, member: ZipMember) -> Iterator[Any]:
    """Open the archive's bytes from a member's local header on."""
    wanted = member.header_bytes + member.stored_bytes
    if wanted <= _IN_MEMORY_BYTES:
        data = parent.read_range(name, member.offset, wanted)
        if len(data) >= LOCAL_HEADER.size:
            _, name_bytes, extra_bytes = LOCAL_HEADER.unpack_from(data)
            exact = LOCAL_HEADER.size + name_bytes + extra_bytes + member.stored_bytes
            if exact > wanted:
                data = parent.read_range(name, member.offset, exact)
        yield io.BytesIO(data)
        return
    with parent.open(name) as file:
        file.seek(member.offset)
        yield file


def _inflated(file: Any, entry: str, member: ZipMember) -> Iterator[bytes]:
    """Yield blocks of at most COPY_BYTES; all of the member's compressed bytes are consumed."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == _DEFLATED else None
    remaining = member.stored_bytes
    while remaining:
        packed = file.read(min(COPY_BYTES, remaining))
        if not packed:
            raise _damaged(entry, "goes beyond the end of the archive")
        remaining -= len(packed)
        if inflate is None:
            yield packed
            continue
        while packed and not inflate.eof:
            try:
                block = inflate.decompress(packed, COPY_BYTES)
            except zlib.error as error:
                raise _damaged(entry, f"cannot be inflated ({error})") from None
            packed = inflate.unconsumed_tail
            yield block
    if inflate is not None and not inflate.eof:
        yield inflate.flush()


def _damaged(entry: str, found: str) -> MemberError:
    return MemberError(f"{entry} {found}; copy the archive again from its origin, or test it with unzip -t")


def _refuse_unreadable(entry: str, member: ZipMember) -> None:
    if member.offset < 0:
        raise _damaged(entry, "is before the archive's beginning, by the archive's directory")
    if member.is_encrypted:
        raise MemberError(f"{entry} is encrypted; unpack the archive with its password and convert the folder")
    if member.method not in {_STORED, _DEFLATED}:
        msg = f"{entry} is compressed by method {member.method}, neither stored nor deflated; unpack the archive first"
        raise MemberError(msg)
    if member.num_bytes > MAX_MEMBER_BYTES:
        msg = f"{entry} unpacks to {member.num_bytes} bytes, more than the {MAX_MEMBER_BYTES} that are read"
        raise MemberError(f"{msg}; unpack the archive first")
    if member.num_bytes > max(_SMALL_BYTES, _MAX_RATIO * member.stored_bytes):
        msg = f"{entry} claims to unpack from {member.stored_bytes} to {member.num_bytes} bytes, which no picture does"
        raise BombError(f"{msg}; leave it out of the archive")
