"""Parts of an inventory: the files in the work folder in which workers store the rows that they checked.

A part's name is a hash of its listing, so a conversion that resumes after an interruption finds the parts of unchanged
files and does not decode them again.

A billion images leave 7.8 million parts, which one worker would read for hours. So the workers of an engine merge many
small parts to files of about a million rows. The parts stay for the next run. A merged file's name is a hash of the
names of its parts, so it is found again while they are.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import naming, software
from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA
from shardkit.conversion.inventory.table import (
    columns_digest,
    compact,
    concat_sorted,
    map_columns,
    ordered_by_key,
    release_unused,
)
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.options.values import Check
from shardkit.sources.listing import Listing
from shardkit.storage import Folder
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried

PARTS = f"{naming.WORK_FOLDER}/inventory"
_ENDING = ".arrow"
_TOTALS_KEY = b"shardkit.facts"
_HOST_KEY = b"shardkit.host"  # that checked the part, for errors
READING_THREADS = 32  # an object store takes 50 ms for a part, and 10 million images have 78,000 of them
# That become one table in memory. Each has as many mappings as columns, and Linux allows a process 65,530.
BLOCK_ROWS = 1 << 18
_PART_VERSION = b"6"
MERGED = f"{naming.WORK_FOLDER}/merged-inventory"
MERGED_ROWS = 1 << 20  # of a file: 0.3 GiB of memory for the worker that merges them
# Planning reads so many parts from a store in 13 s: 50 ms each, 32 at once. A million decoded images have 8,000 parts.
MERGED_ABOVE = 1 << 13
_READING_THREADS = 2  # of files with so many rows: 4 of them are ahead of the one that is added


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
    with pa.ipc.open_file(pa.BufferReader(raw)) as reader:
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
    """Write rows and the totals of their listings as one file: a part or a merged one."""
    metadata = {_TOTALS_KEY: _totals_json(totals), _HOST_KEY: platform.node().encode()}
    described = table.replace_schema_metadata(metadata)
    with (
        output.atomic_write(path, before_rename=before_rename) as file,
        pa.ipc.new_file(file, described.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer,
    ):
        writer.write_table(described)


def read_parts(output: Folder, names: Iterable[str]) -> tuple[pa.Table, Listing]:
    """Read all parts of an inventory, sorted by key, rows of one key in the order of their file; and the totals."""
    return read_files(output, map(part_path, names), READING_THREADS)


def read_files(output: Folder, paths: Iterable[str], num_threads: int) -> tuple[pa.Table, Listing]:
    """Read files that `write_rows` wrote, in the order of the source; see read_parts."""
    tables, totals = list[pa.Table](), Listing()
    block: list[pa.Table] = []
    num_rows = 0
    for listed, rows in read_many(partial(_read_rows, output), paths, num_threads):
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
    block = map_columns(compact(pa.concat_tables(parts_of_block, promote_options="permissive").combine_chunks()))
    parts_of_block.clear()
    release_unused()
    return block


def _read_rows(output: Folder, path: str) -> tuple[bytes, pa.Table | None]:
    """Return a file's totals as JSON and its rows; None for no rows."""
    table = _read_file(output, path)
    totals: bytes = table.schema.metadata[_TOTALS_KEY]
    # Modification times are needed for the parts' names only; merged parts have none.
    names = [name for name in table.column_names if name != "mtime_ns"]
    return totals, table.replace_schema_metadata().select(names) if len(table) else None


def find_rows(output: Folder, names: Iterable[str], keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of some keys, each with the host that checked it."""
    wanted = pa.array(sorted(keys), pa.string())
    for name in names:
        table = _read_file(output, part_path(name))
        host = table.schema.metadata.get(_HOST_KEY, b"unknown").decode()
        for row in table.filter(pc.is_in(table["key"], wanted.cast(table["key"].type))).to_pylist():
            yield host, row


def part_runs(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield runs of consecutive parts that have about MERGED_ROWS rows each."""
    run, num_rows = list[str](), 0
    for name in names:
        run.append(name)
        num_rows += num_rows_of(name)
        if num_rows >= MERGED_ROWS:
            yield run
            run, num_rows = [], 0
    if run:
        yield run


def runs_to_merge(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the runs of parts that workers merge for the one that plans, see `part_runs`; none of few parts."""
    if len(names) > MERGED_ABOVE:
        yield from part_runs(names)


def _merged_path(run: Sequence[str]) -> str:
    return f"{MERGED}/{sha256_hex(canonical_json(run))[:32]}.arrow"


def merge_parts(output: Folder, run: Sequence[str], before_rename: Callable[[], None] | None = None) -> None:
    """Write a run of parts as one file, sorted by key, unless it is there."""
    path = _merged_path(run)
    if output.stat(path) is None:
        table, totals = read_parts(output, run)
        write_rows(output, path, _without_dictionaries(table), totals, before_rename)


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """Return a table with the types of a part, because Arrow does not concatenate all kinds of dictionaries."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table[field.name].cast(field.type.value_type))
    return table


def read_inventory(output: Folder, names: Sequence[str]) -> tuple[pa.Table, Listing]:
    """Read all parts of an inventory, from the merged files if all of these are there; see read_parts."""
    there = {f"{MERGED}/{entry.name}" for entry in output.scan(MERGED)}
    if there and there.issuperset(merged := [_merged_path(run) for run in part_runs(names)]):
        return read_files(output, merged, _READING_THREADS)
    return read_parts(output, names)


def remove_parts(output: Folder) -> None:
    """Remove the whole inventory, so that all images are checked again."""
    output.remove_tree(MERGED)
    output.remove_tree(PARTS)
