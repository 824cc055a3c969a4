"""Open a table of boxes: what its columns mean, in which unit its boxes are, and where its images are."""

import math
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.detection.box_tables.files import open_box_file, split_of_table
from shardkit.sources.detection.image_paths import ImagePaths, find_paths, image_places, not_near, paths_by_names
from shardkit.sources.formats.box_tables.boxes import LARGEST_FRACTION, coordinates, has_box, list_form, number
from shardkit.sources.formats.box_tables.columns import BoxColumns, BoxForm, find_columns
from shardkit.sources.formats.record import ONE_CLASS, encodable
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.formats.csv_files import split_records
from shardkit.sources.tables.formats.lines import read_lines
from shardkit.sources.tables.formats.records import PREFIX_RECORDS, TableFile
from shardkit.sources.walking import file_or_folder, join, parent_of
from shardkit.storage import Folder, open_folder

_SLICE_BYTES = 128 << 20  # 128 MiB of a table: about two million boxes, which take 300 MB while they are listed
_MAX_SLICES = 64
# Files of Open Images' class names, as on storage.googleapis.com/openimages, in version 7 with a prefix; FiftyOne saves
# them as metadata/classes.csv.
_CLASS_FILES = ("class-descriptions-boxable.csv", "class-descriptions.csv", "classes.csv")
_CLASS_PREFIXES = ("", "oidv7-", "oidv6-", "oidv4-")
_CLASS_FOLDERS = ("", "metadata", "annotations", "csv_folder")
_ABSOLUTE = re.compile(r"(?:(?:s3|gs)://[^/]+)?/")


@dataclass(frozen=True, slots=True)
class BoxTable:
    """A table of boxes, whose split is that of its or its folder's name, unless it has a column of splits.

    Attributes:
        path: Path of the table.
        paths: How its image paths become keys.
        split: The split of all its images; None if its name gives none.
        file: The table.
        columns: What its columns mean.
        is_fraction: Whether boxes are fractions of the image's sides.
        num_slices: Number of parts in which it is listed.
        class_file: Path of the file with the names of Open Images' classes; None if there is none.
        one_class: The class of every box of a table without classes.
    """

    path: str
    paths: ImagePaths
    split: str | None
    file: TableFile
    columns: BoxColumns
    is_fraction: bool
    num_slices: int
    class_file: str | None
    one_class: str = ONE_CLASS

    def describe(self) -> str:
        """Return how the table is read, without its path."""
        unit = "fractions of the image's sides" if self.is_fraction else "pixels"
        label = self.columns.label
        of_class = (
            f", all of the class {printable(self.one_class)!r}"
            if label is None
            else f", classes of {self.file.columns[label]!r}"
        )
        if self.columns.is_open_images:
            of_class = ", classes named by "
            of_class += (
                f"{self.class_file}" if self.class_file else "their codes, without class-descriptions-boxable.csv"
            )
        as_size = ", as x, y, width, height" if self.columns.form is BoxForm.LIST_OF_SIZE else ""
        return f"{self.file.remark}boxes in {unit}{as_size}{of_class}{self.paths.remark()}"


def open_table(
    folder: Folder, path: str, options: SourceOptions, names: NameIndex, *, may_leave: bool
) -> tuple[Folder, BoxTable]:
    """Decide how to read a table, from its first 1,000 records.

    Args:
        folder: The folder that the table's path starts at.
        path: The table.
        options: Options of the source; `root` is the folder of the images.
        names: The images below `folder`, which are searched last.
        may_leave: Whether images may be outside `folder`: in the folder above, or at absolute paths.

    Returns:
        The folder that keys start at, and the table.

    Raises:
        DataError: The table has no boxes, or its images are not found.
        CallError: Its images are not found, and the folder may be one of class folders.
    """
    file = open_box_file(folder, path, options)
    columns = find_columns(file.url, file.columns, options)
    return open_records(folder, file, columns, options, names, may_leave=may_leave)


def open_records(
    folder: Folder, file: TableFile, columns: BoxColumns, options: SourceOptions, names: NameIndex, *, may_leave: bool
) -> tuple[Folder, BoxTable]:
    """Decide how to read a table whose columns are known; see `open_table`."""
    path = file.path
    first = list(islice(file.all_records(), PREFIX_RECORDS))
    records = [record for record in first if record.problem is None]
    texts = [text for record in records if isinstance(text := record.values[columns.image], str) and text.strip()]
    if not texts:
        why = f"; line {first[0].line}: {first[0].problem}" if first and first[0].problem else ""
        msg = f"{file.url}: the first records of the table name no image{why}"
        raise DataError(msg)
    with_box = [record.values for record in records if has_box(record.values, columns)]
    columns = _with_list_form(file.url, file.columns[columns.xs[0]], with_box, columns)
    places = image_places(folder, path, options, may_leave=may_leave)
    found = find_paths(texts, places)
    if found is None and may_leave and options.root is None and (outside := _common_folder(texts)):
        found = find_paths(texts, [(outside, "")])
    if found is None and options.root is None and (by_name := paths_by_names(names, texts)):
        found = folder, by_name
    if found is None:
        msg = not_near(file.url, texts, places, "the table")
        remedy = f"give the folder that the images are in with {named('root')}"
        if may_leave:
            msg = f"{msg}; {remedy}"
            raise DataError(msg)
        command = Change(
            "each folder is a class, and the table is not read", {"layout": "class-folders"}, sources=(folder.url,)
        )
        raise RefusalError(msg, [command], remedy=remedy)
    root, paths = found
    stat = file_or_folder(folder, path)
    num_bytes = stat.num_bytes if stat else 0
    return root, BoxTable(
        path=file.name,
        file=file,
        columns=columns,
        paths=paths,
        is_fraction=_is_fraction(with_box, columns),
        split=None if columns.split is not None else split_of_table(path),
        num_slices=min(_MAX_SLICES, num_bytes // _SLICE_BYTES + 1),
        class_file=_class_file(folder, path) if columns.is_open_images else None,
    )


def _is_fraction(rows: Sequence[Sequence[Any]], columns: BoxColumns) -> bool:
    if columns.is_fraction is not None:
        return columns.is_fraction
    sides = [number(side) for values in rows for side in coordinates(values, columns)]
    # No table of pixels has only boxes within the first two pixels.
    return bool(sides) and all(abs(side) <= LARGEST_FRACTION for side in sides if math.isfinite(side))


def _with_list_form(url: str, name: str, rows: Sequence[Sequence[Any]], columns: BoxColumns) -> BoxColumns:
    if columns.form is not BoxForm.LIST:
        return columns
    form = list_form(rows, columns) or columns.usual_form
    if form is None:
        msg = (
            f"{url}: the four numbers of {name!r} may be xmin, ymin, xmax, ymax or x, y, width, height; write them "
            "into four columns with these names"
        )
        raise DataError(msg)
    return replace(columns, form=form)


def _common_folder(texts: Sequence[str]) -> Folder | None:
    """Return the folder above all absolute paths and URLs; None if the first path is relative."""
    if not _ABSOLUTE.match(texts[0]):
        return None
    above = posixpath.commonpath([posixpath.dirname(text) for text in texts if _ABSOLUTE.match(text)])
    # commonpath makes one slash of two.
    return open_folder(re.sub(r"^(s3|gs):/(?=[^/])", r"\1://", above) or "/")


def _class_file(folder: Folder, table: str) -> str | None:
    """Return the path of the file that names the classes of a table of Open Images; None if there is none."""
    for base in dict.fromkeys((parent_of(table), parent_of(parent_of(table)), "")):
        for place in _CLASS_FOLDERS:
            for name in (prefix + name for name in _CLASS_FILES for prefix in _CLASS_PREFIXES):
                path = join(base, place, name)
                if file_or_folder(folder, path) is not None:
                    return path
    return None


def read_class_names(folder: Folder, path: str) -> dict[str, str]:
    """Return the names of classes by their code, from lines of ``/m/011k07,Tortoise``, with or without a header."""
    records = split_records(read_lines(folder, path), ",", spaced=False)
    good = [one.values for one in records if one.problem is None and len(one.values) >= 2]
    return {code: encodable(name.strip()) for code, name, *_ in good if str(code).startswith("/")}
