"""List the members of a .tar in sequence and in bounded memory, without extracting any."""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.archives.plain_headers import BLOCK_BYTES, PlainFile, header_after, read_plain_file
from shardkit.naming import relative_path_problem

READ_BYTES = 4 << 20  # 4 MiB: size of a read, because a read for each header would be a request to an object store
_CHECKED_TAIL_BYTES = 64 << 10  # 64 KiB: bytes after the end mark that must be zero
_MAX_SECONDS = (1 << 63) // 1_000_000_000
_UNREADABLE = (tarfile.TarError, EOFError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class TarMember:
    """A regular file in a .tar.

    Attributes:
        name: Path in the archive, without a leading "./"; bytes that are not UTF-8 are surrogates.
        offset: Offset of the file's first byte in the archive.
        num_bytes: The file's size.
        mtime_ns: Modification time, in ns since the epoch.
        problem: Reason not to use it, or None; a message continues "the entry NAME ...".
    """

    name: str
    offset: int
    num_bytes: int
    mtime_ns: int
    problem: str | None


class BrokenTar(Exception):  # noqa: N818 - a finding about the data, not an error of the program
    """The archive cannot be read from some byte on; the message continues "the archive ..."."""


class IndivisibleTar(Exception):  # noqa: N818 - no error: the archive is read as a whole
    """The archive's members cannot be read from one in the middle on."""


def buffered(file: Any) -> BinaryIO:
    """Return a file that is read in large blocks, whatever its origin."""
    return file if isinstance(file, io.BufferedIOBase) else io.BufferedReader(file, READ_BYTES)  # type: ignore[return-value]


def tar_members(file: BinaryIO, num_bytes: int, start: int = 0, *, may_divide: bool = False) -> Iterator[TarMember]:
    """Yield files, links and devices in the order of the archive, without folders.

    Args:
        file: The uncompressed .tar, seekable.
        num_bytes: The archive's size.
        start: Offset of the first member's header; see `member_end`.
        may_divide: Whether to refuse an archive whose members cannot be read from one in the middle on.

    Raises:
        BrokenTar: The archive ends within a member or without its end mark, is damaged, or continues after the mark.
        IndivisibleTar: A global header changes the members after it.
    """
    try:
        tar = tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    except _UNREADABLE as error:
        raise BrokenTar(f"cannot be read: {error}") from error
    if start:
        tar.next()  # which it has read already
        tar.offset = start
    previous = -1
    is_first = not start  # tarfile has read it
    while True:
        if tar.pax_headers and may_divide:
            raise IndivisibleTar
        if not is_first and not tar.pax_headers and (plain := read_plain_file(file, tar.offset)) is not None:
            if plain.offset + plain.num_bytes > num_bytes:
                raise BrokenTar(_within(num_bytes, plain.name, tar.offset))
            previous = tar.offset
            tar.offset = plain.end
            yield _plain_member(plain)
            continue
        if not is_first:
            file.seek(tar.offset - 1)  # so that tarfile checks that the archive does not end before
        is_first = False
        member = _next(tar)
        if member is None:
            break
        # A negative size would lead back to an earlier header, endlessly (CVE-2025-8194).
        if member.offset <= previous or member.size < 0:
            raise BrokenTar(f"is damaged at byte {member.offset}")
        previous = member.offset
        if member.isreg() and member.offset_data + member.size > num_bytes:
            raise BrokenTar(_within(num_bytes, member.name, member.offset))
        if not member.isdir():
            yield _member(member)
    _check_end(file, tar.offset)


def member_end(member: TarMember) -> int:
    """Return the offset of the header after an ordinary file, one without a problem."""
    return header_after(member.offset, member.num_bytes)


def _next(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
    at = tar.offset
    if not at:  # without any member, Python 3.10 would seek to -1
        return None
    try:
        member = tar.next()
    except _UNREADABLE as error:
        raise BrokenTar(f"is cut short or damaged at byte {at} ({error})") from error
    tar.members.clear()  # type: ignore[attr-defined]  # otherwise it would keep them all; not in typeshed
    return member


def _within(num_bytes: int, name: str, offset: int) -> str:
    return f"ends at byte {num_bytes}, within {name!r} that begins at byte {offset}"


def _plain_member(found: PlainFile) -> TarMember:
    name = _without_dot(found.name)
    return TarMember(name, found.offset, found.num_bytes, _mtime_ns(found.mtime), _name_problem(name))


def _without_dot(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name


def _mtime_ns(seconds: float) -> int:
    """Return a time in ns; 0 for one before 1970, and for NaN and others that 64 bits cannot hold."""
    return int(seconds * 1_000_000_000) if 0 <= seconds < _MAX_SECONDS else 0


def _name_problem(name: str) -> str | None:
    why = relative_path_problem(name.replace("\n", "").replace("\t", ""))
    return f"has a name that is not safe: {why}" if why else None


def _member(found: tarfile.TarInfo) -> TarMember:
    name = _without_dot(found.name)
    problem = None
    if found.issym() or found.islnk():
        problem = "is a link, and links in archives are not followed; pack the file itself (tar --dereference)"
    elif not found.isreg() or found.issparse():
        problem = "is a device or a sparse file; pack ordinary files only"
    else:
        problem = _name_problem(name)
    return TarMember(name, found.offset_data, found.size, _mtime_ns(found.mtime), problem)


def _check_end(file: BinaryIO, offset: int) -> None:
    """Check that the archive ends where tarfile stops: it takes a damaged header for the end."""
    file.seek(offset)
    mark = file.read(BLOCK_BYTES)
    if len(mark) < BLOCK_BYTES:
        raise BrokenTar(f"ends at byte {offset + len(mark)} without its end mark: what followed is missing")
    if mark.strip(b"\0"):
        raise BrokenTar(f"is damaged at byte {offset}")
    if file.read(_CHECKED_TAIL_BYTES).strip(b"\0"):
        raise BrokenTar(f"continues after its end mark at byte {offset}, as concatenated archives do")
