"""Check the images of a bundle once, and append those that are given as bytes to files of many images.

From then on they are images in ranges of files, like those of an archive. A file's name is a hash of what is in it: a
bundle that is tried again writes the same file. Millions of images become thousands of files, each written whole or not
at all. A second file, a part of the inventory, has a row for each image; only its name travels on.

A rerun finds the images that an earlier run staged and neither decodes nor stores them again. It may put other images
into a bundle, so files are not found by their names; images are, by their contents.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images, naming, software
from shardkit.archives.uris import uri_of
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.checking import check_file, rejected_row
from shardkit.conversion.inventory.columns import (
    MASK_URI,
    STAGED_FIELDS,
    URI,
    Reject,
    info_of,
    inventory_schema,
    place_boxes,
)
from shardkit.conversion.inventory.table import columns_digest
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.conversion.staging.kinds import Kind, columns_of, merged_kind
from shardkit.conversion.staging.records import Read, RecordRows, refuse_readings
from shardkit.conversion.staging.rows import GivenRow, RowReader, given_reject, values_of
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.errors import StaleRunError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.sources.columns import (
    CHECKED_FIELDS,
    CONTENT_SHA256,
    GROUP,
    LAST_CLASS,
    LISTING_SCHEMA,
    MASK_COLOURS,
    MASK_SHA256,
    NUM_CLIPPED,
    OFFSET,
    PATH,
)
from shardkit.sources.listing import BadRecord, Listing
from shardkit.sources.walking import encodable_path
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried

STAGED = f"{naming.WORK_FOLDER}/staged"
_BEGUN = f"{STAGED}/begun"
_VERSION = 2
# Each takes about 150 bytes in each worker process. Images beyond are staged again.
MAX_IMAGES = 1 << 20
FILE_BYTES = 64 << 20  # 64 MiB of images: held in memory until they are written
FILE_ROWS = 1 << 14
# What is known of an image and its mask once both are staged, whatever the row says of them.
_OF_IMAGE = [one.name for one in (PATH, OFFSET, MASK_URI, *CHECKED_FIELDS, MASK_SHA256, LAST_CLASS, NUM_CLIPPED)]
_MASK_BYTES = "mask_bytes"  # of a row's mask, which follows its image in a file that is not written yet; no column


def staged_schema(kind: Kind) -> pa.Schema:
    """Return the columns of staged rows with an annotation of a kind."""
    return inventory_schema(pa.schema([*LISTING_SCHEMA, GROUP, *columns_of(kind), *STAGED_FIELDS]))


class StagedPart(NamedTuple):
    """A part of the inventory. The others are '' if all of its rows are rejected, `reading` also without records."""

    name: str
    kind: str  # kind of the annotations
    reading: str  # which features of records were read; see `GivenRow`
    key: str


def images_folder() -> str:
    """Return the folder, below the output, of the images that these versions of libraries have checked."""
    return f"{STAGED}/{sha256_hex(canonical_json([software.versions(), _VERSION]))[:16]}"


def begin_staging(output: Folder) -> str:
    """Create the folder of staged images; each worker process calls this once.

    A worker that an engine has given up and that still runs when the dataset is published must not make it again.

    Return a text that differs once the folder was removed and created again.
    """
    output.create()
    if output.stat(_BEGUN) is None:
        with output.atomic_write(_BEGUN):
            pass  # the file is empty
    return str(output.stat(_BEGUN))


def refuse_ended(output: Folder) -> None:
    """Raise StaleRunError if the output was published or cleared since staging began."""
    if output.stat(_BEGUN) is None:
        raise StaleRunError(
            f"{output.url}/{STAGED}: the folder of staged images was removed, so another run has published or cleared "
            "this output; if no other pipeline writes into it, run this one again"
        )


class StagedBefore:
    """The images that were staged before, by content."""

    def __init__(self, output: Folder) -> None:
        names = parts.part_names(output)
        tables, num_rows = list[pa.Table](), 0
        for table in read_many(partial(_read, output), names, parts.READING_THREADS):
            tables.append(table)
            num_rows += len(table)
            if num_rows >= MAX_IMAGES:
                break
        self._table = pa.concat_tables(tables, promote_options="permissive") if tables else None
        contents = [digest_prefixes(table[CONTENT_SHA256.name]) for table in tables]
        beginnings = np.concatenate([np.zeros(0, np.uint64), *contents])
        self._order = np.argsort(beginnings, kind="stable")
        self._beginnings = beginnings[self._order]

    def find(self, content: bytes) -> Iterator[dict[str, Any]]:
        """Yield what is known of the images with a content; several have different masks."""
        beginning = np.frombuffer(content, np.uint64, 1)
        first, end = (int(np.searchsorted(self._beginnings, beginning, side)[0]) for side in ("left", "right"))
        if self._table is not None and first < end:
            for row in self._table.take(pa.array(self._order[first:end])).to_pylist():
                if row[CONTENT_SHA256.name] == content:
                    yield row


def _read(output: Folder, name: str) -> pa.Table:
    """Return what is known of the images of a part that can be read again; none of a part of another conversion."""
    table = parts.find_part(output, name)
    if table is None or URI.name not in table.column_names:
        return pa.schema([PATH, CONTENT_SHA256]).empty_table()
    is_read_again = pc.and_(pc.is_valid(table[URI.name]), pc.is_valid(table[CONTENT_SHA256.name]))
    is_read_again = pc.and_(is_read_again, pc.is_null(table["reason"]))
    is_stored = pc.fill_null(pc.starts_with(table[PATH.name], f"{images_folder()}/"), fill_value=False)
    return table.filter(pc.or_(is_stored, is_read_again)).select(
        [one for one in _OF_IMAGE if one in table.column_names]
    )


class Stager:
    """Stages the rows of a bundle. Memory is bounded by FILE_BYTES and one image."""

    def __init__(
        self, output: Folder, reader: RowReader, features: LayoutOverrides, before: StagedBefore | None = None
    ) -> None:
        """`features`: what the user says about the features of records."""
        self._output, self._reader, self._before = output, reader, before
        self._records = RecordRows(features, reader.max_file_bytes)
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
        self._known[content, mask_content] = {name: row[name] for name in (*_OF_IMAGE, _MASK_BYTES) if name in row}
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
