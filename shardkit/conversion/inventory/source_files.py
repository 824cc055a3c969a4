"""Read the bytes that a row stands for: its image and its mask.

They are files, parts of files, or in one record of a dataset that is converted again. The check before planning, the
writing of a shard, and the pictures of a report read them here, so all see the same bytes and fail alike. A writer
compares them with what the check found.
"""

import contextlib
import glob
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import google_crc32c
import pyarrow as pa

from shardkit import images
from shardkit.archives.uris import Place, place_of
from shardkit.conversion.inventory.columns import MASK_PATH, MASK_URI, URI
from shardkit.dataset import example
from shardkit.dataset.features import IMAGE, MASK
from shardkit.dataset.tfrecord import HEADER_BYTES, read_record
from shardkit.errors import BombError, MachineError, RecordError, ShardkitError, SourceChangedError, SpecialFileError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images.info import BadImage, too_many_bytes
from shardkit.options.words import convert_again, is_command_line, named
from shardkit.record_sources.datasets.columns import (
    IMAGE_START,
    KEY_PREFIX,
    RAW_SHA256,
    RECORD_BYTES,
    STORED_KEY,
    STORED_MASK,
)
from shardkit.reject_reasons import DAMAGED, DECOMPRESSION_BOMB, UNREADABLE
from shardkit.sources.columns import CONTENT_SHA256, FORMAT, MASK_SHA256, OFFSET, PATH
from shardkit.sources.hosts import refuse_unseen
from shardkit.sources.walking import parent_of
from shardkit.storage import Entry, Folder, LocalFolder, is_of_machine, raise_store_failure, unreadable
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.retry import retried

Row = Mapping[str, Any]

# What is at the path is another file than before, or none.
_OTHER_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, SpecialFileError)


class ReadImage(NamedTuple):
    """The bytes of a row's image; `record` is the record that holds it, None if it is no dataset's."""

    data: bytes
    record: bytes | None = None


def are_records(schema: pa.Schema) -> bool:
    """Return whether the rows of a listing are records of a dataset."""
    return RECORD_BYTES.name in schema.names


def image_path(row: Row) -> str:
    """Return the file that holds a row's image, relative to the source's folder."""
    path: str = row.get(PATH.name) or row["key"]
    return path


def mask_path(row: Row) -> str | None:
    """Return the file of a row's mask; None if there is none, or if it is in the record of the image."""
    return None if RECORD_BYTES.name in row else row.get(MASK_PATH)


def image_start(row: Row) -> int:
    """Return the offset of a row's image in its file."""
    start = row.get(OFFSET.name) or 0
    return start + HEADER_BYTES + row[IMAGE_START.name] if RECORD_BYTES.name in row else start


class SourceFiles:
    """The images and masks of a source. Records of a new shard come from all old ones, so some files stay open."""

    def __init__(self, folder: Folder, max_file_bytes: int = MAX_FILE_BYTES, *, is_planned: bool = False) -> None:
        """`is_planned`: whether the output holds a plan with these files, which one without a file has to overwrite."""
        self.folder = folder
        self._is_planned = is_planned
        self.max_file_bytes = max_file_bytes
        self.ranges = OpenFiles(folder)

    def image(self, row: Row) -> ReadImage:
        """Read a row's image, where its URI leads if it has one; transient errors are retried.

        Raises:
            BadImage: "unreadable" or "decompression_bomb", caused by an OSError; "damaged": the record is damaged, or
                is not the example of the row.
            StoreError: The store fails for all files.
        """
        if (uri := row.get(URI.name)) is not None:
            return ReadImage(read_place(place_of(uri), self.max_file_bytes))
        with self._reading(row, image_path(row), "The file"):
            return retried(lambda: self._image(row))

    def _image(self, row: Row) -> ReadImage:
        path, offset = image_path(row), row.get(OFFSET.name)
        if RECORD_BYTES.name in row:
            return self._stored_image(row)
        return ReadImage(
            self.folder.read(path) if offset is None else self.folder.read_range(path, offset, row["source_bytes"])
        )

    def _stored_image(self, row: Row) -> ReadImage:
        start = row[IMAGE_START.name]
        try:
            record = read_record(self.ranges, row[PATH.name], row[OFFSET.name], row[RECORD_BYTES.name])
        except RecordError as error:
            raise BadImage(DAMAGED, f"{error}; {self._remedy}") from error
        image = record[start : start + row["source_bytes"]]
        try:
            is_it = _is_example(row, record, image)
        except RecordError as error:
            raise BadImage(DAMAGED, f"{_where(row)}: {error!r}; {self._remedy}") from error
        if not is_it:
            raise BadImage(DAMAGED, f"{_where(row)}: it is not the example of the index; {self._remedy}")
        return ReadImage(image, record)

    @property
    def _remedy(self) -> str:
        return f"restore the dataset {self.folder.url} from a copy"

    def mask(self, row: Row, image: ReadImage) -> bytes | None:
        """Return the mask of a row whose image was read, None if it has none; it is rejected as in `image`."""
        if MASK_PATH not in row:
            return None
        if (uri := row.get(MASK_URI.name)) is not None:
            return read_place(place_of(uri), self.max_file_bytes)
        if image.record is not None:
            return _stored_mask(row, image.record)
        path = row[MASK_PATH]
        if path is None:
            return None  # a rejected image: no mask was found for it
        with self._reading(row, path, f"The mask {path}"):
            found = retried(lambda: self.folder.stat(path))
            if found is not None and found.num_bytes > self.max_file_bytes:
                raise too_many_bytes(f"The mask {path}", found.num_bytes, self.max_file_bytes)
            return retried(lambda: self.folder.read(path))

    @contextlib.contextmanager
    def _reading(self, row: Row, path: str, what: str) -> Iterator[None]:
        """Raise an OSError of the block as BadImage if it concerns the row's file only."""
        try:
            yield
        except OSError as error:
            where = self.folder.url_of(path)
            raise_store_failure(where, error)
            if is_of_machine(error):
                # Without a cause, which would let `retried` write the whole shard again: reading was tried already.
                raise self._failure(row, where, error) from None
            if isinstance(error, FileNotFoundError):
                refuse_unseen(self.folder, parent_of(image_path(row)))
            reason = DECOMPRESSION_BOMB if isinstance(error, BombError) else UNREADABLE
            raise BadImage(reason, f"{what} cannot be read: {error.strerror or error}.") from error

    def _failure(self, row: Row, where: str, error: OSError) -> ShardkitError:
        failure = unreadable(where, error)
        if isinstance(error, ShardkitError) or RECORD_BYTES.name in row:
            return failure
        options = [named("ignore", f"/{glob.escape(row['key'])}"), *[named("overwrite", True)] * self._is_planned]
        remedy = (" " if is_command_line() else ", ").join(options)
        return MachineError(f"{failure}; if only this file fails, leave it out with {remedy}")


def read_image(files: SourceFiles, row: Row) -> tuple[ReadImage, bytes]:
    """Return the image of a planned row and the sha256 of its raw file.

    Raises:
        BadImage: It was not read before, and is to be rejected; see `SourceFiles.image`.
        SourceChangedError: It is another file than the one that was checked.
    """
    where = row.get(URI.name) or files.folder.url_of(row["key"])
    content: bytes | None = row[CONTENT_SHA256.name]
    try:
        image = files.image(row)
    except BadImage as error:
        raise _since_checked(error, where, "the file", was_checked=row[FORMAT.name] is not None) from None
    if image.record is not None:
        return image, content or row[RAW_SHA256.name]
    if content is None:
        return image, hashlib.sha256(image.data).digest()
    if len(image.data) != row["source_bytes"] or google_crc32c.value(image.data) != row["content_crc32c"]:
        raise SourceChangedError(f"{where}: the file has changed since it was checked; {_at_rest()}")
    return image, content


def read_mask(files: SourceFiles, row: Row, image: ReadImage) -> bytes | None:
    """Return the mask of a planned row whose image was read; None if rows of this source have none."""
    if MASK_PATH not in row:
        return None
    where = row.get(MASK_URI.name) or files.folder.url_of(row[MASK_PATH])
    wanted = row.get(MASK_SHA256.name)
    try:
        mask = files.mask(row, image)
    except BadImage as error:
        raise _since_checked(error, where, "the mask", was_checked=wanted is not None) from None
    if mask is not None and image.record is None and wanted is not None and hashlib.sha256(mask).digest() != wanted:
        raise SourceChangedError(f"{where}: the mask has changed since it was checked; {_at_rest()}")
    return mask


def _since_checked(error: BadImage, where: str, what: str, *, was_checked: bool) -> ShardkitError:
    """Return the error for a file that cannot be read now; if it was good when it was checked, it is not rejected.

    Raise it without a cause, which would let `retried` write the whole shard again: reading was tried again already.
    """
    cause = error.__cause__
    if not was_checked or not isinstance(cause, OSError):
        return error
    if isinstance(cause, _OTHER_FILE):
        found = f"{what} was good when it was checked and now cannot be read: {cause.strerror or cause}"
        return SourceChangedError(f"{where}: {found}; {_at_rest()}")
    return unreadable(where, cause)  # the disk or the network: finished shards stay, and the next run goes on


def _at_rest() -> str:
    return f"{convert_again()} when the source does not change any more"


def files_of(folder: Folder, max_file_bytes: int, row: Row) -> SourceFiles:
    """Return the files of a folder, the same for the next images of it, to read the image of a row.

    Of a file that is replaced while this process lives, open parts would be those of the old one.
    """
    has_parts = row.get(OFFSET.name) is not None and isinstance(folder, LocalFolder)
    return _files_of(folder, max_file_bytes, folder.stat(image_path(row)) if has_parts else None)


@lru_cache(maxsize=64)
def _files_of(folder: Folder, max_file_bytes: int, of_file: Entry | None) -> SourceFiles:
    del of_file  # it tells a file from one that had its name before
    return SourceFiles(folder, max_file_bytes)


@dataclass(frozen=True, slots=True)
class Thumbnails:
    """The small grey pictures of images, made when these are compared: few are near to another one."""

    folder: Folder  # the source's folder
    max_file_bytes: int = MAX_FILE_BYTES

    def of(self, rows: pa.Table) -> list[bytes | None]:
        """Return the picture of each row of an inventory; None for an image that cannot be read now."""
        return list(read_many(self._of, (row for block in rows.to_batches() for row in block.to_pylist())))

    def _of(self, row: Row) -> bytes | None:
        try:
            data = files_of(self.folder, self.max_file_bytes, row).image(row).data
            return images.thumbnail(data, images.inspect(data))
        except BadImage:
            return None


def read_place(place: Place, max_file_bytes: int) -> bytes:
    """Return the bytes at a place; see `SourceFiles.image`."""
    row = {"key": place.path, OFFSET.name: place.start, "source_bytes": place.num_bytes}
    data = files_of(place.folder, max_file_bytes, row).image(row).data
    if place.feature is None:
        return data
    return _stored_mask({PATH.name: place.path, OFFSET.name: place.start, STORED_MASK.name: place.feature}, data)


def _where(row: Row) -> str:
    return f"{row[PATH.name]}: record at byte {row[OFFSET.name]}"


def _is_example(row: Row, record: bytes, image: bytes) -> bool:
    """Return whether an intact record is the example of its row."""
    key_feature = row.get(STORED_KEY.name)
    stored_key = row["key"][row[KEY_PREFIX.name] :].encode()
    if key_feature is not None:
        # The sha256 of a dataset's image is that of its raw file; in records of others, that is the image itself.
        wanted = row[CONTENT_SHA256.name] or row[RAW_SHA256.name]
        return hashlib.sha256(image).digest() == wanted and (
            not key_feature or example.decode(record).get(key_feature) == [stored_key]
        )
    # Parsing a record takes as long as everything else together, and shardkit writes the key in one way.
    key = example.encode_entry("key", example.bytes_feature([stored_key]))
    if record.find(key, row[IMAGE_START.name] + len(image)) >= 0 and MASK_PATH not in row:
        return True
    values = example.decode(record)
    return values.get("key") == [stored_key] and values.get(IMAGE) == [image]


def _stored_mask(row: Row, record: bytes) -> bytes:
    name = row.get(STORED_MASK.name) or MASK
    try:
        return bytes(example.decode(record)[name][0])  # type: ignore[arg-type] # of another type: no image, as reported
    except (RecordError, KeyError, IndexError, TypeError) as error:
        raise BadImage(DAMAGED, f"{_where(row)}: it has no mask {name!r} ({error!r})") from error
