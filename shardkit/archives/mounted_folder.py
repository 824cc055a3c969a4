"""Several folders, archives and files as one read-only tree, so that every layout reads them like one folder.

    pets/  <- pets.zip, the folder pets/ in it
    test/  <- the folder rps-test-set/

Nothing is copied. Where several of them are at one path, such as the parts of a download, their trees are united.
"""

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from shardkit.archives.member_tree import ArchiveFolder, ArchiveProblem
from shardkit.archives.read_only import ReadOnlyFolder
from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.storage import Entry, Folder


class Mount(NamedTuple):
    """A folder or a file, and its place in the tree.

    Attributes:
        at: Its path in the tree; '' for the root, where only a folder can be.
        folder: The folder that it is in, or that it is.
        path: Its path in that folder; '' for the folder itself.
        without: Paths below it that are not shown.
        is_file: Whether it is a file.
    """

    at: str
    folder: Folder
    path: str = ""
    without: tuple[str, ...] = ()
    is_file: bool = False

    def below(self, path: str) -> str | None:
        """Return the path in `folder` of a path in the tree; None if it is not below this mount, or not shown."""
        if self.at and path != self.at and not path.startswith(f"{self.at}/"):
            return None
        inner = path[len(self.at) :].lstrip("/")
        if any(inner == hidden or inner.startswith(f"{hidden}/") for hidden in self.without):
            return None
        return f"{self.path}/{inner}".strip("/")


@dataclass(frozen=True, slots=True)
class MountedFolder(ReadOnlyFolder):
    """A tree of several folders, archives and files.

    Attributes:
        name: The tree's path or URL, as messages name it.
        mounts: What is in it. Of two files with the same path and size, that of the first mount is read.
        root: Path of this folder in the tree; '' for the outermost.
    """

    name: str
    mounts: tuple[Mount, ...]
    root: str = ""
    _numbers: dict[str, list[int]] = field(init=False, repr=False, compare=False)  # of the mounts, by their places
    _above: dict[str, set[str]] = field(init=False, repr=False, compare=False)  # names that lead to mounts, by folder

    def __post_init__(self) -> None:
        numbers, above = dict[str, list[int]](), dict[str, set[str]]()
        for number, mount in enumerate(self.mounts):
            numbers.setdefault(mount.at, []).append(number)
            path = mount.at
            while path:
                path, _, name = path.rpartition("/")
                above.setdefault(path, set()).add(name)
        object.__setattr__(self, "_numbers", numbers)
        object.__setattr__(self, "_above", above)

    @property
    def url(self) -> str:
        """See Folder."""
        return f"{self.name.rstrip('/')}/{self.root}" if self.root else self.name

    def url_of(self, path: str) -> str:
        """See Folder; the user's path, which the tree may show under another one."""
        places = [*self._places(self._at(path))]
        return places[0][0].url_of(places[0][1]) if len(places) == 1 else f"{self.url}/{path}"

    def below(self, path: str) -> "MountedFolder":
        """Return the folder at a path."""
        return replace(self, root=self._at(path))

    def without(self, path: str) -> "MountedFolder":
        """Return the tree without what the first mount, which is at the root, has at a path."""
        first, *others = self.mounts
        return replace(self, mounts=(first._replace(without=(*first.without, path)), *others))

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}".strip("/")

    def _mounts_at(self, path: str) -> Iterator[tuple[Mount, str]]:
        """Yield the mounts that may hold a path, with the path in the folder of each."""
        parts = path.split("/") if path else []
        above = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
        for number in sorted(number for place in above for number in self._numbers.get(place, ())):
            mount = self.mounts[number]
            inner = mount.below(path)
            if inner is not None:
                yield mount, inner

    def _places(self, path: str) -> Iterator[tuple[Folder, str]]:
        return ((mount.folder, inner) for mount, inner in self._mounts_at(path))

    def problems(self) -> list[ArchiveProblem]:
        """Return the entries of archives in the tree that cannot be read, with paths below this folder."""
        found = []
        for number, mount in enumerate(self.mounts):
            is_again = any(other.folder is mount.folder for other in self.mounts[:number])
            if isinstance(mount.folder, ArchiveFolder | MountedFolder) and not is_again:
                start = f"{mount.at}/" if mount.at else ""
                found += [one._replace(name=start + one.name) for one in mount.folder.problems()]
        below = f"{self.root}/" if self.root else ""
        return [one._replace(name=one.name.removeprefix(below)) for one in found]

    def paths(self) -> Iterator[str]:
        """Return the paths of all files of archives below this folder."""
        below = f"{self.root}/" if self.root else ""
        for mount in self.mounts:
            if not isinstance(mount.folder, ArchiveFolder | MountedFolder):
                continue
            for inner in mount.folder.below(mount.path).paths():
                path = f"{mount.at}/{inner}".lstrip("/")
                if path.startswith(below) and mount.below(path) is not None:
                    yield path[len(below) :]

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder.

        Raises:
            DataError: Two mounts have different files at one path.
        """
        at = self._at(path)
        found: dict[str, Entry] = {}
        for name in self._above.get(at, ()):
            mounts = [self.mounts[number] for number in self._numbers.get(f"{at}/{name}".lstrip("/"), ())]
            file = next((one.folder.stat(one.path) for one in mounts if one.is_file), None)
            found[name] = file._replace(name=name) if file else Entry(name, is_folder=True, num_bytes=0, mtime_ns=0)
        for mount, inner in self._mounts_at(at):
            for entry in mount.folder.scan(inner):
                path = f"{at}/{entry.name}".lstrip("/")
                if mount.without and mount.below(path) is None:
                    continue
                other = found.setdefault(entry.name, entry)
                if other.is_folder != entry.is_folder or (not entry.is_folder and other.num_bytes != entry.num_bytes):
                    raise self._collision(path)
        return sorted(found.values())

    def _collision(self, path: str) -> DataError:
        places = [f"{folder.url}/{inner}" for folder, inner in self._places(path) if folder.stat(inner)]
        shown = " and ".join(map(printable, places[:2]))
        return DataError(f"{shown} are different files of the same name; rename one of them, or convert them apart")

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        at = self._at(path)
        name = at.rpartition("/")[2]
        for folder, inner in self._places(at):
            if found := folder.stat(inner):
                return found._replace(name=name)
        if not at or at in self._above:
            return Entry(name, is_folder=True, num_bytes=0, mtime_ns=0)
        return None

    def place_of(self, path: str) -> tuple[Folder, str]:
        """Return the folder and the path in it of a file."""
        places = [*self._places(self._at(path))]
        if not places:
            raise FileNotFoundError(errno.ENOENT, "No such file", f"{self.url}/{path}")
        if len(places) == 1:
            return places[0]
        return next((one for one in places if one[0].stat(one[1]) is not None), places[0])

    def read(self, path: str) -> bytes:
        """See Folder."""
        folder, inner = self.place_of(path)
        return folder.read(inner)

    def open(self, path: str) -> Any:
        """See Folder."""
        folder, inner = self.place_of(path)
        return folder.open(inner)

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder."""
        folder, inner = self.place_of(path)
        return folder.read_range(inner, start, num_bytes)

    def ranges(self, path: str) -> Callable[[int, int], bytes]:
        """See Folder."""
        folder, inner = self.place_of(path)
        return folder.ranges(inner)

    def resolve(self, path: str) -> str:
        """See Folder; folders of the tree that hold several mounts are resolved as nothing else is."""
        at = self._at(path)
        places = [*self._places(at)]
        if len(places) == 1 and at not in self._above:
            return places[0][0].resolve(places[0][1])
        return f"tree:{self.name}/{at}"

    def is_link(self, path: str) -> bool:
        """See Folder."""
        return any(folder.is_link(inner) for folder, inner in self._places(self._at(path)))
