"""Parquet files that hold the images themselves, as Hugging Face's ``datasets`` writes them or as plain bytes.

    data/train-00000-of-00002.parquet    train/0000.parquet    test.parquet

An image in such a file can only be read by inflating the row group that it stands in. So listing a row group, which is
one part, writes its images one behind the other into one file of the work folder, and what follows reads them there by
offset. That costs the disk space of the source once more, while the conversion runs.
"""

import hashlib
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shardkit.errors import DataError
from shardkit.naming import WORK_FOLDER
from shardkit.sources.listing import LISTING_SCHEMA, OFFSET, PATH, Listing, Source, unicode_problem
from shardkit.sources.options import SourceOptions
from shardkit.sources.packed.hf_parquet_columns import has_embedded_images, image_column, is_binary
from shardkit.sources.packed.hf_parquet_paths import configurations, parquet_paths
from shardkit.sources.path_splits import split_of_path
from shardkit.sources.tables.columns import Annotation, Columns, Row
from shardkit.sources.tables.parquet_files import ParquetFile, open_parquet
from shardkit.sources.tables.records import PREFIX_RECORDS, BadRecord, Record
from shardkit.sources.tables.roles import Every, roles_beside
from shardkit.storage import COPY_BYTES, Folder, os_errors_as

_BATCH_RECORDS = 16  # decoded at once, images and all
_SPOOL = f"{WORK_FOLDER}/images"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """What one worker lists: a row group of a file, both by number."""

    file: int
    row_group: int


@dataclass(frozen=True, slots=True)
class HfParquet(Source):
    """Parquet files with images in them.

    Attributes:
        folder: where images are once they are listed: a work folder.
        files: the Parquet files.
        mtimes_ns: their times of change.
        columns: what their columns are, the same in all.
    """

    folder: Folder
    files: tuple[ParquetFile, ...]
    mtimes_ns: tuple[int, ...]
    columns: Columns

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return pa.schema([*LISTING_SCHEMA, PATH, OFFSET, *self.columns.fields])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; of ClassLabel columns."""
        return self.columns.labels.class_names or None

    @property
    def layout(self) -> str:
        """See Source."""
        return "Hugging Face Parquet"

    def describe(self) -> str:
        """See Source."""
        num, first = len(self.files), self.files[0]
        what = first.url if num == 1 else f"{first.folder.url}: {num} files"
        return f"{what} read as {self.layout}: {self.columns.describe()}"

    @property
    def _image(self) -> str:
        return self.columns.names[self.columns.image]

    def parts(self) -> list[RowGroup]:
        """One part a row group."""
        return [RowGroup(i, group) for i, file in enumerate(self.files) for group in file.parts()]

    def list_part(self, part: RowGroup, batch_rows: int) -> Iterator[Listing]:
        """See Source; writes the row group's images into the work folder first, then gives its rows in order.

        Memory: about four pages of the file, and 500 bytes a row. A page cannot be read in part, and as pyarrow writes
        them it holds 1,024 images, or all of a smaller row group (`datasets` writes 100).
        """
        schema = self.schema
        rows = self._spooled(part)
        for start in range(0, len(rows), batch_rows):
            yield Listing(schema, rows[start : start + batch_rows])

    def _spooled(self, part: RowGroup) -> list[Row]:
        file = self.files[part.file]
        # A name that only the same bytes have: what an earlier, broken-off conversion left may be written over.
        seen = f"{file.url}\n{self.mtimes_ns[part.file]}\n{self._image}\n{part.row_group}"
        blob = f"{_SPOOL}/{hashlib.sha256(seen.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"
        rows: list[Row] = []
        offset = 0
        with self.folder.atomic_write(blob) as spool:
            annotation = self.columns.annotations()
            records = file.records(part.row_group)
            for record, (data, path) in zip(records, self._images(file, part.row_group), strict=True):
                num_bytes = 0 if data is None else len(data)
                place = None if data is None else (offset, num_bytes)
                rows.append(self._row(part.file, record, path, blob, place, annotation))
                if data is not None:
                    spool.write(data)
                offset += num_bytes
        return rows

    def _images(self, file: ParquetFile, row_group: int) -> Iterator[tuple[pa.Buffer | None, str]]:
        """Bytes and path of every image."""
        with os_errors_as("read the images", file.url), file.folder.open(file.path) as opened:
            try:
                # With a buffer it is read page by page; without one the whole column would be, compressed, at once.
                reader = pq.ParquetFile(opened, buffer_size=COPY_BYTES)
                for batch in reader.iter_batches(_BATCH_RECORDS, row_groups=[row_group], columns=[self._image]):
                    images = batch.column(0)
                    content = images if is_binary(images.type) else pc.struct_field(images, "bytes")
                    named = not is_binary(images.type) and images.type.get_field_index("path") >= 0
                    paths = pc.struct_field(images, "path") if named else pa.nulls(len(images), pa.string())
                    for data, path in zip(content, paths, strict=True):
                        yield data.as_buffer(), _text(path)
            except (pa.ArrowInvalid, OSError) as error:
                # Of damage, pyarrow raises OSError too, but without the system's number.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                msg = f"{file.url}: the Parquet file is damaged in row group {row_group}: {str(error).splitlines()[0]}"
                raise DataError(msg) from error

    def _row(
        self, file: int, record: Record, path: str, blob: str, place: tuple[int, int] | None, annotation: Annotation
    ) -> Row:
        stem = posixpath.splitext(self.files[file].path)[0]
        key = f"{stem}/{record.line - 1:08d}"
        if name := posixpath.basename(path.replace("\\", "/")):
            key = f"{key}-{name}"
        split, mtime_ns = split_of_path(self.files[file].path), self.mtimes_ns[file]
        try:
            if problem := unicode_problem(key):
                key = problem[0]
                raise BadRecord(*problem[1:])
            if place is None:
                pointing = f", only the path {path!r:.200}" if path else ""
                raise BadRecord("missing", f"the record holds no image{pointing}; embed it, or take the record out")
            if record.problem:
                raise BadRecord("bad_line", record.problem)
            if self.columns.split is not None:
                split = self.columns.split_of(record.values)
            label_name, more = annotation(record.values)
        except BadRecord as error:
            num_bytes = place[1] if place else 0
            nothing = (None,) * len(self.columns.fields)
            return (key, split, None, num_bytes, mtime_ns, error.reason, str(error), None, None, *nothing)
        offset, num_bytes = place
        return (key, split, label_name, num_bytes, mtime_ns, None, None, blob, offset, *more)


def _text(path: Any) -> str:
    try:
        return path.as_py() or ""
    except UnicodeDecodeError:
        return str(bytes(path.as_buffer()).decode("utf-8", "backslashreplace"))


def is_hf_parquet(folder: Folder) -> bool:
    """Whether a folder holds Parquet files with images in them, by the first file's schema."""
    paths = next(iter(configurations(folder).values()), [])
    return bool(paths) and has_embedded_images(folder, paths[0])


def open_hf_parquet(folder: Folder, options: SourceOptions, spool: Folder, name: str | None = None) -> HfParquet:
    """Read the footers of all Parquet files, and decide from the first how they are read.

    Args:
        folder: the source, or the folder that the file lies in.
        options: names of columns, if not the usual ones; a column tells splits where no path does, or the user says so.
        spool: work folder that listing may write images into.
        name: of the file that is the source; None for all in the folder.

    Raises:
        DataError: there is none, one is damaged, or they differ.
        UnknownNameError: a column that the options name is not there, or holds no images.
    """
    paths = [name] if name is not None else parquet_paths(folder)
    if not paths:
        msg = f"{folder.url}: there is no .parquet file in it, in data/, in its split folders or in a configuration's"
        raise DataError(msg)
    first = open_parquet(folder, paths[0])
    image = image_column(first, options.image_column)
    files, mtimes_ns = [], []
    for path in paths:
        file = open_parquet(folder, path)
        if (file.columns, file.arrow_types, file.numbered) != (first.columns, first.arrow_types, first.numbered):
            msg = f"{file.url}: its columns, types or class names differ from those of {first.url}; convert them apart"
            raise DataError(msg)
        with os_errors_as("read the file", file.url):
            found = folder.stat(path)
        files.append(file)
        mtimes_ns.append(found.mtime_ns if found else 0)
    every: Every = lambda wanted: (record for file in files for record in file.all_records(wanted))  # noqa: E731
    prefix = [record for record in islice(first.all_records(), PREFIX_RECORDS) if record.problem is None]
    usual_splits = not any(map(split_of_path, paths))
    columns = roles_beside(first.columns.index(image), first, prefix, options, every, usual_splits=usual_splits)
    return HfParquet(spool, tuple(files), tuple(mtimes_ns), columns)
