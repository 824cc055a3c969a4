"""List the members of a .zip: its files and folders, and where their bytes are."""

import contextlib
import io
import struct
import zipfile
from datetime import datetime, timezone
from typing import BinaryIO, NamedTuple

from shardkit.archives.member_tree import MemberTree, build_tree
from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.storage import is_of_machine

LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, length of name, length of extra field (APPNOTE 4.3.7)
_END = struct.Struct("<4s6xH10x")  # signature, number of entries (APPNOTE 4.3.16)
_END_SIGNATURE = b"PK\5\6"
# The local header repeats the name and the extra field, which may be longer than in the central directory. A range with
# this many more bytes is hardly ever too short and read twice.
_EXTRA_BYTES = 64
_ENCRYPTED, _UTF_8 = 0x1, 0x800  # general purpose flags (APPNOTE 4.4.4)


class ZipMember(NamedTuple):
    """A file in a .zip, as the central directory describes it.

    Attributes:
        offset: Offset of its local header in the archive.
        stored_bytes: Size in the archive.
        num_bytes: Size, unpacked.
        crc: CRC-32 of the unpacked bytes.
        method: Compression method.
        is_encrypted: Whether it is encrypted.
        mtime_ns: Modification time, in ns since the epoch.
        header_bytes: Estimated size of the local header.
    """

    offset: int
    stored_bytes: int
    num_bytes: int
    crc: int
    method: int
    is_encrypted: bool
    mtime_ns: int
    header_bytes: int


def zip_members(file: BinaryIO, archive: str, mtime_ns: int) -> MemberTree[ZipMember]:
    """Return the members of an archive: 0.5 kB each in memory, twice that during the reading.

    Args:
        file: The archive, open for reading.
        archive: Its path or URL.
        mtime_ns: Its modification time.

    Raises:
        DataError: The file is not a .zip, or is damaged.
    """
    try:
        with zipfile.ZipFile(file) as opened:
            infos = opened.infolist()
            _refuse_lost(file, len(opened.comment), len(infos))
            return _tree_of(archive, infos, mtime_ns)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError) as error:
        # zipfile takes an end that it cannot read for one that is missing.
        if isinstance(error.__context__, OSError) and is_of_machine(error.__context__):
            raise error.__context__ from None
        msg = f"{archive}: this is not a .zip archive, or it is damaged ({error}); copy it again from its origin"
        raise DataError(msg) from error


def _refuse_lost(file: BinaryIO, comment_bytes: int, num_listed: int) -> None:
    """Refuse an archive whose end counts other entries than its directory lists: a damaged name hides those after it.

    Raises:
        BadZipFile: The numbers differ.
    """
    file.seek(-_END.size - comment_bytes, io.SEEK_END)
    signature, num_entries = _END.unpack(file.read(_END.size))
    # 65535 refers to the end of zip64; some programs write larger numbers modulo 65536. Other bytes may follow the end.
    if signature == _END_SIGNATURE and num_entries not in {0xFFFF, num_listed & 0xFFFF}:
        raise zipfile.BadZipFile(f"its end counts {num_entries:,} entries, its directory {num_listed:,}")


def _tree_of(archive: str, infos: list[zipfile.ZipInfo], mtime_ns: int) -> MemberTree[ZipMember]:
    named = ((_name_of(info), info) for info in infos)
    entries = ((name, None if name.endswith(("/", "\\")) else _member(info)) for name, info in named)
    return build_tree(printable(archive.rpartition("/")[2]), entries, mtime_ns)


def _member(info: zipfile.ZipInfo) -> ZipMember:
    return ZipMember(
        offset=info.header_offset,
        stored_bytes=info.compress_size,
        num_bytes=info.file_size,
        crc=info.CRC,
        method=info.compress_type,
        is_encrypted=bool(info.flag_bits & _ENCRYPTED),
        mtime_ns=_mtime_ns(info),
        header_bytes=LOCAL_HEADER.size + len(info.orig_filename.encode()) + len(info.extra) + _EXTRA_BYTES,
    )


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return a member's name, read as UTF-8 where that is valid: most tools write it without setting the flag."""
    name = info.orig_filename
    if info.flag_bits & _UTF_8 or name.isascii():
        return name
    with contextlib.suppress(UnicodeError):
        return name.encode("cp437").decode("utf-8")
    return name


def _mtime_ns(info: zipfile.ZipInfo) -> int:
    """Return a member's modification time, taken as UTC because the format stores no time zone."""
    try:
        moment = datetime(*info.date_time, tzinfo=timezone.utc)
    except ValueError:  # such as month 0
        return 0
    return int(moment.timestamp()) * 1_000_000_000
