"""Write one shard: read, normalise, encode and frame its examples in plan order, then its index as the done mark.

Memory is bounded by one image, not by the shard. Writing a shard twice, concurrently or in sequence, gives the same
files.
"""

import hashlib
import io
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa

from shardkit import images
from shardkit.conversion.inventory.columns import (
    AnnotationEncoder,
    BadAnnotation,
    Reject,
    annotated_size,
    info_of,
    reject_box,
)
from shardkit.conversion.inventory.source_files import ReadImage, Row, SourceFiles, read_image, read_mask
from shardkit.conversion.planning.plan_file import ShardTask, read_shard_rows
from shardkit.conversion.writing.output.finished_shards import (
    FailedShard,
    FinishedShard,
    find_finished_shard,
    rejects_path,
    report,
)
from shardkit.dataset import example, tfrecord
from shardkit.dataset.features import MASK, NO_LABEL
from shardkit.dataset.index.file import SCHEMA as INDEX_SCHEMA
from shardkit.dataset.index.file import ShardSummary, key_hashes, serialize_index
from shardkit.errors import DataError, MachineError, ShardkitError, StaleRunError, StoreError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images.boxes import mask_orientation, move_objects, place_objects, upright_size
from shardkit.images.gps import has_gps
from shardkit.images.stored.placement import place
from shardkit.images.traits import refuse_few_levels
from shardkit.options.groups import Stored
from shardkit.parallel.for_each import with_host
from shardkit.parallel.progress import count, measure
from shardkit.parallel.run_token import Fence
from shardkit.record_sources.datasets.columns import RAW_CHANGES, STORED_MASK
from shardkit.reject_reasons import OUTSIDE_CROP
from shardkit.sources.columns import (
    CHECKED_FIELDS,
    FORMAT,
    GROUP,
    MASK_COLOURS,
    OBJECTS,
    PERCEPTUAL_HASH,
)
from shardkit.storage import Folder
from shardkit.storage.retry import retried

JPEG_START = b"\xff\xd8"
BLOCK_BYTES = 1 << 20  # 1 MiB
_UNCHECKED = {field.name for field in CHECKED_FIELDS}


@dataclass(frozen=True, slots=True)
class WriteJob:
    """What each worker needs to write shards; small and pickled into the job."""

    source: Folder  # the source's folder
    classes: tuple[str, ...]  # class names in label order
    form: Stored  # how images are stored
    max_file_bytes: int = MAX_FILE_BYTES  # size above which a mask is not read
    # Whether images that were not checked may have 16 bits of which the high 8 are nearly equal.
    takes_few_levels: bool = False

    def write(self, task: ShardTask, fence: Fence) -> list[FinishedShard | FailedShard]:
        """Write a shard and its index into the fence's folder, unless they exist already; return the shard.

        Transient errors are retried. Others are returned: the rest of the shards is still written. Only StaleRunError
        and StoreError are raised: other shards would fail likewise.
        """
        try:
            done = partial(find_finished_shard, fence.folder, task.name, task.plan_digest)
            return [retried(lambda: done() or _write(self, task, fence))]
        except (StaleRunError, StoreError):
            raise
        except (DataError, OSError, MemoryError) as error:
            said = str(error) or "no memory left"  # a MemoryError has no message
            fault, text = MachineError.exit_code, f"{fence.folder.url}/{task.name.records}: cannot write: {said}"
            if isinstance(error, ShardkitError):
                fault, text = error.exit_code, str(error)
            return [FailedShard(task.name, with_host(text, fence), fault)]


def _write(job: WriteJob, task: ShardTask, fence: Fence) -> FinishedShard:
    output = fence.folder
    late: list[Reject] = []
    indexed: list[dict[str, Any]] = []
    num_bytes = num_with_gps = 0
    table = read_shard_rows(output, task)
    encode_annotations = AnnotationEncoder(table.schema, job.classes)
    files = SourceFiles(job.source, job.max_file_bytes, is_planned=True)
    with output.atomic_write(task.name.records, before_rename=fence.check) as file:
        hashed = HashedWriter(file)
        records = io.BufferedWriter(hashed, BLOCK_BYTES)
        for row in _planned_rows(table):
            fence.check_sometimes()
            key, label = row["key"], row.get("label")
            try:
                image, mask, info, source_bytes, content_sha256 = _stored(files, row, job)
                columns, lost = _placed(row, info, job.form)
                annotations, labels = encode_annotations(columns)
            except (images.BadImage, BadAnnotation) as error:
                late.append(Reject(key, error.reason, str(error), row["source_bytes"]))
                continue
            late += lost
            if label is not None:
                annotations["label"] = example.int64_feature((label,))
            if mask is not None:
                annotations[MASK] = example.bytes_feature([mask])
            record, image_end = example.encode_located(
                {
                    "height": example.int64_feature((image.height,)),
                    "image": example.bytes_feature([image.data]),
                    "key": example.bytes_feature([key.encode()]),
                    "width": example.int64_feature((image.width,)),
                    **annotations,
                },
                "image",
            )
            indexed.append(
                {
                    "offset": num_bytes,
                    "length": len(record),
                    "key": key,
                    "label": label,
                    "label_name": None if label in {None, NO_LABEL} else job.classes[label],
                    "labels": labels,
                    "height": image.height,
                    "width": image.width,
                    "format": "JPEG" if image.data.startswith(JPEG_START) else "PNG",
                    "image_start": image_end - len(image.data),
                    "image_bytes": len(image.data),
                    "group": row.get(GROUP.name),
                    "source_bytes": source_bytes,
                    "content_sha256": content_sha256,
                    "perceptual_hash": row[PERCEPTUAL_HASH.name],
                    "changes": _all_changes(row, image),
                }
            )
            num_with_gps += has_gps(image.data)
            num_bytes += sum(map(records.write, tfrecord.frame(record)))
        records.flush()
    if late:
        # Before the done mark: a crash between the two writes the report again rather than losing it.
        report(task, fence, late)
    elif output.stat(rejects_path(task.name)) is not None:
        output.remove(rejects_path(task.name))  # of a copy of this task that could not read what this one has read
    indexed_columns: dict[str, Any] = {field.name: [row.get(field.name) for row in indexed] for field in INDEX_SCHEMA}
    indexed_columns["key_hash"] = key_hashes(indexed_columns["key"])
    summary = ShardSummary(len(indexed), num_bytes, hashed.sha256, task.plan_digest, num_with_gps=num_with_gps)
    index = pa.table(indexed_columns, INDEX_SCHEMA)
    raw = serialize_index(index, summary)
    with output.atomic_write(task.name.index, before_rename=fence.check) as file:
        file.write(raw)
    count("shards_written")
    count("images_written", len(indexed))
    measure("shard_bytes", num_bytes)
    for reason, number in Counter(one.reason for one in late).items():
        count(f"rejected_{reason}", number)
    return FinishedShard.written(task.name.records, task.name.index, summary, index, raw)


def _planned_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a shard; with ``check=header``, nothing that was found in some of the images counts."""
    rows: list[dict[str, Any]] = table.to_pylist()
    if table[FORMAT.name].null_count:
        for row in rows:
            row.update(dict.fromkeys(_UNCHECKED & row.keys()))
    return rows


def _stored(
    files: SourceFiles, row: Row, job: WriteJob
) -> tuple[images.NormalisedImage, bytes | None, images.ImageInfo, int, bytes]:
    """Return a row's image and mask as they are stored, the header of the raw image, its size and its sha256."""
    form, is_checked = job.form, row[FORMAT.name] is not None
    raw, content_sha256 = read_image(files, row)
    info = info_of(row) if is_checked else images.inspect(raw.data)
    if not is_checked and form.scale is None and not job.takes_few_levels:
        refuse_few_levels(raw.data, info)
    image = images.normalise(raw.data, info, form)
    if not is_checked and {*image.changes} - {"metadata"}:
        images.check(raw.data)  # an image that is encoded anew would show no more that it was damaged
    return image, _mask(files, row, raw, info, form), info, len(raw.data), content_sha256


def _placed(row: Row, info: images.ImageInfo, form: Stored) -> tuple[Row, list[Reject]]:
    """Return a row's annotations with the boxes of the stored picture, and the boxes that are dropped."""
    if OBJECTS not in row:
        return row, []
    objects, rejected = row[OBJECTS], []
    if row[FORMAT.name] is None:  # a checked row has the boxes of the upright image already
        objects, bad_boxes, _ = place_objects(objects, annotated_size(row), info)
        rejected = [reject_box(row["key"], bad_box) for bad_box in bad_boxes]
    objects, outside = move_objects(objects, place(*upright_size(info), form))
    rejected += [reject_box(row["key"], bad_box, OUTSIDE_CROP) for bad_box in outside]
    return {**row, OBJECTS: objects}, rejected


def _mask(files: SourceFiles, row: Row, image: ReadImage, info: images.ImageInfo, form: Stored) -> bytes | None:
    """Return a row's mask in the form of its image; that of a record is stored as it is if nothing has to change."""
    data = read_mask(files, row, image)
    if data is None:
        return None
    orientation, colours = 1, row.get(MASK_COLOURS.name)
    # A mask that others wrote may lie on its side together with its image.
    if image.record is None or row.get(STORED_MASK.name) is not None:
        orientation = mask_orientation(images.check_mask(data, colours), info)
    elif not form.strip_metadata and not place(info.width, info.height, form).changes:
        return data
    return images.normalise_mask(data, orientation=orientation, form=form, colours=colours).data


class HashedWriter(io.RawIOBase):
    """Hashes what it writes. A buffer gives it blocks: hashing and writing these releases the interpreter's lock."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._digest.update(data)
        self._file.write(data)
        return len(data)


def _all_changes(row: Row, image: images.NormalisedImage) -> str:
    """Return the changes since the raw file: of a dataset's example also those of the first conversion."""
    earlier = row.get(RAW_CHANGES.name)
    return ",".join(sorted({*image.changes, *earlier.split(",")}) if earlier else image.changes)
