"""Find images that are spread over folders by the first characters of their names, such as ``0/a/b/0ab1.jpg``."""

import posixpath
from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.file_names import ending
from shardkit.sources.walking import children, is_image, join
from shardkit.storage import Folder

_NUM_PROBES = 3  # folders of each level that are looked into
_MAX_DEPTH = 6
_MAX_WIDTH = 4  # characters of one folder


@dataclass(frozen=True, slots=True)
class PrefixFolders:
    """Folders whose names are the beginnings of the names of the images in them."""

    base: str  # the folder around them
    widths: tuple[int, ...]  # number of characters of each level

    def folder_of(self, name: str) -> str:
        stem = name if ending(name) not in IMAGE_ENDINGS else posixpath.splitext(name)[0]
        at, parts = 0, [self.base]
        for width in self.widths:
            parts.append(stem[at : at + width])
            at += width
        return join(*parts)

    def find(self, folder: Folder, name: str) -> str | None:
        """Return the path of the image of a name, with or without its ending; None if there is none."""
        above = self.folder_of(name)
        names = [entry.name for entry in children(folder, above) if not entry.is_folder]
        if name in names:
            return join(above, name)
        found = [one for one in names if posixpath.splitext(one)[0] == name and is_image(one)]
        return join(above, found[0]) if len(found) == 1 else None


def find_prefix_folders(folder: Folder) -> PrefixFolders | None:
    """Return how the images below a folder are spread by the beginnings of their names; None if they are not.

    A few folders of each level are looked into.
    """
    found = {_rule(path) for path in _probes(folder, "", _MAX_DEPTH)}
    rules = {one for one in found if one is not None}
    # Levels of test/ are those of train/, and a table is looked up in one of them only.
    return rules.pop() if len(rules) == 1 and None not in found else None


def _probes(folder: Folder, path: str, depth: int) -> list[str]:
    entries = children(folder, path)
    if first := next((one.name for one in entries if not one.is_folder and is_image(one.name)), None):
        return [join(path, first)]
    names = [one.name for one in entries if one.is_folder] if depth else []
    step = max(1, len(names) // _NUM_PROBES)
    num = _NUM_PROBES if depth == _MAX_DEPTH else 2
    return [found for name in names[::step][:num] for found in _probes(folder, join(path, name), depth - 1)]


def _rule(path: str) -> PrefixFolders | None:
    *folders, name = path.split("/")
    stem = posixpath.splitext(name)[0]
    for start in range(len(folders)):
        inner = folders[start:]
        if all(len(one) <= _MAX_WIDTH for one in inner) and stem.startswith("".join(inner)):
            return PrefixFolders("/".join(folders[:start]), tuple(map(len, inner)))
    return None
