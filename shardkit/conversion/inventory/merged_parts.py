"""Merged parts: sorted files of about a million rows, which the workers of an engine make of many small parts.

A billion images leave 7.8 million parts, which one worker would read for hours. The parts stay for the next run, which
looks for them by name. A merged file's name is a hash of the names of its parts, so it is found again while they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from shardkit import naming
from shardkit.conversion.inventory.parts import (
    PARTS,
    ListingTotals,
    num_rows_of,
    read_files,
    read_parts,
    write_rows,
)
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.storage import Folder

MERGED = f"{naming.WORK_FOLDER}/merged-inventory"
MERGED_ROWS = 1 << 20  # of a file: 0.3 GiB of memory for the worker that merges them
# Planning reads so many parts from a store in 13 s: 50 ms each, 32 at once. A million decoded images have 8,000 parts.
MERGED_ABOVE = 1 << 13
_READING_THREADS = 2  # of files with so many rows: 4 of them are ahead of the one that is added


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


def read_inventory(output: Folder, names: Sequence[str]) -> tuple[pa.Table, ListingTotals]:
    """Read all parts of an inventory, from the merged files if all of these are there; see read_parts."""
    there = {f"{MERGED}/{entry.name}" for entry in output.scan(MERGED)}
    if there and there.issuperset(merged := [_merged_path(run) for run in part_runs(names)]):
        return read_files(output, merged, _READING_THREADS)
    return read_parts(output, names)


def rewrite_part(output: Folder) -> None:
    """Prepare to write a part again under its name: remove the merged files, which hold the earlier one."""
    output.remove_tree(MERGED)


def remove_parts(output: Folder) -> None:
    """Remove the whole inventory, so that all images are checked again."""
    output.remove_tree(MERGED)
    output.remove_tree(PARTS)
