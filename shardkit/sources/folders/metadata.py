"""Hugging Face's image folders: ``metadata.csv``, ``.jsonl`` or ``.parquet`` next to the images that it names.

The file is in the source's folder, or there is one in each split folder. Unlike ``datasets``, which takes only images
that are named and fails at the first missing one, shardkit rejects images without record and records without image.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.reject_reasons import BAD_SPLIT, MISSING, NO_LABEL
from shardkit.sources.folders.class_folders import ClassFolders, Part
from shardkit.sources.listing import (
    Listing,
    ListingRow,
    Source,
    batched,
    count_skipped,
    ending,
    is_ignored,
)
from shardkit.sources.tables.columns import Columns
from shardkit.sources.tables.formats.records import TableFile
from shardkit.sources.tables.paths import KeyBuilder, root_of
from shardkit.sources.walking import file_or_folder, is_dataset
from shardkit.storage import Folder, os_errors_as


@dataclass(frozen=True, slots=True)
class Metadata(Source):
    """A tree of images and the tables that name them.

    Attributes:
        folder: Root of the source.
        files: The tables, each for the images below its folder, except those below the folder of another table.
        columns: Roles of the columns, the same in all tables; their indexes are those of the first table.
        split_folders: Whether the first folder of a key is its split.
        excluded: Path below the root that is not listed, because it is the output; None for none.
    """

    folder: Folder
    files: tuple[TableFile, ...]
    columns: Columns
    split_folders: bool
    excluded: str | None

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return self.columns.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; names of a ClassLabel column."""
        return self.columns.labels.class_names or None

    layout = LAYOUTS["metadata"].title

    @property
    def label_files(self) -> tuple[str, ...]:
        """See Source."""
        return tuple(file.url for file in self.files)

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return not self.split_folders and self.columns.split is None

    def describe(self) -> str:
        """See Source."""
        names = ", ".join(file.name for file in self.files)
        splits = "; the split from the first folder" if self.split_folders else ""
        return f"{self.folder.url}: read as {self.layout} ({names}): {self.columns.describe()}{splits}"

    def parts(self) -> list[int]:
        """Return one part for each table, and one for the images that no table is for."""
        at_root = any("/" not in file.path for file in self.files)
        return list(range(len(self.files) + (not at_root)))

    def list_part(self, part: int, batch_rows: int) -> Iterator[Listing]:
        """See Source; first a table's records in its order, then the images that it does not name, sorted.

        Memory grows with the number of images below the table's folder, by about 200 bytes each.
        """
        file = self.files[part] if part < len(self.files) else None
        skipped: dict[str, int] = {}
        found: dict[str, ListingRow] = {}
        for listing in self._images(posixpath.dirname(file.path) if file else "", batch_rows):
            found.update((row.key, row) for row in listing.rows)
            for kind, count in listing.skipped.items():
                count_skipped(skipped, kind, count)
        if file and (kind := ending(file.path)) in skipped:
            skipped[kind] -= 1  # the table itself
        skipped = {kind: count for kind, count in skipped.items() if count}
        yield from batched(self.schema, self._rows(file, found, skipped), batch_rows, skipped)

    def _images(self, above: str, batch_rows: int) -> Iterator[Listing]:
        tree = ClassFolders(self.folder, excluded=self.excluded)
        if above:
            yield from tree.list_part(Part(above, None, "", recursive=True), batch_rows)
            return
        taken = {posixpath.dirname(file.path) for file in self.files}
        for name in child_folders(self.folder, self.excluded):
            if name not in taken:
                yield from tree.list_part(Part(name, None, "", recursive=True), batch_rows)
        yield from tree.list_part(Part("", None, "", recursive=False), batch_rows)

    def _rows(
        self, file: TableFile | None, found: dict[str, ListingRow], skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        unnamed = set(found)
        if file:
            above = posixpath.dirname(file.path)
            prefix = f"{above}/" if above else ""
            keys = KeyBuilder(root_of(self.folder) + prefix)
            row_of = self.columns.reordered(file.columns).rows(file.name, lambda path: prefix + keys.key(path))
            for record in file.all_records():
                row = row_of(record)
                unnamed.discard(row.key)
                if kind := self.columns.why_left_out(record):
                    count_skipped(skipped, kind)
                    continue
                yield self._with_image(row, found.get(row.key), f"{file.name}, line {record.line}")
        who = f"{file.name} does not name it" if file else "it lies in a folder that no metadata file is for"
        for key in sorted(unnamed):
            image = found[key]._replace(split=self._split(key), label_name=None)
            if image.reason is None:
                image = image._replace(reason=NO_LABEL, message=f"{who}; add a record for it, or move it away")
            yield image

    def _split(self, key: str) -> str | None:
        first, separator, _ = key.partition("/")
        return split_of_folder(first) if self.split_folders and separator else None

    def _with_image(self, row: ListingRow, image: ListingRow | None, line: str) -> ListingRow:
        """Return a record's row with its image's split, size and modification time, or why it is rejected."""
        problem = None
        if self.split_folders:
            row = row._replace(split=self._split(row.key))
            if row.split is None:
                problem = BAD_SPLIT, "the image lies outside the split folders; move it into one"
        if image is not None:
            row = row._replace(source_bytes=image.source_bytes, mtime_ns=image.mtime_ns)
        elif row.reason is None:
            # A hidden file, or one without the ending of an image: the check finds out what it is.
            entry = file_or_folder(self.folder, row.key)
            if entry is None or entry.is_folder:
                what = "is not there" if entry is None else "is a folder"
                problem = MISSING, f"the image that it names {what}; correct the name or add the image"
            else:
                row = row._replace(source_bytes=entry.num_bytes, mtime_ns=entry.mtime_ns)
        if row.reason is None and problem:
            extra = (row.extra[0], *[None] * (len(row.extra) - 1))  # the record's number stays
            return row._replace(label_name=None, reason=problem[0], message=f"{line}: {problem[1]}", extra=extra)
        return row


def child_folders(folder: Folder, excluded: str | None) -> list[str]:
    """Return the folders in a folder that may hold images: no output, and no dataset."""
    with os_errors_as("list the folder", folder.url):
        entries = folder.scan()
    names = [entry.name for entry in entries if entry.is_folder and not is_ignored(entry.name)]
    return [name for name in names if name != excluded and not is_dataset(folder, name)]
