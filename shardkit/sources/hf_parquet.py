"""Parquet files of Hugging Face's ``datasets`` that hold the images themselves: a column of image{bytes, path}.

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

from shardkit.errors import DataError, UnknownNameError
from shardkit.naming import WORK_FOLDER, split_of_folder
from shardkit.sources.listing import LISTING_SCHEMA, OFFSET, PATH, Listing, Source, unicode_problem
from shardkit.sources.options import SourceOptions
from shardkit.sources.shard_names import split_of_path
from shardkit.sources.table_columns import LABEL_COLUMNS
from shardkit.sources.table_labels import Labels, decide_labels
from shardkit.sources.table_parquet import ParquetFile, open_parquet
from shardkit.sources.table_records import PREFIX_RECORDS, BadRecord, Record
from shardkit.sources.walking import children, join
from shardkit.storage import COPY_BYTES, Folder, explained

_USUAL_IMAGES = ("image", "img", "pixel_values")
_BATCH_RECORDS = 16  # decoded at once, images and all
# Folders, beside those of splits, that are looked into: the usual one, and the one of the Hub's own conversion.
_FOLDERS = frozenset({"data", "default"})
_SPOOL = f"{WORK_FOLDER}/images"

_Row = tuple[Any, ...]


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
        image: name of the column of images.
        labels: how labels are read.
    """

    folder: Folder
    files: tuple[ParquetFile, ...]
    mtimes_ns: tuple[int, ...]
    image: str
    labels: Labels

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        more = [] if self.labels.field is None else [self.labels.field]
        return pa.schema([*LISTING_SCHEMA, PATH, OFFSET, *more])

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; of ClassLabel columns."""
        return self.labels.class_names or None

    @property
    def layout(self) -> str:
        """See Source."""
        return "Hugging Face Parquet"

    def describe(self) -> str:
        """See Source."""
        num, first = len(self.files), self.files[0]
        what = first.url if num == 1 else f"{first.folder.url}: {num} files"
        return f"{what} read as {self.layout}: the image from column {self.image!r}; {self.labels.describe()}"

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

    def _spooled(self, part: RowGroup) -> list[_Row]:
        file = self.files[part.file]
        # A name that only the same bytes have: what an earlier, broken-off conversion left may be written over.
        seen = f"{file.url}\n{self.mtimes_ns[part.file]}\n{self.image}\n{part.row_group}"
        blob = f"{_SPOOL}/{hashlib.sha256(seen.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"
        rows: list[_Row] = []
        offset = 0
        with self.folder.writing(blob) as spool:
            records = file.records(part.row_group, frozenset(self.labels.columns))
            for record, (data, path) in zip(records, self._images(file, part.row_group), strict=True):
                num_bytes = 0 if data is None else len(data)
                rows.append(self._row(part.file, record, path, blob, None if data is None else (offset, num_bytes)))
                if data is not None:
                    spool.write(data)
                offset += num_bytes
        return rows

    def _images(self, file: ParquetFile, row_group: int) -> Iterator[tuple[pa.Buffer | None, str]]:
        """Bytes and path of every image."""
        with explained("read the images", file.url), file.folder.open(file.path) as opened:
            try:
                # With a buffer it is read page by page; without one the whole column would be, compressed, at once.
                reader = pq.ParquetFile(opened, buffer_size=COPY_BYTES)
                for batch in reader.iter_batches(_BATCH_RECORDS, row_groups=[row_group], columns=[self.image]):
                    images = batch.column(0)
                    content = pc.struct_field(images, "bytes")
                    named = images.type.get_field_index("path") >= 0
                    paths = pc.struct_field(images, "path") if named else pa.nulls(len(images), pa.string())
                    for data, path in zip(content, paths, strict=True):
                        yield data.as_buffer(), _text(path)
            except (pa.ArrowInvalid, OSError) as error:
                # Of damage, pyarrow raises OSError too, but without the system's number.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                msg = f"{file.url}: the Parquet file is damaged in row group {row_group}: {str(error).splitlines()[0]}"
                raise DataError(msg) from error

    def _row(self, file: int, record: Record, path: str, blob: str, place: tuple[int, int] | None) -> _Row:
        stem = posixpath.splitext(self.files[file].path)[0]
        key = f"{stem}/{record.line - 1:08d}"
        if name := posixpath.basename(path.replace("\\", "/")):
            key = f"{key}-{name}"
        split, mtime_ns = split_of_path(self.files[file].path), self.mtimes_ns[file]
        more = () if self.labels.field is None else (None,)
        try:
            if problem := unicode_problem(key):
                key = problem[0]
                raise BadRecord(*problem[1:])
            if place is None:
                pointing = f", only the path {path!r:.200}" if path else ""
                raise BadRecord("missing", f"the record holds no image{pointing}; embed it, or take the record out")
            if record.problem:
                raise BadRecord("bad_line", record.problem)
            label = self.labels.read(record.values)
        except BadRecord as error:
            num_bytes = place[1] if place else 0
            return (key, split, None, num_bytes, mtime_ns, error.reason, str(error), None, None, *more)
        offset, num_bytes = place
        if more:
            return (key, split, None, num_bytes, mtime_ns, None, None, blob, offset, label)
        return (key, split, label, num_bytes, mtime_ns, None, None, blob, offset)


def _text(path: Any) -> str:
    try:
        return path.as_py() or ""
    except UnicodeDecodeError:
        return str(bytes(path.as_buffer()).decode("utf-8", "backslashreplace"))


def is_hf_parquet(folder: Folder) -> bool:
    """Whether a folder holds Parquet files with images in them, by the first file's schema."""
    path = next(_paths(folder), None)
    return path is not None and has_embedded_images(folder, path)


def has_embedded_images(folder: Folder, path: str) -> bool:
    """Whether a Parquet file has a column of image{bytes, path}."""
    try:
        return bool(_image_columns(folder, path))
    except DataError:
        return False


def open_hf_parquet(folder: Folder, options: SourceOptions, spool: Folder, name: str | None = None) -> HfParquet:
    """Read the footers of all Parquet files, and decide from the first how they are read.

    Args:
        folder: the source, or the folder that the file lies in.
        options: image_column and label_columns are the columns, if not the usual ones.
        spool: work folder that listing may write images into.
        name: of the file that is the source; None for all in the folder.

    Raises:
        DataError: there is none, one is damaged, or they differ.
        UnknownNameError: a column that the options name is not there.
    """
    paths = [name] if name is not None else list(_paths(folder))
    if not paths:
        msg = f"{folder.url}: there is no .parquet file in it, in data/ or in its split folders"
        raise DataError(msg)
    first = open_parquet(folder, paths[0])
    image = _image_column(first, _image_columns(folder, paths[0]), options.image_column)
    labels = _labels(first, options)
    files, mtimes_ns = [], []
    for path in paths:
        file = open_parquet(folder, path)
        if (file.columns, file.arrow_types, file.numbered) != (first.columns, first.arrow_types, first.numbered):
            msg = f"{file.url}: its columns, types or class names differ from those of {first.url}; convert them apart"
            raise DataError(msg)
        with explained("read the file", file.url):
            found = folder.stat(path)
        files.append(file)
        mtimes_ns.append(found.mtime_ns if found else 0)
    return HfParquet(spool, tuple(files), tuple(mtimes_ns), image, labels)


def _image_columns(folder: Folder, path: str) -> list[str]:
    file = open_parquet(folder, path)
    return [
        name
        for name, type_ in zip(file.columns, file.arrow_types, strict=True)
        if pa.types.is_struct(type_)
        and (at := type_.get_field_index("bytes")) >= 0
        and (pa.types.is_binary(type_.field(at).type) or pa.types.is_large_binary(type_.field(at).type))
    ]


def _image_column(file: ParquetFile, found: list[str], wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in found:
            there = ", ".join(map(repr, found)) or "none"
            msg = f"{file.url}: {wanted!r} is no column of image{{bytes, path}}; there is {there}"
            raise UnknownNameError(msg)
        return wanted
    if not found:
        msg = f"{file.url}: there is no column of image{{bytes, path}} in it"
        raise DataError(msg)
    return next((name for usual in _USUAL_IMAGES for name in found if name.lower() == usual), found[0])


def _labels(file: ParquetFile, options: SourceOptions) -> Labels:
    if missing := [name for name in options.label_columns if name not in file.columns]:
        msg = f"{file.url}: there is no column {missing[0]!r}; there are {', '.join(map(repr, file.columns))}"
        raise UnknownNameError(msg)
    lower = {name.lower(): name for name in reversed(file.columns)}
    chosen = options.label_columns or tuple(lower[name] for name in LABEL_COLUMNS if name in lower)[:1]
    if not chosen:
        msg = f"{file.url}: there is no column of labels ({', '.join(LABEL_COLUMNS)}); name it with --label-column"
        raise DataError(msg)
    columns = tuple(file.columns.index(name) for name in chosen)
    prefix = list(islice(file.all_records(frozenset(columns)), PREFIX_RECORDS))
    return decide_labels(file, [record for record in prefix if record.problem is None], columns, options)


def _paths(folder: Folder, path: str = "") -> Iterator[str]:
    """Parquet files in a folder and, where it holds none itself, in data/ and in its split folders."""
    entries = children(folder, path)
    found = [join(path, one.name) for one in entries if not one.is_folder and one.name.lower().endswith(".parquet")]
    yield from found
    if not found:
        for one in entries:
            if one.is_folder and (one.name in _FOLDERS or split_of_folder(one.name)) and path.count("/") == 0:
                yield from _paths(folder, join(path, one.name))
