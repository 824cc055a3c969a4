"""The table of members of a .zip: which files and folders it holds, and where their bytes are."""

import contextlib
import struct
import threading
import zipfile
from datetime import datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from shardkit.archives.member_tree import Table, build_table, located
from shardkit.errors import DataError, SourceChangedError
from shardkit.naming import printable
from shardkit.storage import os_errors_as

LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, length of name, length of extra field (APPNOTE 4.3.7)
# The local header repeats name and extra field, the latter at another length; a range that allows for so much more
# than the central directory says is hardly ever read twice.
_EXTRA_BYTES = 64
_ENCRYPTED, _UTF_8 = 0x1, 0x800  # general purpose flags (APPNOTE 4.4.4)
_TABLES = 4  # archives whose members are kept in memory
_LOADING = threading.Lock()


class Member(NamedTuple):
    """Where a file lies in the archive, and what it must be."""

    offset: int  # of its local header
    stored_bytes: int
    num_bytes: int
    crc: int
    method: int
    is_encrypted: bool
    mtime_ns: int
    header_bytes: int  # an estimate


def load_table(archive: str, num_bytes: int, mtime_ns: int) -> Table[Member]:
    """The members of an archive, read once a process; 0.5 kB of memory each, twice that while it is read.

    Args:
        archive: path or URL.
        num_bytes: its size, as it must be.
        mtime_ns: its time of change.

    Raises:
        DataError: it is no .zip, or a damaged one.
        SourceChangedError: its size or time of change is another one.
    """
    with _LOADING:  # or threads would all load it at once
        return _load(archive, num_bytes, mtime_ns)


@lru_cache(_TABLES)
def _load(archive: str, num_bytes: int, mtime_ns: int) -> Table[Member]:
    beside, name = located(archive)
    with os_errors_as("read the archive", archive):
        found = beside.stat(name)
        if found is None or (found.num_bytes, found.mtime_ns) != (num_bytes, mtime_ns):
            msg = f"{archive}: the archive has changed since the conversion began; convert it again"
            raise SourceChangedError(msg)
        try:
            with beside.open(name) as file, zipfile.ZipFile(file) as opened:
                return _table_of(archive, opened.infolist(), mtime_ns)
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError) as error:
            msg = f"{archive}: this is no .zip archive, or a damaged one ({error}); copy it again from its origin"
            raise DataError(msg) from error


def _table_of(archive: str, infos: list[zipfile.ZipInfo], mtime_ns: int) -> Table[Member]:
    named = ((_name_of(info), info) for info in infos)
    entries = ((name, None if name.endswith(("/", "\\")) else _member(info)) for name, info in named)
    return build_table(printable(archive.rpartition("/")[2]), entries, mtime_ns)


def _member(info: zipfile.ZipInfo) -> Member:
    return Member(
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
    """A member's name; where it is not flagged as UTF-8 and is nevertheless, as most tools write it, UTF-8."""
    name = info.orig_filename
    if info.flag_bits & _UTF_8 or name.isascii():
        return name
    with contextlib.suppress(UnicodeError):
        return name.encode("cp437").decode("utf-8")
    return name


def _mtime_ns(info: zipfile.ZipInfo) -> int:
    """A member's time of change; the format keeps no zone, so it is taken for UTC."""
    try:
        moment = datetime(*info.date_time, tzinfo=timezone.utc)
    except ValueError:  # such as month 0
        return 0
    return int(moment.timestamp()) * 1_000_000_000
