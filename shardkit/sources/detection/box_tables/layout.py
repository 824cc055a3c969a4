"""Tables of boxes: one row per box, or one row without coordinates for an image without boxes.

All rows of an image are one example, in the table's order; they need not be next to each other. Boxes are in pixels or
in fractions of the image's sides, which the header or the first 1,000 rows tell. Columns of the image's width and
height are compared with the image. A table of Open Images names many more images than people download: those that are
not there are counted as skipped, not rejected.
"""

import contextlib
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.options.values import Missing
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_ANNOTATION
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.columns import LINE
from shardkit.sources.context import Opening
from shardkit.sources.detection.box_tables.files import FoundTables, find_tables, has_box_tables, holds_boxes
from shardkit.sources.detection.box_tables.tables import BoxTable, open_table, read_class_names
from shardkit.sources.detection.other_exports import holds_other_export
from shardkit.sources.detection.rows import detection_schema, image_row
from shardkit.sources.engine.unannotated import unnamed_images, without_annotation
from shardkit.sources.folders.source_place import SourcePlace
from shardkit.sources.formats.box_tables.join_rows import Gathered, Slice, gather
from shardkit.sources.formats.record import ONE_CLASS
from shardkit.sources.listing import BadRecord, Listing, ListingRow, RecordProblem, Source, batched, rejected_row
from shardkit.sources.lists.class_names import find_class_names
from shardkit.sources.name_index import NameIndex
from shardkit.sources.unlisted_images import UnlistedImages
from shardkit.sources.walking import children, join, parent_of
from shardkit.storage import Entry, Folder

__all__ = ["BoxTables", "has_box_tables", "holds_boxes", "open_box_tables"]

_TABLES_SHOWN = 4  # that `describe` names


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of the images of a table, which its number in the source tells."""

    table: int
    images: Slice


@dataclass(frozen=True, slots=True)
class BoxTables(Source):
    """A source of tables of boxes.

    Attributes:
        folder: The folder that keys start at.
        files: The tables.
        is_whole: Whether all images in the folder are counted that no table names: if SOURCE is a folder.
        remark: What the user should know besides; '' for nothing.
        policy: What happens to images that no table names, next to others that one does.
    """

    folder: Folder
    files: tuple[BoxTable, ...]
    is_whole: bool
    remark: str
    policy: Missing = "reject"

    layout = LAYOUTS["box-table"].title

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        flags = [pa.field(name, pa.int64()) for name, _ in self.files[0].columns.flags]  # 1, 0, -1 for unknown
        return pa.schema([*detection_schema(flags), LINE])

    def describe(self) -> str:
        """See Source."""
        read = []
        for table in self.files[:_TABLES_SHOWN]:
            split = f" as {table.split}" if table.split else ""
            images = join(self.folder.url, table.paths.place)
            read.append(f"{printable(table.path)} with the images in {images}{split}: {table.describe()}")
        if len(self.files) > _TABLES_SHOWN:
            read.append(f"{len(self.files) - _TABLES_SHOWN:,} tables more")
        return f"{self.folder.url}: read {'; '.join(read)}{self.remark}"

    def parts(self) -> list[Part | UnlistedImages]:
        """Return slices of each table's images, and a part for the images that no table names."""
        slices = [Part(i, Slice(j, one.num_slices)) for i, one in enumerate(self.files) for j in range(one.num_slices)]
        return [UnlistedImages(), *slices]

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        return tuple(UsedFile(table.path, "labels") for table in self.files)

    def list_part(self, part: Part | UnlistedImages, batch_rows: int) -> Iterator[Listing]:
        """See Source."""
        skipped: dict[str, int] = {}
        rows = self._unnamed(skipped) if isinstance(part, UnlistedImages) else self._rows(part, skipped)
        yield from batched(self.schema, rows, batch_rows, skipped)

    def _unnamed(self, skipped: dict[str, int]) -> Iterator[ListingRow]:
        keys = (key for table in self.files for key in self.keys(table))
        why = "that no table names"
        yield from unnamed_images(self.folder, keys, self._unnamed_row, skipped, is_whole=self.is_whole, why=why)

    def _unnamed_row(self, key: str, entry: Entry, skipped: dict[str, int]) -> Iterator[ListingRow]:
        split = self.files[0].split if len(self.files) == 1 else None
        what = "no table names the image; add a record for it"
        yield from without_annotation(self.policy, key, split, entry, what, skipped, ([], None, None, None))

    def _rows(self, part: Part, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the rows of a slice: images sorted by key, then bad records."""
        table = self.files[part.table]
        present = self._present(table, part.images) if table.columns.is_open_images else None
        names = read_class_names(table.file.folder, table.class_file) if table.class_file else {}
        if table.columns.label is None:
            names = {ONE_CLASS: table.one_class}
        gathered = Gathered(table.columns, table.path, skipped=skipped)
        gather(
            table.file.all_records(),
            gathered,
            _Keys(table, self.folder).key,
            part.images,
            is_fraction=table.is_fraction,
            label_of=lambda label: names.get(label, label),
            present=present,
        )
        yield from _rows(table, gathered, present or {})

    def _present(self, table: BoxTable, images: Slice) -> dict[str, Entry]:
        """Return the files of a slice in the folder that the table's images are in, by key."""
        place = table.paths.place
        entries = ((join(place, one.name), one) for one in children(self.folder, place) if not one.is_folder)
        return {key: entry for key, entry in entries if images.has_key(key)}

    def keys(self, file: BoxTable) -> Iterator[str]:
        """Yield the keys that a table names; a key that follows itself is yielded once."""
        key_of, last = _Keys(file, self.folder).key, ""
        for record in file.file.all_records(frozenset({file.columns.image})):
            if record.problem is None:
                try:
                    key = key_of(record.values[file.columns.image])
                except BadRecord:
                    continue
                if key != last:
                    yield key
                last = key


def _rows(table: BoxTable, gathered: Gathered, present: dict[str, Entry]) -> Iterator[ListingRow]:
    keys = sorted(gathered.images)
    for key, objects in zip(keys, gathered.objects(keys, is_fraction=table.is_fraction), strict=True):
        image = gathered.images[key]
        split = table.split if table.columns.split is None else image.split
        reason, message = image.problem or (BAD_ANNOTATION, objects if isinstance(objects, str) else "")
        if message or isinstance(objects, str):
            problem = RecordProblem(key, reason, f"{table.path}: {message}")
            row = rejected_row(problem, split, present.get(key))
            yield row._replace(extra=(None, None, None, image.line))
        else:
            unit = (0, 0) if table.is_fraction else (None, None)
            size = image.size if image.size[0] else unit
            yield image_row(key, split, present.get(key), objects, size, image.line)
    yield from (rejected_row(problem, table.split) for problem in gathered.problems)


class _Keys:
    """Keys of a table's images; rows of one image usually follow each other."""

    def __init__(self, table: BoxTable, folder: Folder) -> None:
        self._paths = NameIndex(folder) if table.paths.by_name else table.paths
        self._last: tuple[object, str] | None = None

    def key(self, text: object) -> str:
        """Return an image's key; see ImagePaths.key."""
        if self._last is None or self._last[0] != text:
            self._last = text, self._paths.key(text)
        return self._last[1]


def is_box_tables(folder: Folder) -> bool:
    """Return whether a folder has tables of boxes.

    Raises:
        DataError: It has none, and has an export of a tool that no layout reads.
    """
    return has_box_tables(folder) or holds_other_export(folder)


def open_box_tables(opening: Opening) -> BoxTables:
    """Find the tables of boxes and their images.

    The images of a file that is the source may be next to its folder, or at absolute paths.

    Raises:
        DataError: There are no tables of boxes, or no images for them.
        CallError: There are several tables that may be the source.
    """
    folder, options, path = opening.folder, opening.options, opening.file
    place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=options.ignore)
    found = FoundTables((path,)) if path is not None else find_tables(folder, place)
    names = NameIndex(folder)
    opened = [open_table(folder, one, options, names, may_leave=path is not None) for one in found.paths]
    left_out = ", ".join(map(printable, found.left_out))
    remark = f"; left out {left_out}" if left_out else ""
    remark += f"; to read one class per image instead, add {named('layout', 'table')}" if path is not None else ""
    policy = options.without_annotation or "reject"
    return united(folder, opened, path is None and options.root is None, remark, policy)


def united(
    folder: Folder,
    opened: Sequence[tuple[Folder, BoxTable]],
    is_whole: bool,  # noqa: FBT001
    remark: str = "",
    policy: Missing = "reject",
) -> BoxTables:
    """Return tables with the folders that their keys start at as one source.

    Args:
        folder: The folder of the tables.
        opened: The tables.
        is_whole: See BoxTables.
        remark: See BoxTables.
        policy: See BoxTables.
    """
    tables = tuple(table for _, table in opened)
    if len(tables) == 1 and tables[0].split == "train":
        # The only table is often called so: then splits can divide it.
        tables = (replace(tables[0], split=None),)
    if len(tables) > 1 and all(table.columns.label is None for table in tables):
        tables = _with_classes_of_folders(folder, tables)
    return BoxTables(opened[0][0], tables, is_whole, remark, policy)


def _with_classes_of_folders(folder: Folder, tables: tuple[BoxTable, ...]) -> tuple[BoxTable, ...]:
    """Return tables without classes with the class that each one's folder is of; as they are if a folder is a split."""
    folders = [parent_of(table.path) for table in tables]
    names = [posixpath.basename(path) for path in folders]
    if len(set(names)) < len(names) or any(map(split_of_folder, names)):
        return tables
    with contextlib.suppress(DataError):  # a file of class names that counts otherwise
        named, first, _ = find_class_names(folder, ["", parent_of(folders[0])], set(names))
        names = [named[int(name) - first] for name in names] if named else names
    return tuple(replace(table, one_class=name) for table, name in zip(tables, names, strict=True))
