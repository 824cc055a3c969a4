"""Class folders: ``SOURCE/<label>/**/image`` and ``SOURCE/<split>/<label>/**/image``."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.errors import DataError
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.annotated_data_check import find_annotated_data
from shardkit.sources.listing import (
    IMAGE_ENDINGS,
    Listing,
    ListingRow,
    RecordProblem,
    Source,
    batched,
    count_skipped,
    ending,
    is_ignored,
    rejected_row,
    unicode_problem,
)
from shardkit.sources.tables.layout import TABLE_ENDINGS
from shardkit.sources.walking import are_of_dataset, is_dataset
from shardkit.storage import Entry, Folder, os_errors_as


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a folder, and the split and label of its images."""

    path: str
    split: str | None
    label_name: str | None
    recursive: bool


@dataclass(frozen=True, slots=True)
class ClassFolders(Source):
    """A tree whose first folder level is the label, or the split with the labels below it.

    Attributes:
        folder: Root of the source.
        with_splits: Whether the first folder level is the split.
        excluded: Path below the root that is not listed, because it is the output; None for none.
        remark: What the user should know about how the tree was read; '' for nothing.
    """

    folder: Folder
    with_splits: bool
    excluded: str | None
    remark: str

    @property
    def layout(self) -> str:
        """See Source."""
        return "split and class folders" if self.with_splits else "class folders"

    def describe(self) -> str:
        """See Source."""
        shape = "<split>/<label>/…/image" if self.with_splits else "<label>/…/image"
        return f"{self.folder.url}: read as {shape}{self.remark}"

    def parts(self) -> list[Part]:
        """Return one part for each label folder, and one for the images next to these folders, which have no label."""
        if not self.with_splits:
            return self._labels_below("", None)
        return [
            part
            for name in _folders(self.folder, "", self.excluded)
            for part in self._labels_below(name, split_of_folder(name))
        ] + [Part("", None, None, recursive=False)]

    def _labels_below(self, path: str, split: str | None) -> list[Part]:
        names = _folders(self.folder, path, self.excluded)
        labelled = [Part(_join(path, name), split, name, recursive=True) for name in names]
        return [*labelled, Part(path, split, None, recursive=False)]

    def listed_folders(self, part: Part) -> tuple[str]:
        """See Source."""
        return (part.path,)

    def list_part(self, part: Part, batch_rows: int) -> Iterator[Listing]:
        """See Source; files sorted by path, folder by folder."""
        skipped: dict[str, int] = {}
        yield from batched(self.schema, self._rows(part, skipped), batch_rows, skipped)

    def _rows(self, part: Part, skipped: dict[str, int]) -> Iterator[ListingRow]:
        for path, entry in self._files(part.path, part.recursive, self._above(part.path)):
            kind = ending(entry.name)
            if kind not in IMAGE_ENDINGS:
                count_skipped(skipped, kind)
            elif problem := unicode_problem(path):
                yield rejected_row(problem, part.split, entry)
            elif part.label_name is None:
                message = "the image lies outside every label folder; move it into one"
                yield rejected_row(RecordProblem(path, NO_LABEL, message), part.split, entry)
            else:
                yield ListingRow(path, part.split, part.label_name, entry.num_bytes, entry.mtime_ns)

    def _above(self, path: str) -> tuple[str, ...]:
        folders = path.split("/") if path else []
        return tuple(self.folder.resolve("/".join(folders[:depth])) for depth in range(len(folders)))

    def _files(self, path: str, recursive: bool, above: tuple[str, ...]) -> Iterator[tuple[str, Entry]]:  # noqa: FBT001
        here = self.folder.resolve(path)
        if here in above:
            return  # a symbolic link to a folder above: its files are listed already
        folders = []
        prefix = f"{path}/" if path else ""
        with os_errors_as("list the folder", f"{self.folder.url}/{path}"):
            entries = self.folder.scan(path)
        if are_of_dataset(entries):
            return  # a dataset that was written into a folder of the source earlier
        for entry in entries:
            if is_ignored(entry.name):
                continue
            if entry.is_folder:
                folders.append(entry.name)
            else:
                yield prefix + entry.name, entry
        if recursive:
            for name in folders:
                if prefix + name != self.excluded:
                    yield from self._files(prefix + name, recursive, (*above, here))


def open_class_folders(folder: Folder, excluded: str | None, *, is_explicit: bool = True) -> ClassFolders:
    """Read the first levels of a tree and decide how to list it.

    Args:
        folder: The source.
        excluded: Path below it that is not listed; None for none.
        is_explicit: Whether the user chose this layout. If not, a tree that looks like annotated images is refused.

    Raises:
        DataError: There is no label folder, or the tree looks like annotated images.
    """
    names = _folders(folder, "", excluded)
    if not names:
        in_table = (
            f"those in {command}" if (command := _table_command(folder)) else "those in a table the table as SOURCE"
        )
        msg = (
            f"{folder.url}: there are no label folders; "
            "shardkit reads SOURCE/<label>/image or SOURCE/<split>/<label>/image, one folder a label; "
            f"labels in the files' names need --label-pattern, {in_table}"
        )
        raise DataError(msg)
    as_splits = [name for name in names if split_of_folder(name)]
    labels = [("", names)]
    with_splits = False
    if len(as_splits) == len(names):
        below = [(name, _folders(folder, name, excluded)) for name in names]
        if with_splits := any(inner for _, inner in below):
            labels = below
    if not is_explicit and (sign := find_annotated_data(folder, labels)):
        in_table = f"; labels in {command}" if (command := _table_command(folder)) else ""
        msg = (
            f"{folder.url}: this looks like annotated images, not like class folders: it holds {sign}; shardkit reads "
            "COCO (annotations/*.json), Pascal VOC (Annotations/*.xml next to JPEGImages/), YOLO (data.yaml, or "
            "images/ next to labels/ with classes.txt) and masks (masks/*.png, TIFF or BMP, next to images/): arrange "
            f"it so, or give the folder that holds the label folders as SOURCE{in_table}; if each folder is a class "
            "after all, add --layout class-folders"
        )
        raise DataError(msg)
    if with_splits:
        return ClassFolders(folder, with_splits=True, excluded=excluded, remark="")
    remark = ""
    if as_splits:
        others = [name for name in names if name not in as_splits]
        why = f"because of {others[0]!r} next to them" if others else "because they hold no label folders"
        remark = f"; note: {', '.join(map(repr, as_splits))} read as label, not as split, {why}"
    return ClassFolders(folder, with_splits=False, excluded=excluded, remark=remark)


def _table_command(folder: Folder) -> str:
    """Return the first table in the source's own folder and the command that converts it; '' if there is none."""
    with os_errors_as("list the folder", folder.url):
        tables = [one.name for one in folder.scan() if not one.is_folder and ending(one.name) in TABLE_ENDINGS]
    tables = [name for name in tables if not is_ignored(name)]
    if not tables:
        return ""
    if isinstance(folder, ArchiveFolder):
        return f"{printable(tables[0])}: unpack the archive, then shardkit convert FOLDER/{printable(tables[0])} OUTPUT"
    return f"{printable(tables[0])}: shardkit convert {shlex.quote(f'{folder.url}/{tables[0]}')} OUTPUT"


def _folders(folder: Folder, path: str, excluded: str | None) -> list[str]:
    with os_errors_as("list the folder", f"{folder.url}/{path}"):
        entries = folder.scan(path)
    names = [entry.name for entry in entries if entry.is_folder and not is_ignored(entry.name)]
    # Datasets that were written into the source's root are neither labels nor splits.
    return [name for name in names if _join(path, name) != excluded and (path or not is_dataset(folder, name))]


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
