"""The table of members of a .zip: which files and folders it holds, and where their bytes are."""

import contextlib
import re
import struct
import threading
import zipfile
from datetime import datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from shardkit.errors import DataError, SourceChangedError
from shardkit.storage import Entry, Folder, explained, open_folder

LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, length of name, length of extra field (APPNOTE 4.3.7)
# The local header repeats name and extra field, the latter at another length; a range that allows for so much more
# than the central directory says is hardly ever read twice.
_EXTRA_BYTES = 64
_ENCRYPTED, _UTF_8 = 0x1, 0x800  # general purpose flags (APPNOTE 4.4.4)
_DRIVE = re.compile(r"[A-Za-z]:")
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


class Table(NamedTuple):
    """Files by path, and children of every folder by path, sorted by name."""

    files: dict[str, Member]
    folders: dict[str, list[Entry]]
    strange: list[Entry]  # whose names lead out of the archive, under their full names


def located(url: str) -> tuple[Folder, str]:
    """The folder that a file is in, and its name there."""
    above, _, name = url.rstrip("/").rpartition("/")
    return open_folder(above or ("/" if url.startswith("/") else ".")), name


def load_table(archive: str, num_bytes: int, mtime_ns: int) -> Table:
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
def _load(archive: str, num_bytes: int, mtime_ns: int) -> Table:
    beside, name = located(archive)
    with explained("read the archive", archive):
        found = beside.stat(name)
        if found is None or (found.num_bytes, found.mtime_ns) != (num_bytes, mtime_ns):
            msg = f"{archive}: the archive has changed since the conversion began; convert it again"
            raise SourceChangedError(msg)
        try:
            with beside.open(name) as file, zipfile.ZipFile(file) as opened:
                return _table_of(opened.infolist(), mtime_ns)
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError) as error:
            msg = f"{archive}: this is no .zip archive, or a damaged one ({error}); copy it again from its origin"
            raise DataError(msg) from error


def _table_of(infos: list[zipfile.ZipInfo], archive_mtime_ns: int) -> Table:
    files: dict[str, Member] = {}
    folders: dict[str, dict[str, Entry]] = {"": {}}
    strange: dict[str, Entry] = {}
    for info in infos:
        raw = _name_of(info)
        path = _path_of(raw)
        if path is None:
            if not raw.endswith("/"):
                full = raw if "/" in raw else f"./{raw}"
                strange[full] = Entry(full, is_folder=False, num_bytes=info.file_size, mtime_ns=_mtime_ns(info))
        elif path.endswith("/") or not path:
            _add_folder(folders, path.rstrip("/"))
        else:
            files[path] = Member(
                offset=info.header_offset,
                stored_bytes=info.compress_size,
                num_bytes=info.file_size,
                crc=info.CRC,
                method=info.compress_type,
                is_encrypted=bool(info.flag_bits & _ENCRYPTED),
                mtime_ns=_mtime_ns(info),
                header_bytes=LOCAL_HEADER.size + len(info.orig_filename.encode()) + len(info.extra) + _EXTRA_BYTES,
            )
            _add_folder(folders, path.rpartition("/")[0])
    for path in [path for path in files if path in folders]:
        # A file where others need a folder: no disk could hold both.
        member = files.pop(path)
        strange[f"{path}/"] = Entry(f"{path}/", is_folder=False, num_bytes=member.num_bytes, mtime_ns=member.mtime_ns)
    for path, member in files.items():
        above, _, name = path.rpartition("/")
        folders[above][name] = Entry(name, is_folder=False, num_bytes=member.num_bytes, mtime_ns=member.mtime_ns)
    for path in folders:
        if path:
            above, _, name = path.rpartition("/")
            folders[above][name] = Entry(name, is_folder=True, num_bytes=0, mtime_ns=archive_mtime_ns)
    sorted_folders = {path: sorted(children.values()) for path, children in folders.items()}
    return Table(files, sorted_folders, sorted(strange.values()))


def _add_folder(folders: dict[str, dict[str, Entry]], path: str) -> None:
    """Add a folder and those above it, still empty."""
    while path not in folders:
        folders[path] = {}
        path = path.rpartition("/")[0]


def _name_of(info: zipfile.ZipInfo) -> str:
    """A member's name; where it is not flagged as UTF-8 and is nevertheless, as most tools write it, UTF-8."""
    name = info.orig_filename
    if info.flag_bits & _UTF_8 or name.isascii():
        return name
    with contextlib.suppress(UnicodeError):
        return name.encode("cp437").decode("utf-8")
    return name


def _path_of(name: str) -> str | None:
    """The path below the archive, with '/' at the end of a folder's; None where it leads out of it or nowhere."""
    path = name.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    parts = path.rstrip("/").split("/") if path else []
    if path.startswith("/") or _DRIVE.match(path) or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        return None
    return path


def _mtime_ns(info: zipfile.ZipInfo) -> int:
    """A member's time of change; the format keeps no zone, so it is taken for UTC."""
    try:
        moment = datetime(*info.date_time, tzinfo=timezone.utc)
    except ValueError:  # such as month 0
        return 0
    return int(moment.timestamp()) * 1_000_000_000
