"""Find images that a table names without their ending, in another case, or one folder higher.

This applies only if none of the first records' images is where the table says; otherwise names are taken literally.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from shardkit.naming import printable
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.listing import IMAGE_ENDINGS, BadRecord, ending, unicode_problem
from shardkit.sources.tables.formats.records import shown
from shardkit.sources.tables.unlisted import list_if_allowed
from shardkit.sources.walking import file_or_folder, join
from shardkit.storage import Folder

NUM_LOOKED_UP = 100  # images of the first records that are looked up; usually the first one exists
_NUM_FOLDERS = 100  # folders below the root that are searched for a hint


@dataclass(slots=True)
class NameResolver:
    """Finds files by inexact names. Lists each folder once and keeps the listing: about 300 bytes per file.

    Attributes:
        folder: The folder that keys start at.
    """

    folder: Folder
    _files: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def resolve(self, key: str) -> str:
        """Return the key of the one file that a key means; the key itself if there is none.

        A file of exactly that name comes first, then one whose name differs in case, then, for a name without an image
        ending, an image with that stem.

        Raises:
            BadRecord: BAD_PATH: the key matches several files.
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
            # Stems that differ only in case: prefer the exact one.
            found = [one for one in with_endings if posixpath.splitext(one)[0] == name] or with_endings
        if len(found) > 1:
            msg = f"{shown(key)} may be {found[0]} or {found[1]}; write the file's whole name"
            raise BadRecord(BAD_PATH, msg)
        return join(above, found[0]) if found else key

    def _listed(self, path: str) -> dict[str, list[str]]:
        """Return names of files by case-folded name; images also by case-folded stem with '/' behind it."""
        files: dict[str, list[str]] = {}
        for entry in list_if_allowed(self.folder, path):
            if entry.is_folder or unicode_problem(entry.name):
                continue
            files.setdefault(entry.name.casefold(), []).append(entry.name)
            if ending(entry.name) in IMAGE_ENDINGS:
                files.setdefault(f"{posixpath.splitext(entry.name)[0].casefold()}/", []).append(entry.name)
        return files


@dataclass(frozen=True, slots=True)
class ImageLocation:
    """How a table's images are found.

    Attributes:
        by_name: Whether keys have to be resolved by NameResolver.
        remark: What the user should know about it; '' for nothing.
    """

    by_name: bool = False
    remark: str = ""


def locate_images(folder: Folder, keys: Iterable[str]) -> ImageLocation:
    """Look up the images of the first records.

    Args:
        folder: The folder that keys start at.
        keys: Keys of the first records.

    Raises:
        MachineError: A folder cannot be listed.
    """
    first = list(dict.fromkeys(keys))[:NUM_LOOKED_UP]
    for key in first:
        found = file_or_folder(folder, key)
        if found is not None and not found.is_folder:
            return ImageLocation()
    names = NameResolver(folder)
    if pair := _first_found(names, first):
        remark = f"; images are found by names without endings or in another case, such as {shown(pair[1])}"
        return ImageLocation(by_name=True, remark=remark)
    folders = [entry.name for entry in list_if_allowed(folder, "") if entry.is_folder]
    for name in folders[:_NUM_FOLDERS]:
        if pair := _first_found(names, [join(name, key) for key in first]):
            place = printable(join(folder.url.rstrip("/"), name))
            return ImageLocation(remark=f"; note: its images are not there but in {place}: say so with --root {place}")
    return ImageLocation()


def _first_found(names: NameResolver, keys: Iterable[str]) -> tuple[str, str] | None:
    """Return the first key that means a file, and that file's key."""
    for key in keys:
        try:
            found = names.resolve(key)
        except BadRecord:  # several files: the listing rejects the record
            return key, key
        there = file_or_folder(names.folder, found)
        if there is not None and not there.is_folder:
            return key, found
    return None
