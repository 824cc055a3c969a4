"""Parts of an inventory: the files in the work folder in which workers store the rows that they checked.

A part's name is a hash of its listing, so a conversion that resumes after an interruption finds the parts of unchanged
files and does not decode them again.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import naming, software
from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA
from shardkit.conversion.inventory.source_files import Thumbnails
from shardkit.conversion.inventory.table import (
    columns_digest,
    compact,
    concat_sorted,
    ordered_by_key,
    release_unused,
)
from shardkit.hashing import canonical_json
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.options.values import Check
from shardkit.sources.claim import Claim, UsedFile
from shardkit.sources.listing import Listing, Source
from shardkit.sources.readings.values import Reading
from shardkit.storage import Folder
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried

PARTS = f"{naming.WORK_FOLDER}/inventory"
_ENDING = ".arrow"
# Without threads, as in shardkit/parquet.py.
_READING = pa.ipc.IpcReadOptions(use_threads=False)
_WRITING = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_TOTALS_KEY = b"shardkit.facts"
_HOST_KEY = b"shardkit.host"  # that checked the part, for errors
READING_THREADS = 32  # an object store takes 50 ms for a part, and 10 million images have up to 32,000 of them
# That become one table in memory. Each has as many mappings as columns, and Linux allows a process 65,530.
BLOCK_ROWS = 1 << 18
_PART_VERSION = b"6"


def part_name(table: pa.Table, listing: Listing, check: Check, max_file_bytes: int = MAX_FILE_BYTES) -> str:
    """Return the file name of a part: a hash of everything that decides its content, and its number of rows."""
    digest = hashlib.blake2b(_PART_VERSION + check.encode() + canonical_json(software.versions()), digest_size=16)
    digest.update(canonical_json([[field.name, str(field.type)] for field in table.schema]))
    digest.update(columns_digest(table.columns))
    digest.update(_totals_json(listing))
    digest.update(max_file_bytes.to_bytes(8, "little"))
    return f"{digest.hexdigest()}-{len(table)}{_ENDING}"


def _totals_json(listing: Listing) -> bytes:
    classes = sorted(listing.classes.items())
    return canonical_json({"skipped": listing.skipped, "classes": classes})


def part_names(output: Folder) -> list[str]:
    """Return the file names of all parts so far, without files that a writer has not finished."""
    return [entry.name for entry in output.scan(PARTS) if entry.name.endswith(_ENDING)]


def count_rows(output: Folder) -> int:
    """Return the number of rows in all parts so far, for a progress display; only names of files are read."""
    return sum(map(num_rows_of, part_names(output)))


def find_part(output: Folder, name: str) -> pa.Table | None:
    """Return the rows of a part; None if no run has written it."""
    return None if output.stat(part_path(name)) is None else _read_file(output, part_path(name))


def _read_file(output: Folder, path: str) -> pa.Table:
    """Return the rows of a file, with what it says about them in the metadata of the schema."""
    raw = retried(lambda: output.read(path))
    with pa.ipc.open_file(pa.BufferReader(raw), options=_READING) as reader:
        return reader.read_all()


def part_path(name: str) -> str:
    """Return the path of a part, given its name."""
    return f"{PARTS}/{name}"


def num_rows_of(name: str) -> int:
    """Return the number of rows of a part, given its name."""
    return int(name.partition("-")[2].removesuffix(_ENDING))


def write_rows(
    output: Folder,
    path: str,
    table: pa.Table,
    totals: Listing,
    before_rename: Callable[[], None] | None = None,
) -> None:
    """Write rows and the totals of their listing as a part."""
    metadata = {_TOTALS_KEY: _totals_json(totals), _HOST_KEY: platform.node().encode()}
    described = table.replace_schema_metadata(metadata)
    with (
        output.atomic_write(path, before_rename=before_rename) as file,
        pa.ipc.new_file(file, described.schema, options=_WRITING) as writer,
    ):
        writer.write_table(described)


def read_parts(output: Folder, names: Iterable[str]) -> tuple[pa.Table, Listing]:
    """Read all parts of an inventory, sorted by key, rows of one key in the order of their file; and the totals.

    The names are in the order of the source.
    """
    tables, totals = list[pa.Table](), Listing()
    block: list[pa.Table] = []
    num_rows = 0
    for listed, rows in read_many(partial(_read_rows, output), map(part_path, names), READING_THREADS):
        totals.add(**json.loads(listed))
        if rows is not None:
            block.append(rows)
            num_rows += len(rows)
        if num_rows >= BLOCK_ROWS:
            tables.append(_compact_block(block))
            num_rows = 0
    if block:
        tables.append(_compact_block(block))
    table = concat_sorted(ordered_by_key(tables) or [INVENTORY_SCHEMA.empty_table().drop_columns("mtime_ns")])
    return table, Listing(skipped=dict(sorted(totals.skipped.items())), classes=totals.classes)


def _compact_block(parts_of_block: list[pa.Table]) -> pa.Table:
    """Return parts as one compact table: the columns of a part of 128 rows take 9 kB more than their values."""
    block = compact(pa.concat_tables(parts_of_block, promote_options="permissive").combine_chunks())
    parts_of_block.clear()
    release_unused()
    return block


def _read_rows(output: Folder, path: str) -> tuple[bytes, pa.Table | None]:
    """Return a file's totals as JSON and its rows; None for no rows."""
    table = _read_file(output, path)
    totals: bytes = table.schema.metadata[_TOTALS_KEY]
    # Modification times are needed for the parts' names only.
    names = [name for name in table.column_names if name != "mtime_ns"]
    return totals, table.replace_schema_metadata().select(names) if len(table) else None


def find_rows(output: Folder, names: Iterable[str], keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of some keys, each with the host that checked it."""
    wanted = pa.array(sorted(keys), pa.string())
    for table in read_many(partial(_read_file, output), map(part_path, names), READING_THREADS):
        host = table.schema.metadata.get(_HOST_KEY, b"unknown").decode()
        for row in table.filter(pc.is_in(table["key"], wanted.cast(table["key"].type))).to_pylist():
            yield host, row


def remove_parts(output: Folder) -> None:
    """Remove the whole inventory, so that all images are checked again."""
    output.remove_tree(PARTS)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory of a source."""

    # A row for each file, with INVENTORY_SCHEMA's and the layout's own columns, sorted by key. Rejected files and
    # annotations have a reason.
    table: pa.Table
    layout: str  # name of the source's layout
    skipped: Mapping[str, int]  # number of files that are no images, by ending or reason
    # Class names in label order if the source's format fixes them; None to sort the names found.
    classes: tuple[str, ...] | None = None
    origin: str | None = None  # see Source
    claims: tuple[Claim, ...] = ()  # see Source
    used_files: tuple[UsedFile, ...] = ()  # see Source
    removed_before: tuple[str, ...] = ()  # see Source
    reading: Reading | None = None  # see Source
    thumbnails: Thumbnails | None = None  # of the images; None if these cannot be read

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def of(cls, source: Source, table: pa.Table, totals: Listing, max_file_bytes: int = MAX_FILE_BYTES) -> "Inventory":
        """Return the inventory of a source; `totals` has what all of its listings say besides their rows."""
        source.check_classes(totals.classes)
        classes = source.classes or tuple(name for _, name in sorted(totals.classes.items())) or None
        said = source.origin, source.claims, source.used_files, source.removed_before, source.reading
        return cls(table, source.layout, totals.skipped, classes, *said, Thumbnails(source.folder, max_file_bytes))
