"""The members of a .tar, one after the other, without extracting any, in bounded memory."""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.naming import relative_path_problem

READ_BYTES = 4 << 20  # 4 MiB: asked of an object store at a time, which would else answer once a header
_BLOCK_BYTES = 512
_NOTHING_BEHIND_BYTES = 64 << 10  # 64 KiB behind the end mark that are looked at
_UNREADABLE = (tarfile.TarError, EOFError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class TarMember:
    """A regular file in a .tar.

    Attributes:
        name: its path, without a leading "./"; surrogates stand for bytes that are not UTF-8.
        offset: of its first byte.
        num_bytes: how many there are.
        mtime_ns: time of change, ns since the epoch.
        problem: why it must not be used; None where it may be.
    """

    name: str
    offset: int
    num_bytes: int
    mtime_ns: int
    problem: str | None


class BrokenTar(Exception):  # noqa: N818 - what is found in the data, not what goes wrong here
    """From some byte on, nothing more can be read; the message continues "the tar ..."."""


def buffered(file: Any) -> BinaryIO:
    """A file that is read in large blocks, whatever its origin."""
    return file if isinstance(file, io.BufferedIOBase) else io.BufferedReader(file, READ_BYTES)  # type: ignore[return-value]


def tar_members(file: BinaryIO, num_bytes: int) -> Iterator[TarMember]:
    """Files, links and devices in the order of the archive; folders are left out.

    Args:
        file: seekable, of an uncompressed .tar.
        num_bytes: its size.

    Raises:
        BrokenTar: it ends within a member or without its end mark, holds garbage, or something behind the end mark.
    """
    try:
        tar = tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    except _UNREADABLE as error:
        msg = f"cannot be read: {error}"
        raise BrokenTar(msg) from error
    previous = -1
    while (member := _next(tar)) is not None:
        # A size below 0 would lead back, and round and round (CVE-2025-8194).
        if member.offset <= previous or member.size < 0:
            msg = f"is damaged at byte {member.offset}"
            raise BrokenTar(msg)
        previous = member.offset
        if member.isreg() and member.offset_data + member.size > num_bytes:
            msg = f"ends at byte {num_bytes}, within {member.name!r} that begins at byte {member.offset}"
            raise BrokenTar(msg)
        if not member.isdir():
            yield _member(member)
    _check_end(file, tar.offset)


def _next(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
    at = tar.offset
    if not at:  # there is no member at all, and Python 3.10 would seek to -1
        return None
    try:
        member = tar.next()
    except _UNREADABLE as error:
        msg = f"is cut short or damaged at byte {at} ({error})"
        raise BrokenTar(msg) from error
    tar.members.clear()  # type: ignore[attr-defined]  # or it would keep them all; typeshed does not know it
    return member


def _member(found: tarfile.TarInfo) -> TarMember:
    name = found.name
    while name.startswith("./"):
        name = name[2:]
    problem = None
    if found.issym() or found.islnk():
        problem = "is a link, and links in archives are not followed; pack the file itself (tar --dereference)"
    elif not found.isreg() or found.issparse():
        problem = "is a device or a sparse file; pack ordinary files only"
    elif why := relative_path_problem(name.replace("\n", "").replace("\t", "")):
        problem = f"has a name that may not be followed: {why}"
    return TarMember(name, found.offset_data, found.size, max(0, int(found.mtime * 1_000_000_000)), problem)


def _check_end(file: BinaryIO, offset: int) -> None:
    """See that the archive ends where tarfile stops, which takes a damaged header for the end."""
    file.seek(offset)
    mark = file.read(_BLOCK_BYTES)
    if len(mark) < _BLOCK_BYTES:
        msg = f"ends at byte {offset + len(mark)} without its end mark: what followed is missing"
        raise BrokenTar(msg)
    if mark.strip(b"\0"):
        msg = f"is damaged at byte {offset}"
        raise BrokenTar(msg)
    if file.read(_NOTHING_BEHIND_BYTES).strip(b"\0"):
        msg = f"goes on behind its end mark at byte {offset}, as joined archives do"
        raise BrokenTar(msg)
