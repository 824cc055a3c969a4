"""The names of the images below a folder, to find out which of them a text means."""

import itertools
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.claims.claim import Form
from shardkit.sources.listing import ending
from shardkit.sources.tables.images.prefix_folders import PrefixFolders, find_prefix_folders
from shardkit.sources.walking import children, file_or_folder, join
from shardkit.storage import Entry, Folder

_NUM_FOLDERS = 100  # that are listed
_MAX_DEPTH = 5
_FEW = 2  # characters of a folder that may be the beginning of its images' names
_DRIVE = re.compile(r"^[A-Za-z]:/")


class Found(NamedTuple):
    """The images that a text may mean, by the form in which they agree.

    Attributes:
        paths: The images.
        form: How the text and the paths agree.
        num_parts: Number of parts of the path, from its end, that agree.
    """

    paths: list[str]
    form: Form
    num_parts: int


@dataclass(slots=True)
class ImageNames:
    """The images of a folder and of the first folders in it.

    Attributes:
        folder: The folder.
        excluded: Path below it that is not searched; None for none.
        by_name: Paths by the file's name in lower case.
        by_stem: Paths by that name without its ending.
        folder_names: Names of the folders, as `plain_word` writes them.
        is_complete: Whether all folders were listed.
        is_lazy: Whether the folders are listed when the first name is looked up.
    """

    folder: Folder
    excluded: str | None
    is_lazy: bool = False
    by_name: dict[str, list[str]] = field(default_factory=dict)
    by_stem: dict[str, list[str]] = field(default_factory=dict)
    folder_names: set[str] = field(default_factory=set)
    is_complete: bool = True
    _prefixes: PrefixFolders | None = None

    def __post_init__(self) -> None:
        if not self.is_lazy:
            self._list()

    def _list(self) -> None:
        self.is_lazy = False
        folders = self._folders()
        for path, entries in itertools.islice(folders, _NUM_FOLDERS):
            for entry in entries:
                if entry.is_folder:
                    self.folder_names.add(plain_word(entry.name))
                elif ending(entry.name) in IMAGE_ENDINGS:
                    stem = posixpath.splitext(entry.name)[0].casefold()
                    self.by_name.setdefault(entry.name.casefold(), []).append(join(path, entry.name))
                    self.by_stem.setdefault(stem, []).append(join(path, entry.name))
        self.is_complete = next(folders, None) is None
        if not self.is_complete or any(len(name) <= _FEW for name in self.folder_names):
            self._prefixes = find_prefix_folders(self.folder)

    def _folders(self) -> Iterator[tuple[str, list[Entry]]]:
        """Yield the folders and their entries, level by level."""
        level = [""]
        for _ in range(_MAX_DEPTH + 1):
            below: list[str] = []
            for path in level:
                entries = children(self.folder, path)
                yield path, entries
                inner = (join(path, entry.name) for entry in entries if entry.is_folder)
                below += [one for one in inner if one != self.excluded]
            level = below

    def __len__(self) -> int:
        return sum(map(len, self.by_name.values()))

    def find(self, text: str, *, by_stem: bool = True) -> Found | None:
        """Return the images that a text means; None if it means none.

        Args:
            text: A path, a name, or a name without ending; it may have been written on another machine.
            by_stem: Whether it may be a name without ending.
        """
        if self.is_lazy:
            self._list()
        path = written_path(text)
        if not path or path.endswith("/"):
            return None
        if "/" in path and not path.startswith("/") and ".." not in path.split("/"):
            entry = file_or_folder(self.folder, path)
            if entry is not None and not entry.is_folder:
                return Found([path], "path", path.count("/") + 1)
        name = posixpath.basename(path).casefold()
        if found := self.by_name.get(name):
            return _longest(found, path, has_ending=True)
        if not by_stem:
            return None
        if found := self.by_stem.get(name):
            return _longest(found, path, has_ending=False)
        if self._prefixes is not None and (one := self._prefixes.find(self.folder, posixpath.basename(path))):
            has_ending = ending(path) in IMAGE_ENDINGS
            return Found([one], "name" if has_ending else "name without ending", 1)
        return None

    def tells_apart(self, num_parts: int, *, has_ending: bool) -> bool:
        """Return whether the last parts of the images' paths differ."""
        known = self.by_name if has_ending else self.by_stem
        if num_parts == 1:
            return all(len(paths) == 1 for paths in known.values())
        ends = ("/".join(path.split("/")[-num_parts:]) for paths in known.values() if len(paths) > 1 for path in paths)
        several = [one if has_ending else posixpath.splitext(one)[0] for one in ends]
        return len(set(several)) == len(several)


def _longest(paths: list[str], text: str, *, has_ending: bool) -> Found:
    """Return those of the images whose paths agree with the end of a text in most parts."""
    wanted = text.strip("/").split("/")[:-1]
    num_parts = {}
    for path in paths:
        folders = path.split("/")[:-1]
        pairs = zip(reversed(folders), reversed(wanted), strict=False)
        num_parts[path] = 1 + sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    most = max(num_parts.values())
    found = [path for path, num in num_parts.items() if num == most]
    is_path = len(found) == 1 and found[0].count("/") == most - 1 and len(wanted) == most - 1
    if not has_ending:
        return Found(found, "name without ending", most)
    return Found(found, "path" if is_path else "name" if most == 1 else "end of the path", most)


def written_path(text: str) -> str:
    """Return a path as a text means it: with '/', without blanks around it and a drive of Windows."""
    path = text.strip().replace("\\", "/").removeprefix("./")
    return _DRIVE.sub("/", path)


def plain_word(value: object) -> str:
    """Return the letters and digits of a value in lower case: folders are called so in several ways."""
    return re.sub(r"[^\w]|_", "", str(value)).casefold()
