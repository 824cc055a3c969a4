"""Finding the images that a table names in its own way: without their endings, in another case, or one folder up.

Only where none of the first images is where the table says: otherwise a name means what it says.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from shardkit.naming import printable
from shardkit.sources.listing import IMAGE_ENDINGS, ending, unicode_problem
from shardkit.sources.tables.records import BadRecord, shown
from shardkit.sources.tables.unlisted import listed_if_allowed
from shardkit.sources.walking import file_or_folder, join
from shardkit.storage import Folder

NUM_LOOKED_UP = 100  # images of the first records; usually the first one is there
_NUM_FOLDERS = 100  # below the root that are looked into for a hint


@dataclass(slots=True)
class Names:
    """Images by names that are not quite theirs; each folder is listed once, and kept: about 300 bytes a file.

    Attributes:
        folder: what keys start at.
    """

    folder: Folder
    _files: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def key(self, key: str) -> str:
        """The key of the one file that a key means; the key itself where there is none.

        A file of that very name, else one whose name differs in case, else, for a name without an image's ending, one
        of that name and such an ending.

        Raises:
            BadRecord: ``bad_path``, it means several files.
        """
        above, name = posixpath.split(key)
        if above not in self._files:
            self._files[above] = self._listed(above)
        files = self._files[above]
        found = files.get(name.casefold(), [])
        if name in found:
            return key
        if not found and ending(name) not in IMAGE_ENDINGS:
            with_endings = files.get(f"{name.casefold()}/", [])
            # Of stems that differ only in case, that of this case.
            found = [one for one in with_endings if posixpath.splitext(one)[0] == name] or with_endings
        if len(found) > 1:
            msg = f"{shown(key)} may be {found[0]} or {found[1]}; write the file's whole name"
            raise BadRecord("bad_path", msg)
        return join(above, found[0]) if found else key

    def _listed(self, path: str) -> dict[str, list[str]]:
        """Names of files by their case-folded names; of images also by their stems, with a '/' behind them."""
        files: dict[str, list[str]] = {}
        for entry in listed_if_allowed(self.folder, path):
            if entry.is_folder or unicode_problem(entry.name):
                continue
            files.setdefault(entry.name.casefold(), []).append(entry.name)
            if ending(entry.name) in IMAGE_ENDINGS:
                files.setdefault(f"{posixpath.splitext(entry.name)[0].casefold()}/", []).append(entry.name)
        return files


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a table's images are.

    Attributes:
        by_name: whether files have to be looked for by ``Names``.
        remark: what the user should know about it; '' for nothing.
    """

    by_name: bool = False
    remark: str = ""


def look_up(folder: Folder, keys: Iterable[str]) -> Whereabouts:
    """Look for the images of the first records.

    Args:
        folder: what keys start at.
        keys: of the first records.

    Raises:
        MachineError: a folder cannot be listed.
    """
    first = list(dict.fromkeys(keys))[:NUM_LOOKED_UP]
    for key in first:
        found = file_or_folder(folder, key)
        if found is not None and not found.is_folder:
            return Whereabouts()
    names = Names(folder)
    if pair := _first_found(names, first):
        remark = f"; images are found by names without endings or in another case, such as {shown(pair[1])}"
        return Whereabouts(by_name=True, remark=remark)
    folders = [entry.name for entry in listed_if_allowed(folder, "") if entry.is_folder]
    for name in folders[:_NUM_FOLDERS]:
        if pair := _first_found(names, [join(name, key) for key in first]):
            place = printable(join(folder.url.rstrip("/"), name))
            return Whereabouts(remark=f"; note: its images are not there but in {place}: say so with --root {place}")
    return Whereabouts()


def _first_found(names: Names, keys: Iterable[str]) -> tuple[str, str] | None:
    """The first key that means a file, and that file's key."""
    for key in keys:
        try:
            found = names.key(key)
        except BadRecord:  # several files: told with its record
            return key, key
        there = file_or_folder(names.folder, found)
        if there is not None and not there.is_folder:
            return key, found
    return None
