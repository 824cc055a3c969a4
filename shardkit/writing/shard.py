"""Write one shard: read, normalise, encode and frame its examples in plan order, then its index as the done mark.

Memory is bounded by one image, not by the shard. Writing a shard twice, concurrently or in sequence, gives the same
files.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import google_crc32c
import pyarrow as pa

from shardkit import images
from shardkit.dataset import example, tfrecord
from shardkit.dataset.features import MASK
from shardkit.dataset.index import SCHEMA as INDEX_SCHEMA
from shardkit.dataset.index import ShardSummary, key_hashes, serialize_index
from shardkit.errors import (
    DataError,
    MachineError,
    ShardkitError,
    SourceChangedError,
    SpecialFileError,
    StaleRunError,
    StoreError,
)
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images.boxes import mask_orientation, move_objects, place_objects, upright_size
from shardkit.images.gps import has_gps
from shardkit.images.stored.placement import place
from shardkit.inventory.checking import image_path, read_image, read_mask, reason_of
from shardkit.inventory.columns import MASK_PATH, OBJECTS, AnnotationEncoder, BadAnnotation
from shardkit.inventory.row_boxes import annotated_size, reject_box
from shardkit.inventory.schema import HAS_GPS, MASK_SHA256, Reject
from shardkit.options.words import convert_again
from shardkit.parallel.for_each import with_host
from shardkit.parallel.run_token import Fence
from shardkit.planning.plan_file import ShardTask, read_shard_rows
from shardkit.reject_reasons import OUTSIDE_CROP
from shardkit.sources.datasets.columns import RAW_CHANGES, RAW_SHA256, STORED_MASK
from shardkit.sources.listing import GROUP, MASK_COLOURS
from shardkit.sources.visibility import refuse_unseen
from shardkit.sources.walking import parent_of
from shardkit.storage import Folder, raise_store_failure, unreadable
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.retry import retried
from shardkit.writing.output.finished_shards import is_done
from shardkit.writing.output.shard_reports import rejects_path, report_error, report_rejects
from shardkit.writing.record_blocks import RecordBlocks
from shardkit.writing.stored_example import place_stored_mask, read_stored_example

# What is at the path is another file than before, or none.
_OTHER_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, SpecialFileError)
JPEG_START = b"\xff\xd8"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of every shard.

    Attributes:
        classes: Class names in label order.
        form: How images are stored.
        max_file_bytes: Size above which a mask is not read.
    """

    classes: tuple[str, ...]
    form: images.StoredForm
    max_file_bytes: int = MAX_FILE_BYTES


@dataclass(frozen=True, slots=True)
class WriteJob:
    """What each worker needs to write shards; small and pickled into the job.

    Attributes:
        source: The source's folder.
        options: Options of every shard.
    """

    source: Folder
    options: WriteOptions

    def write(self, task: ShardTask, fence: Fence) -> None:
        """Write a shard and its index into the fence's folder, unless they exist already.

        Transient errors are retried. Others are reported for each shard: the rest of the shards is still written.

        Raises:
            StaleRunError: The run has ended; nothing is written and nothing is reported.
            StoreError: The object store failed: other shards would fail too, one after the other.
        """
        try:
            retried(lambda: self._write_unless_done(task, fence))
        except (StaleRunError, StoreError):
            raise
        except (DataError, OSError, MemoryError) as error:
            said = str(error) or "no memory left"  # a MemoryError has no message
            fault, text = MachineError.exit_code, f"{fence.folder.url}/{task.name.records}: cannot write: {said}"
            if isinstance(error, ShardkitError):
                fault, text = error.exit_code, str(error)
            report_error(task.name, with_host(text, fence), fault, fence)

    def _write_unless_done(self, task: ShardTask, fence: Fence) -> None:
        if not is_done(fence.folder, task.name, fence.token.plan_digest):
            _write(self.source, fence.folder, task, self.options, fence)


def _write(source: Folder, output: Folder, task: ShardTask, options: WriteOptions, fence: Fence) -> None:
    late: list[Reject] = []
    indexed: list[_Indexed] = []
    num_with_gps = 0
    table = read_shard_rows(output, task.row_group, fence.token.plan_digest)
    encode_annotations = AnnotationEncoder(table.schema, options.classes)
    records = OpenFiles(source)
    with output.atomic_write(task.name.records, before_rename=fence.check) as file:
        shard = RecordBlocks(file)
        for row in _rows(table):
            fence.check_sometimes()
            try:
                raw, content_sha256, stored_mask = _read(source, records, row)
                info = row.info or images.inspect(raw)
                image = images.normalise(raw, info, options.form)
                columns, lost = _placed(row, info, options.form)
                mask = _mask(source, row, info, options, stored_mask)
                annotations, labels = encode_annotations(columns)
            except (images.BadImage, BadAnnotation) as error:
                late.append(Reject(row.key, error.reason, str(error), row.source_bytes))
                continue
            late += lost
            if row.label is not None:
                annotations["label"] = example.int64_feature((row.label,))
            if mask is not None:
                annotations[MASK] = example.bytes_feature([mask])
            record, image_end = example.encode_located(
                {
                    "height": example.int64_feature((image.height,)),
                    "image": example.bytes_feature([image.data]),
                    "key": example.bytes_feature([row.key.encode()]),
                    "width": example.int64_feature((image.width,)),
                    **annotations,
                },
                "image",
            )
            indexed.append(
                _Indexed(
                    offset=shard.num_bytes,
                    length=len(record),
                    key=row.key,
                    label=row.label,
                    label_name=None if row.label is None else options.classes[row.label],
                    labels=labels,
                    height=image.height,
                    width=image.width,
                    format="JPEG" if image.data.startswith(JPEG_START) else "PNG",
                    image_start=image_end - len(image.data),
                    image_bytes=len(image.data),
                    group=row.group,
                    source_bytes=len(raw),
                    content_sha256=content_sha256,
                    changes=_all_changes(row, image),
                )
            )
            num_with_gps += has_gps(image.data)
            shard.add(tfrecord.frame(record))
        shard.flush()
    if late:
        # Before the done mark: a crash between the two writes the report again rather than losing it.
        report_rejects(task.name, late, fence)
    elif output.stat(rejects_path(task.name)) is not None:
        output.remove(rejects_path(task.name))  # of a copy of this task that could not read what this one has read
    columns_of: dict[str, Any] = dict(zip(_Indexed._fields, zip(*indexed, strict=True), strict=True)) if indexed else {}
    columns_of["key_hash"] = key_hashes(columns_of.get("key", ()))
    arrays = [pa.array(columns_of.get(field.name, ()), field.type) for field in INDEX_SCHEMA]
    digest = fence.token.plan_digest
    summary = ShardSummary(len(indexed), shard.num_bytes, shard.sha256, digest, num_with_gps=num_with_gps)
    with output.atomic_write(task.name.index, before_rename=fence.check) as file:
        file.write(serialize_index(pa.Table.from_arrays(arrays, schema=INDEX_SCHEMA), summary))


def _placed(row: "_Row", info: images.ImageInfo, form: images.StoredForm) -> tuple[dict[str, Any], list[Reject]]:
    """Return a row's annotations with the boxes of the stored picture, and the boxes that are dropped."""
    if OBJECTS not in row.columns:
        return row.columns, []
    objects, rejected = row.columns[OBJECTS], []
    if row.info is None:  # a checked row has the boxes of the upright image already
        objects, bad_boxes = place_objects(objects, annotated_size(row.columns), info)
        rejected = [reject_box(row.key, bad_box) for bad_box in bad_boxes]
    objects, outside = move_objects(objects, place(*upright_size(info), form))
    rejected += [reject_box(row.key, bad_box, OUTSIDE_CROP) for bad_box in outside]
    return {**row.columns, OBJECTS: objects}, rejected


def _mask(
    source: Folder, row: "_Row", info: images.ImageInfo, options: WriteOptions, stored: bytes | None
) -> bytes | None:
    if MASK_PATH not in row.columns:
        return None
    if stored is not None:
        is_adopted = row.columns.get(STORED_MASK.name) is not None
        return place_stored_mask(stored, info, options.form, is_adopted=is_adopted)
    path, wanted = row.columns[MASK_PATH], row.columns[MASK_SHA256.name]
    try:
        data = read_mask(source, path, options.max_file_bytes)
    except OSError as error:
        raise_store_failure(f"{source.url}/{path}", error)
        found = f"cannot be read: {error.strerror or error}"
        if wanted is None:
            raise images.BadImage(reason_of(error), f"The mask {path} {found}.") from error
        raise _unreadable_since(f"{source.url}/{path}", "the mask", error) from None
    if wanted is not None and hashlib.sha256(data).digest() != wanted:
        msg = f"{source.url}/{path}: the mask has changed since it was checked; {_at_rest()}"
        raise SourceChangedError(msg)
    colours = row.columns.get(MASK_COLOURS.name)
    orientation = mask_orientation(images.check_mask(data, colours), info)
    return images.normalise_mask(data, orientation=orientation, form=options.form, colours=colours).data


class _Indexed(NamedTuple):
    offset: int
    length: int
    key: str
    label: int | None
    label_name: str | None
    labels: list[int] | None
    height: int
    width: int
    format: str
    image_start: int
    image_bytes: int
    group: str | None
    source_bytes: int
    content_sha256: bytes
    changes: str


class _Row(NamedTuple):
    key: str
    source_bytes: int
    label: int | None
    group: str | None
    columns: dict[str, Any]  # the layout's own
    info: images.ImageInfo | None  # None with ``check=header``: not read before
    content_sha256: bytes | None
    content_crc32c: int | None


_CHECKED = ("format", "width", "height", "orientation", "changes", "content_sha256", "content_crc32c")
_OWN_FIELDS = {"key", "source_bytes", "label", GROUP.name, HAS_GPS.name, *_CHECKED}


def _rows(table: pa.Table) -> Iterator[_Row]:
    names = table.column_names
    own = [name for name in names if name not in _OWN_FIELDS]
    layout = table.select(own).to_pylist() if own else [{}] * len(table)
    labels = table["label"].to_numpy().tolist() if "label" in names else [None] * len(table)
    groups = table[GROUP.name].to_pylist() if GROUP.name in names else [None] * len(table)
    plain = zip(
        table["key"].to_pylist(), table["source_bytes"].to_numpy().tolist(), labels, groups, layout, strict=True
    )
    if table["format"].null_count:
        for row in plain:
            yield _Row(*row, None, None, None)
        return
    looked = zip(*(table[name].to_pylist() for name in _CHECKED), strict=True)
    for row, (kind, width, height, orientation, changes, *check) in zip(plain, looked, strict=True):
        codes = tuple(changes.split(",")) if changes else ()
        yield _Row(*row, images.ImageInfo(kind, width, height, orientation, codes), *check)


def _read(source: Folder, records: OpenFiles, row: _Row) -> tuple[bytes, bytes, bytes | None]:
    """Return a row's image, the sha256 of its raw file, and its mask if they are one record."""
    where = f"{source.url}/{row.key}"
    try:
        columns = {"key": row.key, "source_bytes": row.source_bytes, **row.columns}
        if RAW_SHA256.name in columns:
            raw_sha256 = row.content_sha256 or columns[RAW_SHA256.name]
            stored = read_stored_example(records, columns, raw_sha256)
            return stored.image, raw_sha256, stored.mask
        raw = retried(lambda: read_image(source, columns))
    except OSError as error:
        raise_store_failure(where, error)
        if isinstance(error, FileNotFoundError):
            refuse_unseen(source, parent_of(image_path(columns)))
        found = f"cannot be read: {error.strerror or error}"
        if row.info is None:
            raise images.BadImage(reason_of(error), f"The file {found}.") from error
        raise _unreadable_since(where, "the file", error) from None
    if row.content_sha256 is None:
        return raw, hashlib.sha256(raw).digest(), None
    if len(raw) != row.source_bytes or google_crc32c.value(raw) != row.content_crc32c:
        msg = f"{where}: the file has changed since it was checked; {_at_rest()}"
        raise SourceChangedError(msg)
    return raw, row.content_sha256, None


def _unreadable_since(where: str, what: str, error: OSError) -> ShardkitError:
    """Return the error for a file that was good when it was checked, and cannot be read now.

    Raise it without a cause, which would let `retried` write the whole shard again: reading was tried again already.
    """
    if isinstance(error, _OTHER_FILE):
        found = f"{what} was good when it was checked and now cannot be read: {error.strerror or error}"
        return SourceChangedError(f"{where}: {found}; {_at_rest()}")
    return unreadable(where, error)  # the disk or the network: finished shards stay, and the next run goes on


def _all_changes(row: _Row, image: images.NormalisedImage) -> str:
    """Return the changes since the raw file: of a dataset's example also those of the first conversion."""
    earlier = row.columns.get(RAW_CHANGES.name)
    return ",".join(sorted({*image.changes, *earlier.split(",")}) if earlier else image.changes)


def _at_rest() -> str:
    return f"{convert_again()} when the source does not change any more"
