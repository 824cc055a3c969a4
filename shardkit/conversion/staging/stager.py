"""Check the images of a bundle once, and append those that are given as bytes to files of many images.

From then on they are images in ranges of files, like those of an archive. A file's name is a hash of what is in it: a
bundle that is tried again writes the same file. Millions of images become thousands of files, each written whole or not
at all. A second file, a part of the inventory, has a row for each image; only its name travels on.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from shardkit import images
from shardkit.archives.uris import uri_of
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.checking import check_file, rejected_row
from shardkit.conversion.inventory.columns import MASK_URI, URI, Reject, info_of, place_boxes
from shardkit.conversion.inventory.table import columns_digest
from shardkit.conversion.staging.kinds import Kind, merged_kind, text_of_checked
from shardkit.conversion.staging.records import Read, RecordRows, refuse_readings
from shardkit.conversion.staging.rows import GivenRow, RowReader, given_reject, values_of
from shardkit.conversion.staging.staged_part import (
    STAGED,
    StagedBefore,
    StagedPart,
    StagingOptions,
    images_folder,
    refuse_ended,
    staged_schema,
)
from shardkit.hashing import canonical_json
from shardkit.sources.columns import (
    CHECKED_FIELDS,
    CONTENT_SHA256,
    LAST_CLASS,
    MASK_COLOURS,
    MASK_SHA256,
    NUM_CLIPPED,
    OFFSET,
    PATH,
)
from shardkit.sources.file_names import encodable_path
from shardkit.sources.listing import BadRecord, Listing
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.retry import retried

FILE_BYTES = 64 << 20  # 64 MiB of images: held in memory until they are written
FILE_ROWS = 1 << 14
# What is known of an image and its mask once both are staged, whatever the row says of them.
OF_IMAGE = [field.name for field in (PATH, OFFSET, MASK_URI, *CHECKED_FIELDS, MASK_SHA256, LAST_CLASS, NUM_CLIPPED)]
_MASK_BYTES = "mask_bytes"  # of a row's mask, which follows its image in a file that is not written yet; no column


class Stager:
    """Stages the rows of a bundle. Memory is bounded by FILE_BYTES and one image."""

    def __init__(self, output: Folder, options: StagingOptions, before: StagedBefore | None = None) -> None:
        self._output, self._options, self._before = output, options, before
        self._reader = RowReader(options.max_file_bytes, options.is_unlabelled)
        self._records = RecordRows(options.features, options.max_file_bytes)
        self._begin()

    def _begin(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._kinds: dict[Kind, str] = {}  # a key of each kind of annotation
        self._readings: dict[str, str] = {}  # a key of each way in which records were read
        self._images: list[bytes] = []
        self.num_bytes = 0  # of these images
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
        if known is None and is_checked:
            known = seen
        if known is None:
            bad_boxes = check_file(row, given.image, lambda: given.mask)
        else:
            row |= known
            bad_boxes = place_boxes(row, info_of(row))
        if given.uri is not None:
            row |= {URI.name: given.uri, MASK_URI.name: given.mask_uri}
        elif row.get(OFFSET.name) is None:
            mask = given.mask or b""
            row |= {PATH.name: None, OFFSET.name: self.num_bytes, MASK_URI.name: None, _MASK_BYTES: len(mask)}
            self._images += [given.image, mask]
            self.num_bytes += len(given.image) + len(mask)
        self._known[content, mask_content] = {name: row[name] for name in (*OF_IMAGE, _MASK_BYTES) if name in row}
        return bad_boxes

    def _found_before(self, content: bytes, mask_content: bytes | None) -> dict[str, Any] | None:
        found = self._before.find(content) if self._before else ()
        return next((one for one in found if one.get(MASK_SHA256.name) == mask_content), None)

    def flush(self) -> StagedPart | None:
        """Write the images and the rows so far; None if there are no rows. See `refuse_ended`."""
        if not self._rows:
            return None
        kind, key = merged_kind(self._kinds), next(iter(self._kinds.values()), "")
        # Without a good row, there is no annotation in it.
        schema = staged_schema(kind or "label")
        with os_errors_as("stage images", f"{self._output.url}/{STAGED}"):
            refuse_ended(self._output)
            path = self._write_images() if self._images else ""
            for row in self._rows:
                if row.get(OFFSET.name) is not None and row[PATH.name] is None:
                    row[PATH.name] = path
                    if row[_MASK_BYTES]:
                        start = row[OFFSET.name] + row["source_bytes"]
                        row[MASK_URI.name] = uri_of(self._output, path, start, row[_MASK_BYTES])
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
        path = f"{images_folder()}/{digest.hexdigest()}"

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
