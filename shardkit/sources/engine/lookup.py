"""Find images that a table names without their ending, in another case, or in another folder.

This applies only if none of the first records' images is where the table says; otherwise names are taken literally.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.refusals import RefusalError
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.file_names import ending, stem_of
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord, unicode_problem
from shardkit.sources.name_index import name_key, uploaded_name
from shardkit.sources.walking import join, list_if_allowed
from shardkit.storage import Folder

_MAX_IDS = 100_000  # records that are looked at for lost zeros


@dataclass(slots=True)
class NameResolver:
    """Finds files by inexact names. Lists each folder once and keeps the listing: about 300 bytes per file."""

    folder: Folder
    _files: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def find(self, key: str) -> str | None:
        """Return the key of the one file that a key means; None if there is none.

        A file of exactly that name comes first, then one whose name differs in case, then, for a name without an image
        ending, an image with that stem.
        """
        above, name = posixpath.split(key)
        if above not in self._files:
            self._files[above] = self._listed(above)
        files = self._files[above]
        found = files.get(name_key(name), [])
        if name in found:
            return key
        found = [one for one in found if ending(one) in {*IMAGE_ENDINGS, ending("")}]  # not the table itself
        if not found and ending(name) not in IMAGE_ENDINGS:
            with_endings = files.get(f"{name_key(name)}/", [])
            # Stems that differ only in case: prefer the exact one.
            found = [one for one in with_endings if posixpath.splitext(one)[0] == name] or with_endings
        if not found and (plain := uploaded_name(name)):
            return self.find(join(above, plain))
        if len(found) > 1:
            msg = f"{shown(key)} may be {found[0]} or {found[1]}; write the file's whole name"
            raise BadRecord(BAD_PATH, msg)
        return join(above, found[0]) if found else None

    def _listed(self, path: str) -> dict[str, list[str]]:
        """Return names of files by case-folded name; images also by case-folded stem with '/' behind it."""
        files: dict[str, list[str]] = {}
        for entry in list_if_allowed(self.folder, path):
            if entry.is_folder or unicode_problem(entry.name):
                continue
            files.setdefault(name_key(entry.name), []).append(entry.name)
            if ending(entry.name) in IMAGE_ENDINGS:
                files.setdefault(f"{name_key(posixpath.splitext(entry.name)[0])}/", []).append(entry.name)
        return files


@dataclass(frozen=True, slots=True)
class ImageLocation:
    """How a table's images are found."""

    by_name: bool = False  # whether keys have to be resolved by NameResolver
    folders: tuple[str, ...] = ("",)  # folders that the table's paths start at; an image is in exactly one of them
    remark: str = ""  # what the user should know about it; '' for nothing
    is_anywhere: bool = False  # whether they are found by their names in all folders
    # Whether a record describes all images whose names begin with its value; see `described_images`
    is_beginning: bool = False


def refuse_lost_zeros(file: TableFile, columns: Iterable[int], paths: Iterable[str]) -> None:
    """Refuse a table whose numbers are names of images without the zeros that these begin with: 1 for 0001.jpg."""
    numbers: dict[int, dict[str, str]] = {i: {} for i in columns}
    num_records = 0
    for record in islice(file.all_records(frozenset(numbers)), _MAX_IDS):
        num_records += 1
        for i in [] if record.problem else [*numbers]:
            text = str(record.values[i]).strip()
            if not text.isdecimal() or text.startswith("0"):
                del numbers[i]
            else:
                numbers[i][text] = ""
        if not numbers:
            return
    exact: set[str] = set()
    for path in paths:
        stem = stem_of(path)
        exact.add(stem)
        if stem.startswith("0") and stem.isdecimal():
            for found in numbers.values():
                if stem.lstrip("0") in found:
                    found[stem.lstrip("0")] = path
    for i, found in numbers.items():
        padded = {text: path for text, path in found.items() if path}
        num_exact = len(exact & {*found})
        is_id = 2 * len(found) > num_records  # a class repeats
        if is_id and 2 * len(padded) > len(found) and 2 * num_exact <= len(found):
            text, path = next(iter(padded.items()))
            others = f", and {num_exact:,} are names as they are" if num_exact else ""
            problem = (
                f"{file.url}: {len(padded):,} of {len(found):,} values of column {file.columns[i]!r} are names of "
                f"images without their zeros, such as {text} for {printable(path)}{others}"
            )
            stem = stem_of(path)
            remedy = (
                f"write them as the images are called, {stem} instead of {text}: programs drop the zeros of a column "
                "that is not saved as text"
            )
            raise RefusalError(problem, remedy=remedy)
