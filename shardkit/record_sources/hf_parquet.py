"""Parquet files that contain the images, as Hugging Face's ``datasets`` writes them or as plain bytes.

    data/train-00000-of-00002.parquet    train/0000.parquet    test.parquet

Reading one image means decompressing its row group. So listing a row group, which is one part, writes its images one
after the other into one file of the work folder, and later steps read them there by offset. While the conversion runs,
this takes the disk space of the source once more.
"""

import hashlib
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import WORK_FOLDER, split_of_folder, split_of_path
from shardkit.parquet import ParquetReader
from shardkit.record_sources.hf_parquet_columns import has_embedded_images, image_column, is_binary
from shardkit.reject_reasons import BAD_LINE, MISSING
from shardkit.sources.columns import LISTING_SCHEMA, OFFSET, PATH
from shardkit.sources.engine.columns import AnnotationReader, Columns
from shardkit.sources.engine.labels.kinds import ReadAll
from shardkit.sources.formats.tables.parquet_files import ParquetFile, open_parquet
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, Record
from shardkit.sources.listing import BadRecord, Listing, ListingRow, Source, batched, count_skipped, unicode_problem
from shardkit.sources.options import Opening
from shardkit.sources.recognising.tables.roles import find_other_columns
from shardkit.sources.walking import children, join
from shardkit.storage import COPY_BYTES, Folder, os_errors_as

_BATCH_RECORDS = 16  # records that are decoded at once, with their images
_SPOOL = f"{WORK_FOLDER}/images"
# Folders that are searched besides split folders: the usual one, and the one of the Hub's own conversion.
_FOLDERS = frozenset({"data", "default"})


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A part of the source: a row group of a file, both by number."""

    file: int
    row_group: int


class _SpooledImage(NamedTuple):
    """Where an image was written."""

    path: str  # of the image in its record; '' for none
    blob: str  # path in the work folder of the file that it was written to
    offset: int  # of its bytes in that file
    num_bytes: int | None  # None if the record has no image


@dataclass(frozen=True, slots=True)
class HfParquet(Source):
    """Parquet files that contain images."""

    folder: Folder  # the work folder, which has the images once they are listed
    files: tuple[ParquetFile, ...]
    mtimes_ns: tuple[int, ...]
    columns: Columns  # the same in all files

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return pa.schema([*LISTING_SCHEMA, PATH, OFFSET, *self.columns.fields])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; names of a ClassLabel column."""
        return self.columns.labels.class_names or None

    layout = LAYOUTS["hf-parquet"].title

    def describe(self) -> str:
        """See Source."""
        num, first = len(self.files), self.files[0]
        what = first.url if num == 1 else f"{first.folder.url}: {num} files"
        return f"{what} read as {self.layout}: {self.columns.describe()}"

    @property
    def _image(self) -> str:
        return self.columns.names[self.columns.image]

    def parts(self) -> list[RowGroup]:
        """Return one part for each row group."""
        return [RowGroup(i, group) for i, file in enumerate(self.files) for group in file.parts()]

    def list_part(self, part: RowGroup, batch_rows: int) -> Iterator[Listing]:
        """See Source; first writes the row group's images into the work folder, then yields its rows in order.

        Memory: about four pages of the file, and 500 bytes per row. A page cannot be read in parts. pyarrow writes
        pages of 1,024 images, or of a smaller row group (`datasets` writes 100).
        """
        skipped: dict[str, int] = {}
        yield from batched(self.schema, self._spooled(part, skipped), batch_rows, skipped)

    def _spooled(self, part: RowGroup, skipped: dict[str, int]) -> list[ListingRow]:
        file = self.files[part.file]
        # Only the same bytes get this name, so the file of an earlier, interrupted conversion may be overwritten.
        seen = f"{file.url}\n{self.mtimes_ns[part.file]}\n{self._image}\n{part.row_group}"
        blob = f"{_SPOOL}/{hashlib.sha256(seen.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"
        rows: list[ListingRow] = []
        offset = 0
        with self.folder.atomic_write(blob) as spool:
            annotation = self.columns.annotation_reader()
            records = file.records(part.row_group)
            for record, (data, path) in zip(records, self._images(file, part.row_group), strict=True):
                if kind := self.columns.why_left_out(record):
                    count_skipped(skipped, kind)
                    continue
                image = _SpooledImage(path, blob, offset, None if data is None else len(data))
                rows.append(self._row(part, record, image, annotation))
                if data is not None:
                    spool.write(data)
                    offset += len(data)
        return rows

    def _images(self, file: ParquetFile, row_group: int) -> Iterator[tuple[pa.Buffer | None, str]]:
        """Yield bytes and path of every image."""
        with os_errors_as("read the images", file.url), file.folder.open(file.path) as opened:
            try:
                # With a buffer the column is read page by page; without one it is read, compressed, as a whole.
                reader = ParquetReader(opened, buffer_size=COPY_BYTES)
                for batch in reader.iter_batches(_BATCH_RECORDS, row_groups=[row_group], columns=[self._image]):
                    images = batch.column(0)
                    content = images if is_binary(images.type) else pc.struct_field(images, "bytes")
                    named = not is_binary(images.type) and images.type.get_field_index("path") >= 0
                    paths = pc.struct_field(images, "path") if named else pa.nulls(len(images), pa.string())
                    for data, path in zip(content, paths, strict=True):
                        yield data.as_buffer(), _text(path)
            except (pa.ArrowInvalid, OSError) as error:
                # pyarrow reports damage as OSError too, but without the operating system's error number.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                msg = f"{file.url}: the Parquet file is damaged in row group {row_group}: {str(error).splitlines()[0]}"
                raise DataError(msg) from error

    def _row(self, part: RowGroup, record: Record, image: _SpooledImage, annotation: AnnotationReader) -> ListingRow:
        file, mtime_ns = self.files[part.file], self.mtimes_ns[part.file]
        key = f"{posixpath.splitext(file.path)[0]}/{record.line - 1:08d}"
        if name := posixpath.basename(image.path.replace("\\", "/")):
            key = f"{key}-{name}"
        row = ListingRow(key, split_of_path(file.path), None, image.num_bytes or 0, mtime_ns)
        try:
            if problem := unicode_problem(key):
                row = row._replace(key=problem.key)
                raise BadRecord(problem.reason, problem.message)
            if image.num_bytes is None:
                pointing = f", only the path {image.path!r:.200}" if image.path else ""
                raise BadRecord(MISSING, f"the record holds no image{pointing}; embed it, or remove the record")
            if record.problem:
                raise BadRecord(BAD_LINE, record.problem)
            if self.columns.split is not None:
                row = row._replace(split=self.columns.split_of(record.values))
            label_name, more = annotation(record.values)
        except BadRecord as error:
            return row._replace(reason=error.reason, message=str(error))
        return row._replace(label_name=label_name, extra=(image.blob, image.offset, *more))


def _text(path: Any) -> str:
    try:
        return path.as_py() or ""
    except UnicodeDecodeError:
        return str(bytes(path.as_buffer()).decode("utf-8", "backslashreplace"))


def is_hf_parquet(folder: Folder) -> bool:
    """Return whether a folder has Parquet files with images, judging by the first file's schema."""
    paths = next(iter(configurations(folder).values()), [])
    return bool(paths) and has_embedded_images(folder, paths[0])


def open_hf_parquet(opening: Opening) -> HfParquet:
    """Read the footers of all Parquet files, and decide from the first file how they are read.

    A column gives splits if no path does, or if the user names it. Listing writes images into the work folder.
    """
    folder, options, name, spool = opening.folder, opening.options, opening.file, opening.work_folder()
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
    read_all: ReadAll = lambda wanted: (record for file in files for record in file.all_records(wanted))  # noqa: E731
    prefix = [record for record in islice(first.all_records(), PREFIX_RECORDS) if record.problem is None]
    source = folder.url if name is None else f"{folder.url}/{name}"
    usual_splits = not any(map(split_of_path, paths))
    columns = find_other_columns(
        first.columns.index(image), first, prefix, options, read_all, usual_splits=usual_splits, source=source
    )
    return HfParquet(spool, tuple(files), tuple(mtimes_ns), columns)


def configurations(folder: Folder) -> dict[str, list[str]]:
    """Return the Parquet files of a folder by configuration: the only one as '', or several by their folders' names."""
    names = _folders(folder, "")
    usual = [name for name in names if name in _FOLDERS or split_of_folder(name)]
    if found := _files(folder, "") or [path for name in usual for path in _below(folder, name)]:
        return {"": found}
    # A folder of any name is a configuration if its files name splits; other folders may be classes.
    below = {name: [path for path in _below(folder, name) if split_of_path(path)] for name in names}
    return {name: paths for name, paths in below.items() if paths}


def parquet_paths(folder: Folder) -> list[str]:
    """Return the Parquet files of a folder's only configuration; none if there is no configuration."""
    found = configurations(folder)
    if len(found) > 1:
        msg = f"{folder.url}: it holds {len(found)} configurations of one dataset ({', '.join(found)}); SOURCE is one"
        raise DataError(msg)
    return next(iter(found.values()), [])


def _below(folder: Folder, path: str) -> list[str]:
    """Return a folder's own files, else those of its split folders."""
    return _files(folder, path) or [
        file for name in _folders(folder, path) if split_of_folder(name) for file in _files(folder, join(path, name))
    ]


def _files(folder: Folder, path: str) -> list[str]:
    entries = children(folder, path)
    return [join(path, one.name) for one in entries if not one.is_folder and one.name.lower().endswith(".parquet")]


def _folders(folder: Folder, path: str) -> list[str]:
    return [one.name for one in children(folder, path) if one.is_folder]
