"""The names of the images below a folder, to find out which of them a text means."""

import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shardkit.errors import MachineError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.claim import Form
from shardkit.sources.name_index import (
    agreeing_most,
    name_key,
    uploaded_name,
    without_file_ending,
    written_path,
)
from shardkit.sources.walking import children, ending, file_or_folder, files_below, join
from shardkit.storage import Entry, Folder

_NUM_FOLDERS = 100  # that are listed
_MAX_DEPTH = 5
_MAX_PATH = 4096  # characters: Linux's PATH_MAX
_MAX_ALIKE = 100  # images of one name that are kept, of all other folders


class Found(NamedTuple):
    """The images that a text may mean, by the form in which they agree."""

    paths: list[str]
    form: Form  # how the text and the paths agree
    num_parts: int  # number of parts of the path, from its end, that agree
    is_upload: bool = False  # whether the text has the digits that an upload to Label Studio puts before the name


@dataclass(slots=True)
class ImageNames:
    """The images of a folder and of the first folders in it, and those of all folders that some texts may mean."""

    folder: Folder
    excluded: str | None  # path below it that is not searched; None for none
    places: tuple[str, ...] = ("",)  # paths below it that are searched
    by_name: dict[str, list[str]] = field(default_factory=dict)  # paths by `name_key` of the file's name
    by_stem: dict[str, list[str]] = field(default_factory=dict)  # paths by that of the name without its ending
    folder_names: set[str] = field(default_factory=set)  # names of the folders, as `plain_word` writes them
    is_complete: bool = True  # whether all folders are among the first ones
    _is_listed: bool = False
    _num_images: int = 0
    _listed: set[str] = field(default_factory=set)
    _looked_for: set[str] = field(default_factory=set)

    def _list(self) -> None:
        """List the first folders, when the first name is looked up."""
        if self._is_listed:
            return
        self._is_listed = True
        folders = self._folders()
        for path, entries in itertools.islice(folders, _NUM_FOLDERS):
            self._listed.add(path)
            for entry in entries:
                if entry.is_folder:
                    self.folder_names.add(plain_word(entry.name))
                elif ending(entry.name) in IMAGE_ENDINGS:
                    self._num_images += 1
                    self._add(path, entry.name)
        self.is_complete = next(folders, None) is None

    def _add(self, path: str, name: str) -> None:
        self.by_name.setdefault(name_key(name), []).append(join(path, name))
        self.by_stem.setdefault(name_key(posixpath.splitext(name)[0]), []).append(join(path, name))

    def _folders(self) -> Iterator[tuple[str, list[Entry]]]:
        """Yield the folders and their entries, level by level."""
        level: Sequence[str] = self.places
        for _ in range(_MAX_DEPTH + 1):
            below: list[str] = []
            for path in level:
                entries = children(self.folder, path)
                yield path, entries
                inner = (join(path, entry.name) for entry in entries if entry.is_folder)
                below += [one for one in inner if one != self.excluded]
            level = below
        yield from ((path, []) for path in level)

    def look_for(self, texts: Iterable[str]) -> None:
        """Add the images of all other folders that some texts may mean, if the first folders are not all.

        The names of a list may be shuffled, so that the images of its first ones are anywhere. What is kept depends on
        the number of texts, not on that of images.
        """
        self._list()
        paths = {written_path(text) for text in texts if len(text) <= _MAX_PATH}
        wanted = {name_key(without_file_ending(posixpath.basename(path))) for path in paths} - self._looked_for
        if self.is_complete or not wanted:
            return
        self._looked_for |= wanted
        parents = {name_key("/".join(path.split("/")[-2:])) for path in paths if "/" in path}
        self._num_images = 0
        for path in self.paths():
            self._num_images += 1
            above, _, name = path.rpartition("/")
            key = name_key(name)
            stem = posixpath.splitext(key)[0]
            if (key in wanted or stem in wanted) and above not in self._listed:
                known = self.by_name.get(key, ())
                ends = {f"{name_key(posixpath.basename(above))}/{one}" for one in (key, stem)}
                if len(known) < _MAX_ALIKE or ends & parents:
                    self._add(above, name)

    def paths(self) -> Iterator[str]:
        """Yield the paths of all images."""
        self._list()
        if self.is_complete:
            return (path for several in self.by_name.values() for path in several)
        excluded = () if self.excluded is None else (self.excluded,)
        files = itertools.chain.from_iterable(files_below(self.folder, place, excluded) for place in self.places)
        return (path for path, entry in files if ending(entry.name) in IMAGE_ENDINGS)

    @property
    def num_images(self) -> int:
        """Number of images: all that were seen."""
        return self._num_images

    @property
    def are_counted(self) -> bool:
        """Whether `num_images` is that of all folders."""
        return self.is_complete or bool(self._looked_for)

    def find(self, text: str, *, by_stem: bool = True) -> Found | None:
        """Return the images that a text means; None if it means none.

        With `by_stem`, it may be a name without ending, or that of a file about the image, such as ``1.xml``.
        """
        self._list()
        path = written_path(text)
        if not path or path.endswith("/"):
            return None
        is_relative = "/" in path and not path.startswith("/") and ".." not in path.split("/")
        if is_relative and is_file(self.folder, path):
            return Found([path], "path", path.count("/") + 1)
        name = name_key(posixpath.basename(path))
        if found := self.by_name.get(name):
            return _longest(found, path, has_ending=True)
        if not by_stem:
            return None
        if found := self.by_stem.get(without_file_ending(name)):
            return _longest(found, path, has_ending=False)
        plain = uploaded_name(posixpath.basename(path))
        found_plain = self.find(plain, by_stem=by_stem) if plain else None
        is_one = found_plain is not None and len(found_plain.paths) == 1
        return found_plain._replace(is_upload=True) if found_plain is not None and is_one else None

    def find_all(self, text: str) -> list[str]:
        """Return the images that a text means, of those that are listed."""
        found = self.find(text)
        return [] if found is None else found.paths


def _longest(paths: list[str], text: str, *, has_ending: bool) -> Found:
    """Return those of the images whose paths agree with the end of a text in most parts."""
    found, most = agreeing_most(paths, text)
    num_wanted = text.strip("/").count("/")
    is_path = len(found) == 1 and found[0].count("/") == most - 1 and num_wanted == most - 1
    if not has_ending:
        return Found(found, "name without ending", most)
    return Found(found, "path" if is_path else "name" if most == 1 else "end of the path", most)


def is_file(folder: Folder, path: str) -> bool:
    """Return whether a file exists; False too in a folder that may not be read."""
    try:
        entry = file_or_folder(folder, path)
    except MachineError as error:
        if isinstance(error.__cause__, PermissionError):
            return False
        raise
    return entry is not None and not entry.is_folder


def plain_word(value: object) -> str:
    """Return the letters and digits of a value in lower case: folders are called so in several ways."""
    return re.sub(r"[^\w]|_", "", str(value)).casefold()
