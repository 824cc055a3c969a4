"""What archives of every kind have in common once their tables of members are read: a read-only tree of folders.

An entry that no folder can hold is kept as a problem, so that layouts neither meet it nor lose it: one that leads out
of the archive, one whose name a later entry has too, and a file where others need a folder.
"""

import abc
import contextlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from shardkit.errors import CallError, DataError
from shardkit.naming import printable, relative_path_problem
from shardkit.reject_reasons import BAD_NAME, DUPLICATE_KEY
from shardkit.storage import Entry, Folder, open_folder, os_errors_as

_DRIVE = re.compile(r"[A-Za-z]:")


class Stored(Protocol):
    """What is known of every member."""

    @property
    def num_bytes(self) -> int:
        """Its size, unpacked."""

    @property
    def mtime_ns(self) -> int:
        """Its time of change, ns since the epoch."""


M = TypeVar("M", bound=Stored)


class Problem(NamedTuple):
    """An entry that is not read: its name as the archive writes it, and why; ``num_bytes`` is its size."""

    name: str
    reason: str
    message: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Table(Generic[M]):
    """Files by path, children of every folder by path and sorted by name, and what neither can hold."""

    files: dict[str, M]
    folders: dict[str, list[Entry]]
    problems: list[Problem]


def build_table(archive: str, entries: Iterable[tuple[str, M | None]], mtime_ns: int) -> Table[M]:
    """The tree that an archive's entries make.

    Args:
        archive: its name, for messages.
        entries: name and member in the order of the archive; None for a folder.
        mtime_ns: time of change that folders get.
    """
    files: dict[str, M] = {}
    folders: dict[str, dict[str, Entry]] = {"": {}}
    problems: list[Problem] = []
    for name, member in entries:
        path = _path_of(name)
        shown = f"the entry {printable(name)} of {archive}"
        if member is None:
            if path is not None:
                _add_folder(folders, path)
        elif not path:
            why = relative_path_problem(name.replace("\\", "/"))
            message = f"{shown} has a name that may not be followed: {why}; pack it again under a plain path"
            problems.append(Problem(name or "(no name)", BAD_NAME, message, member.num_bytes))
        else:
            if before := files.get(path):
                message = (
                    f"{archive} holds the entry again; the last one is read, as when it is unpacked. Keep one of them"
                )
                problems.append(Problem(path, DUPLICATE_KEY, message, before.num_bytes))
            files[path] = member
            _add_folder(folders, path.rpartition("/")[0])
    for path in [path for path in files if path in folders]:
        message = f"the entry {printable(path)} of {archive} is a file where others need a folder; pack it again"
        problems.append(Problem(path, BAD_NAME, message, files.pop(path).num_bytes))
    for path, member in files.items():
        above, _, name = path.rpartition("/")
        folders[above][name] = Entry(name, is_folder=False, num_bytes=member.num_bytes, mtime_ns=member.mtime_ns)
    for path in folders:
        if path:
            above, _, name = path.rpartition("/")
            folders[above][name] = Entry(name, is_folder=True, num_bytes=0, mtime_ns=mtime_ns)
    return Table(files, {path: sorted(children.values()) for path, children in folders.items()}, problems)


def _add_folder(folders: dict[str, dict[str, Entry]], path: str) -> None:
    """Add a folder and those above it, still empty."""
    while path not in folders:
        folders[path] = {}
        path = path.rpartition("/")[0]


def _path_of(name: str) -> str | None:
    """The path below the archive; None where it leads out of it or nowhere."""
    path = name.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    parts = path.rstrip("/").split("/") if path else []
    if path.startswith("/") or _DRIVE.match(path) or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        return None
    return path.rstrip("/")


def located(url: str) -> tuple[Folder, str]:
    """The folder that a file is in, and its name there."""
    above, _, name = url.rstrip("/").rpartition("/")
    return open_folder(above or ("/" if url.startswith("/") else ".")), name


@dataclass(frozen=True, slots=True)
class ArchiveFolder(Folder):
    """A folder in an archive, by default the outermost.

    Nothing is extracted, and links are not followed. Of two members of one name the last one counts, as it does when
    the archive is unpacked; ``problems`` tells of the other one, and of entries whose names lead out of the archive.

    Attributes:
        archive: path or URL of the archive.
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
            with os_errors_as("read the archive", self.archive):
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

    @abc.abstractmethod
    def _table(self) -> Table[Any]:
        """The members, read once a process."""

    def problems(self) -> list[Problem]:
        """The archive's entries that are in no folder of it, those below this one by their paths below it."""
        below = f"{self.root}/" if self.root else ""
        return [one._replace(name=one.name.removeprefix(below)) for one in self._table().problems]

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        return list(self._table().folders.get(self._at(path), []))

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        at = self._at(path)
        name = at.rpartition("/")[2]
        table = self._table()
        if at in table.folders:
            return Entry(name, is_folder=True, num_bytes=0, mtime_ns=self.mtime_ns)
        member = table.files.get(at)
        return None if member is None else Entry(name, False, member.num_bytes, member.mtime_ns)  # noqa: FBT003

    def resolve(self, path: str) -> str:
        """See Folder; nothing in an archive is a link that is followed."""
        beside, name = located(self.archive)
        at = self._at(path)
        return f"{beside.resolve(name)}/{at}" if at else beside.resolve(name)

    def _refuse_writing(self) -> NoReturn:
        msg = f"{self.archive}: an archive is only read, not written; choose a folder for what shardkit writes"
        raise CallError(msg)

    def create(self) -> None:
        """Refused."""
        self._refuse_writing()

    def atomic_write(
        self, path: str, *, before_rename: Callable[[], None] | None = None
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """Refused."""
        self._refuse_writing()

    def remove(self, path: str) -> None:
        """Refused."""
        self._refuse_writing()

    def remove_tree(self, path: str) -> None:
        """Refused."""
        self._refuse_writing()


F = TypeVar("F", bound=ArchiveFolder)


def archive_root(folder: F) -> F:
    """The only top folder of an archive, if there is just one and no file beside it; else the archive itself.

    What macOS adds (``__MACOSX``), hidden files, and entries that lead out of the archive do not count.
    """
    entries = [one for one in folder.scan() if not (one.name.startswith(".") or one.name.lower() == "__macosx")]
    if len(entries) != 1 or not entries[0].is_folder:
        return folder
    return replace(folder, root=f"{folder.root}/{entries[0].name}".lstrip("/"))
