"""Check the images of a bundle once; normalise those that are given as bytes, and append them to files of many images.

A file's name is a hash of what is in it and of the form in which images are stored: a bundle that is tried again writes
the same file. Millions of images become thousands of files, each written whole or not at all. A second file, a part of
the inventory, has a row for each image; only its name travels on.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import google_crc32c
import pyarrow as pa

from shardkit import images
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.checking import check_file, rejected_row
from shardkit.conversion.inventory.columns import MASK_URI, STORED, URI, Reject, info_of, place_boxes
from shardkit.conversion.inventory.table import columns_digest
from shardkit.conversion.staging.kinds import Kind, merged_kind, text_of_checked
from shardkit.conversion.staging.records import Read, RecordRows, refuse_readings
from shardkit.conversion.staging.rows import GivenRow, RowReader, given_reject, values_of
from shardkit.conversion.staging.staged_part import (
    STAGED,
    StagedBefore,
    StagedPart,
    StagingOptions,
    refuse_ended,
    staged_schema,
)
from shardkit.errors import CallError
from shardkit.hashing import canonical_json
from shardkit.images.boxes import mask_orientation
from shardkit.naming import printable
from shardkit.options.values import AUTO_SCALE
from shardkit.options.words import named
from shardkit.sources.columns import (
    CHECKED_FIELDS,
    CONTENT_SHA256,
    LAST_CLASS,
    MASK_COLOURS,
    MASK_SHA256,
    NUM_CLIPPED,
    OFFSET,
    PATH,
    THUMBNAIL,
)
from shardkit.sources.listing import BadRecord, Listing
from shardkit.sources.walking import encodable_path
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.retry import retried

FILE_BYTES = 64 << 20  # 64 MiB of stored images: held in memory until they are written
FILE_ROWS = 1 << 14
# What is known of an image and its mask once both are staged, whatever the row says of them.
OF_IMAGE = [
    *(field.name for field in [PATH, OFFSET, STORED, *CHECKED_FIELDS]),
    MASK_SHA256.name,
    LAST_CLASS.name,
    NUM_CLIPPED.name,
    THUMBNAIL.name,
]


class Stager:
    """Stages the rows of a bundle. Memory is bounded by FILE_BYTES and one image."""

    def __init__(self, output: Folder, options: StagingOptions, before: StagedBefore | None = None) -> None:
        self._output, self._options, self._folder, self._before = output, options, options.folder, before
        self._reader = RowReader(options.max_file_bytes, options.is_unlabelled)
        self._records = RecordRows(options.features, options.max_file_bytes)
        self._begin()

    def _begin(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._kinds: dict[Kind, str] = {}  # a key of each kind of annotation
        self._readings: dict[str, str] = {}  # a key of each way in which records were read
        self._images: list[bytes] = []
        self.num_bytes = 0  # of the stored images since the last `flush`
        self._known: dict[tuple[bytes, bytes | None], dict[str, Any]] = {}  # images of this file by content

    @property
    def is_full(self) -> bool:
        return self.num_bytes >= FILE_BYTES or len(self._rows) >= FILE_ROWS

    def add(self, element: Any) -> Iterator[Reject]:
        """Stage a row; yield what is rejected: the image, or some of its boxes.

        An element is a row, see `rows.values_of`, a serialized tf.train.Example, or what reading has rejected.
        """
        if isinstance(element, bytes):
            yield from self._add_records(self._records.add(element))
            return
        if (reject := given_reject(element)) is not None:
            self._rows.append({**json.loads(reject.facts or "{}"), **reject._asdict(), "mtime_ns": 0})
            return  # `ReadImages` has counted it
        values = values_of(element)
        yield from self._add(self._reader.key(values), partial(self._reader.read, values))

    def finish(self) -> Iterator[Reject]:
        """Stage what waits for more records; yield what is rejected. Call it at the end of a bundle, before `flush`."""
        yield from self._add_records(self._records.flush())

    def _add_records(self, records: Iterable[Read]) -> Iterator[Reject]:
        for key, read in records:
            yield from self._add(encodable_path(key), read)

    def _add(self, key: str, read: Callable[[], GivenRow]) -> Iterator[Reject]:
        row: dict[str, Any] = {"key": key, "source_bytes": 0, "mtime_ns": 0}
        try:
            given = read()
            row |= {"source_bytes": len(given.image), **given.columns}
            if given.reading:
                self._readings.setdefault(given.reading, key)
                refuse_readings(self._readings)
            if given.kind not in self._kinds:
                self._kinds[given.kind] = given.key
                merged_kind(self._kinds)
            boxes = self._stage(given, row)
        except (BadRecord, images.BadImage) as error:
            self._rows.append(rejected_row(row, error.reason, str(error)))
            yield Reject(row["key"], error.reason, str(error), row["source_bytes"])
            return
        self._rows += [row, *boxes]
        for box in boxes:
            yield Reject(box["key"], box["reason"], box["message"], box["source_bytes"])

    def _stage(self, given: GivenRow, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Fill in the columns of a row, and append its image unless it is known; return a row for each bad box."""
        content = hashlib.sha256(given.image).digest()
        mask_content = None if given.mask is None else hashlib.sha256(given.mask).digest()
        known = None
        if MASK_COLOURS.name not in row:  # which make another mask of the same file
            known = self._known.get((content, mask_content)) or self._found_before(content, mask_content)
        seen = given.checked or {}
        is_checked = (seen.get(CONTENT_SHA256.name), seen.get(MASK_SHA256.name)) == (content, mask_content)
        if known is None and is_checked and not self._options.thumbnails:
            known = seen
        if known is None:
            bad_boxes = check_file(row, given.image, lambda: given.mask, thumbnails=self._options.thumbnails)
        else:
            row |= known
            bad_boxes = place_boxes(row, info_of(row))
        if given.uri is not None:
            row |= {URI.name: given.uri, MASK_URI.name: given.mask_uri}
        elif row.get(STORED.name) is None:
            self._store(given, row)
        self._known[content, mask_content] = {name: row[name] for name in OF_IMAGE if name in row}
        return bad_boxes

    def _store(self, given: GivenRow, row: dict[str, Any]) -> None:
        """Append a row's image and mask to those of this file, in the form in which they are stored."""
        if self._options.form.has_open_scale:
            raise CallError(
                f"{printable(given.key)}: {named('bit_depth', AUTO_SCALE)} needs all images, and one that is given as "
                "bytes is stored before the others are known; give `uri` in place of `image`, or the range, such as "
                f"{named('bit_depth', 'scale=0:4095')}"
            )
        info = info_of(row)
        image = images.normalise(given.image, info, self._options.form)
        mask = b"" if given.mask is None else self._mask(given.mask, info, row.get(MASK_COLOURS.name))
        row |= {
            PATH.name: None,  # the file has no name yet
            OFFSET.name: self.num_bytes,
            STORED.name: {
                "num_bytes": len(image.data),
                "mask_bytes": len(mask),
                "crc32c": google_crc32c.extend(google_crc32c.value(image.data), mask),
                "width": image.width,
                "height": image.height,
                "changes": image.changes,
            },
        }
        self._images += [image.data, mask]
        self.num_bytes += len(image.data) + len(mask)

    def _found_before(self, content: bytes, mask_content: bytes | None) -> dict[str, Any] | None:
        for one in self._before.find(content) if self._before else ():
            has_all = not self._options.thumbnails or any(
                one.get(name) is not None for name in (STORED.name, THUMBNAIL.name)
            )
            if has_all and one.get(MASK_SHA256.name) == mask_content:
                return one
        return None

    def _mask(self, mask: bytes, info: images.ImageInfo, colours: str | None) -> bytes:
        orientation = mask_orientation(images.check_mask(mask, colours), info)
        return images.normalise_mask(mask, orientation=orientation, form=self._options.form, colours=colours).data

    def flush(self) -> StagedPart | None:
        """Write the images and the rows so far; None if there are no rows. See `refuse_ended`."""
        if not self._rows:
            return None
        kind, key = merged_kind(self._kinds), next(iter(self._kinds.values()), "")
        # Without a good row, there is no annotation in it.
        schema = staged_schema(kind or "label", thumbnails=self._options.thumbnails)
        with os_errors_as("stage images", f"{self._output.url}/{STAGED}"):
            refuse_ended(self._output)
            path = self._write_images() if self._images else None
            for row in self._rows:
                if row.get(STORED.name) is not None and row[PATH.name] is None:
                    row[PATH.name] = path
            table = pa.Table.from_pylist(self._rows, schema)
            digest = hashlib.blake2b(columns_digest(table.columns), digest_size=16)
            digest.update(canonical_json(schema.names))
            name = f"{digest.hexdigest()}-{len(table)}.arrow"
            retried(lambda: parts.write_rows(self._output, parts.part_path(name), table, Listing(schema)))
        reading = next(iter(self._readings), "")
        self._begin()
        return StagedPart(name, kind or "", reading, key)

    def _write_images(self) -> str:
        """Write the images into one file, unless it is there; return its path."""
        digest = hashlib.sha256()
        for data in self._images:
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
        path = f"{self._folder}/{digest.hexdigest()}"

        def write() -> None:
            found = self._output.stat(path)
            if found is not None and found.num_bytes == self.num_bytes:
                return
            with self._output.atomic_write(path) as file:
                for data in self._images:
                    file.write(data)

        retried(write)
        return path


def check_row(given: GivenRow) -> tuple[dict[str, Any], str]:
    """Return the columns that checking a row fills in, and their text for `GivenRow.checked`; or raise BadImage."""
    row = {"key": given.key, **given.columns}
    check_file(row, given.image, lambda: given.mask)
    return row, text_of_checked(row)
