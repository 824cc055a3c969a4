"""A read-only tree of folders, built from the list of an archive's members, whatever the archive's format.

An entry that no folder can hold is kept as a problem, so that layouts do not read it, but report it: one whose path
leaves the archive, one whose name a later entry also has, and a file whose name others use as a folder.
"""

import abc
import errno
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Generic, NamedTuple, Protocol, TypeVar

from shardkit.archives.read_only import ReadOnlyFolder
from shardkit.errors import DataError, SourceChangedError
from shardkit.naming import printable, relative_path_problem
from shardkit.reject_reasons import BAD_NAME, DUPLICATE_KEY
from shardkit.storage import Entry, Folder, open_folder, os_errors_as

_DRIVE = re.compile(r"[A-Za-z]:")
MAX_MEMBERS = 20_000_000  # of an archive: about 10 GB of memory
_MAX_TREES = 4  # archives whose members are kept in memory, whatever their number; more if they have
_MAX_KEPT = 200_000  # members together: about 100 MB
_LOADING = threading.Lock()


class Member(Protocol):
    """Attributes of a member of any archive."""

    @property
    def num_bytes(self) -> int:
        """The file's size, unpacked."""

    @property
    def mtime_ns(self) -> int:
        """The file's modification time, in ns since the epoch."""


M = TypeVar("M", bound=Member)


class ArchiveProblem(NamedTuple):
    """An entry that cannot be read.

    Attributes:
        name: Its name as the archive has it.
        reason: The reject reason's code.
        message: The reason in words, with the remedy.
        num_bytes: The entry's size.
    """

    name: str
    reason: str
    message: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class MemberTree(Generic[M]):
    """The files and folders of an archive.

    Attributes:
        files: Members by path.
        folders: Children of each folder by its path, sorted by name.
        problems: Entries that are in no folder.
    """

    files: dict[str, M]
    folders: dict[str, list[Entry]]
    problems: list[ArchiveProblem]


def build_tree(archive: str, entries: Iterable[tuple[str, M | None]], mtime_ns: int) -> MemberTree[M]:
    """Return the tree of an archive's entries.

    Args:
        archive: The archive's name, for messages.
        entries: Name and member of each entry in the order of the archive; None instead of the member for a folder.
        mtime_ns: Modification time that folders get.

    Raises:
        DataError: There are too many entries.
    """
    files: dict[str, M] = {}
    folders: dict[str, dict[str, Entry]] = {"": {}}
    problems: list[ArchiveProblem] = []
    for name, member in entries:
        path = _path_of(name)
        shown = f"the entry {printable(name)} of {archive}"
        if member is None:
            if path is not None:
                _add_folder(folders, path)
        elif not path:
            why = relative_path_problem(name.replace("\\", "/"))
            message = f"{shown} has a name that is not safe: {why}; pack it again under a relative path"
            problems.append(ArchiveProblem(name or "(no name)", BAD_NAME, message, member.num_bytes))
        else:
            if len(files) == MAX_MEMBERS:
                msg = f"{archive}: the archive has more than {MAX_MEMBERS:,} entries; unpack it, and convert the folder"
                raise DataError(msg)
            if before := files.get(path):
                message = (
                    f"{archive} holds the entry again; the last one is read, as when it is unpacked. Keep one of them"
                )
                problems.append(ArchiveProblem(path, DUPLICATE_KEY, message, before.num_bytes))
            files[path] = member
            _add_folder(folders, path.rpartition("/")[0])
    for path in [path for path in files if path in folders]:
        message = f"the entry {printable(path)} of {archive} is a file and, for other entries, a folder; pack it again"
        problems.append(ArchiveProblem(path, BAD_NAME, message, files.pop(path).num_bytes))
    for path, member in files.items():
        above, _, name = path.rpartition("/")
        folders[above][name] = Entry(name, is_folder=False, num_bytes=member.num_bytes, mtime_ns=member.mtime_ns)
    for path in folders:
        if path:
            above, _, name = path.rpartition("/")
            folders[above][name] = Entry(name, is_folder=True, num_bytes=0, mtime_ns=mtime_ns)
    return MemberTree(files, {path: sorted(children.values()) for path, children in folders.items()}, problems)


def _add_folder(folders: dict[str, dict[str, Entry]], path: str) -> None:
    """Add a folder and its parents, without children."""
    while path not in folders:
        folders[path] = {}
        path = path.rpartition("/")[0]


def _path_of(name: str) -> str | None:
    """Return an entry's path in the archive; None if it leaves the archive or is not a path."""
    path = name.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    parts = path.rstrip("/").split("/") if path else []
    if path.startswith("/") or _DRIVE.match(path) or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        return None
    return path.rstrip("/")


def folder_and_name(url: str) -> tuple[Folder, str]:
    """Return the folder that holds a file, and the file's name in it."""
    above, _, name = url.rstrip("/").rpartition("/")
    return open_folder(above or ("/" if url.startswith("/") else ".")), name


@dataclass(frozen=True, slots=True)
class ArchiveFolder(ReadOnlyFolder):
    """A folder in an archive, by default the outermost.

    Nothing is extracted, and links are not followed. If two members have the same name the last one counts, as when the
    archive is unpacked. `problems` reports the other one, and entries whose names leave the archive.

    Attributes:
        archive: Path or URL of the archive.
        num_bytes: The archive's size when it was opened; -1 to look it up.
        mtime_ns: The archive's modification time when it was opened.
        root: Path of the folder in the archive; '' for the outermost.
        origin: What messages call the archive if it is a copy in a work folder; '' for its own path.
    """

    archive: str
    num_bytes: int = -1
    mtime_ns: int = 0
    root: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        if self.num_bytes < 0:
            # Looked up once, not before every read; workers receive it with the pickled folder.
            parent, name = folder_and_name(self.archive)
            with os_errors_as("read the archive", self.archive):
                found = parent.stat(name)
            if found is None or found.is_folder:
                raise DataError(f"{self.archive}: there is no such archive")
            # Absolute: a worker may have another working folder.
            object.__setattr__(self, "archive", f"{parent.url.rstrip('/')}/{name}")
            object.__setattr__(self, "num_bytes", found.num_bytes)
            object.__setattr__(self, "mtime_ns", found.mtime_ns)

    @property
    def url(self) -> str:
        """See Folder."""
        return f"{self.archive}/{self.root}" if self.root else self.archive

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if self.root and path else path or self.root

    @staticmethod
    @abc.abstractmethod
    def load_tree(file: BinaryIO, archive: str, num_bytes: int, mtime_ns: int) -> MemberTree[Any]:
        """Read the members of an archive.

        Args:
            file: The archive, open for reading.
            archive: Its path or URL.
            num_bytes: Its size.
            mtime_ns: Its modification time, which folders in it get.
        """

    def _tree(self) -> MemberTree[Any]:
        """Return the members, which each process reads once.

        Raises:
            SourceChangedError: The archive's size or modification time differs from that when it was opened.
        """
        with _LOADING:  # otherwise all threads would load it at once
            return _loaded(self)

    @property
    def shown(self) -> str:
        """The path of the archive, for messages."""
        return self.origin or self.archive

    def _entry(self, path: str) -> str:
        """Return what messages call a member."""
        return f"the entry {printable(self._at(path))} of {printable(self.shown.rpartition('/')[2])}"

    def _member(self, path: str) -> Any:
        """Return the member that is the file at a path."""
        tree = self._tree()
        member = tree.files.get(self._at(path))
        if member is None:
            if self._at(path) in tree.folders:
                raise IsADirectoryError(errno.EISDIR, "Is a directory", f"{self.url}/{path}")
            raise FileNotFoundError(errno.ENOENT, "No such file in the archive", f"{self.url}/{path}")
        return member

    def problems(self) -> list[ArchiveProblem]:
        """Return the archive's entries that are in no folder; paths below this folder are relative to it."""
        below = f"{self.root}/" if self.root else ""
        return [one._replace(name=one.name.removeprefix(below)) for one in self._tree().problems]

    def paths(self) -> Iterator[str]:
        """Return the paths of all files below this folder."""
        below = f"{self.root}/" if self.root else ""
        return (path[len(below) :] for path in self._tree().files if path.startswith(below))

    def below(self, path: str) -> "ArchiveFolder":
        """Return the folder at a path."""
        return replace(self, root=self._at(path))

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        return list(self._tree().folders.get(self._at(path), []))

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        at = self._at(path)
        name = at.rpartition("/")[2]
        tree = self._tree()
        if at in tree.folders:
            return Entry(name, is_folder=True, num_bytes=0, mtime_ns=self.mtime_ns)
        member = tree.files.get(at)
        return None if member is None else Entry(name, False, member.num_bytes, member.mtime_ns)  # noqa: FBT003

    def resolve(self, path: str) -> str:
        """See Folder. Links in an archive are not followed."""
        parent, name = folder_and_name(self.archive)
        at = self._at(path)
        return f"{parent.resolve(name)}/{at}" if at else parent.resolve(name)


_trees: "OrderedDict[tuple[type[ArchiveFolder], str, int, int], MemberTree[Any]]" = OrderedDict()


def _loaded(folder: ArchiveFolder) -> MemberTree[Any]:
    """Return the members of an archive, from memory if it was read lately."""
    key = (type(folder), folder.archive, folder.num_bytes, folder.mtime_ns)
    if (tree := _trees.get(key)) is None:
        tree = _load(folder)
        _trees[key] = tree
        kept = sum(len(one.files) for one in _trees.values())
        while len(_trees) > _MAX_TREES and kept > _MAX_KEPT:
            kept -= len(_trees.popitem(last=False)[1].files)
    _trees.move_to_end(key)
    return tree


def _load(folder: ArchiveFolder) -> MemberTree[Any]:
    parent, name = folder_and_name(folder.archive)
    with os_errors_as("read the archive", folder.shown):
        found = parent.stat(name)
        if found is None or (found.num_bytes, found.mtime_ns) != (folder.num_bytes, folder.mtime_ns):
            msg = f"{folder.shown}: the archive has changed since the conversion began; convert it again"
            raise SourceChangedError(msg)
        with parent.open(name) as file:
            return folder.load_tree(file, folder.shown, folder.num_bytes, folder.mtime_ns)
