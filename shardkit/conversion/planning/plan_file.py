"""The plan on disk: Parquet files with one row group per shard, so that a worker reads only its own rows.

Rows are not part of the pipeline's graph, which protobuf limits to 2 GB and Dataflow to far less. Each file holds
SHARDS_PER_FILE shards: a worker reads a file's whole footer for each shard, about a kilobyte a row group, so that one
file of 8,000 shards would cost 8 MB a task and 63 GB in all. A small JSON file, written last, describes the plan.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit import naming, software
from shardkit.conversion.planning.plan import Plan
from shardkit.errors import MachineError, StaleRunError
from shardkit.hashing import canonical_json
from shardkit.storage import Folder

PATH = f"{naming.WORK_FOLDER}/plan.json"
FOLDER = f"{naming.WORK_FOLDER}/plan"
SHARDS_PER_FILE = 64
_DIGEST_KEY = b"shardkit.plan_digest"
_SOFTWARE_KEY = b"shardkit.software"


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One element of the write pipeline: a shard, and the number of its row group in the plan, over all files."""

    name: naming.ShardName
    row_group: int


def shard_tasks(plan: Plan) -> list[ShardTask]:
    """Return the tasks of all shards, in the order of their row groups."""
    names = _shard_names({split.name: split.num_shards for split in plan.splits})
    return [ShardTask(name, row_group) for row_group, name in enumerate(names)]


def _shard_names(num_shards: dict[str, int]) -> list[naming.ShardName]:
    return [naming.ShardName(split, i, num) for split, num in num_shards.items() for i in range(num)]


def rows_path(row_group: int) -> str:
    """Return the path of the file that holds a shard's rows.

    Args:
        row_group: Number of the shard's row group, counted over all files.
    """
    return f"{FOLDER}/{row_group // SHARDS_PER_FILE:06d}.parquet"


def write_plan(output: Folder, plan: Plan) -> None:
    """Write the plan into the work folder."""
    metadata = {_DIGEST_KEY: plan.digest.encode(), _SOFTWARE_KEY: canonical_json(software.versions())}
    schema = plan.schema.with_metadata(metadata)
    slices = _slices(plan)
    for first in range(0, plan.num_shards, SHARDS_PER_FILE):
        with (
            output.atomic_write(rows_path(first)) as file,
            pq.ParquetWriter(file, schema, compression="lz4", use_dictionary=False) as writer,
        ):
            for start, count in islice(slices, SHARDS_PER_FILE):
                writer.write_table(plan.rows(start, count), row_group_size=count)
    num_shards = {split.name: split.num_shards for split in plan.splits}
    with output.atomic_write(PATH) as file:
        file.write(canonical_json({"description": plan.description(), "num_shards": list(num_shards.items())}))


def _slices(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the first row and the number of rows of each shard."""
    start = 0
    for split in plan.splits:
        for count in split.shard_counts:
            yield start, count
            start += count


def remove_plan(output: Folder) -> None:
    """Remove the plan; its description first, so that a partial plan never looks complete."""
    output.remove(PATH)
    output.remove_tree(FOLDER)


def read_description(output: Folder) -> dict[str, Any] | None:
    """Return Plan.description() of the plan in the work folder, or None if there is no plan."""
    written = _read(output)
    return None if written is None else dict(written["description"])


def read_shard_names(output: Folder) -> list[naming.ShardName]:
    """Return the shards of the plan in the work folder; empty if there is no plan."""
    written = _read(output)
    return [] if written is None else _shard_names(dict(written["num_shards"]))


def _read(output: Folder) -> dict[str, Any] | None:
    if output.stat(PATH) is None:
        return None
    try:
        written = json.loads(output.read(PATH))
        return {"description": dict(written["description"]), "num_shards": dict(written["num_shards"])}
    except (ValueError, KeyError, TypeError, RecursionError):  # damaged: like shards without a plan
        return None


def read_shard_rows(output: Folder, row_group: int, plan_digest: str) -> pa.Table:
    """Return the rows of one shard, in the order in which they are written.

    Args:
        output: The folder that holds the work folder.
        row_group: Number of the shard's row group, counted over all files.
        plan_digest: Digest of this run's plan.

    Raises:
        StaleRunError: The plan in the work folder has another digest.
        MachineError: This worker has other library versions and would write other bytes.
    """
    path = rows_path(row_group)
    with output.open(path) as file:
        plan = pq.ParquetFile(file)
        metadata = plan.schema_arrow.metadata
        found = metadata[_DIGEST_KEY].decode()
        if found != plan_digest:
            msg = f"{output.url}/{path}: has digest {found}, this run's plan has {plan_digest}; another run wrote it"
            raise StaleRunError(msg)
        _refuse_other_software(json.loads(metadata[_SOFTWARE_KEY]))
        return plan.read_row_group(row_group % SHARDS_PER_FILE)


def _refuse_other_software(planned: dict[str, str]) -> None:
    found = software.difference(planned, software.versions())
    if found:
        command = software.restoring_command(planned)
        how = f": `{command}`" if command else ""
        msg = f"this worker writes other bytes than planned: {found}; install the same versions on every worker{how}"
        raise MachineError(msg)
