"""The plan on disk: a Parquet file with one row group per shard, so that a worker reads only its own rows.

Rows are not part of the pipeline's graph, which protobuf limits to 2 GB and Dataflow to far less.
"""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit import naming, software
from shardkit.errors import MachineError, StaleRunError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.planning.plan import Plan
from shardkit.storage import Folder

PATH = f"{naming.WORK_FOLDER}/plan.parquet"
_DESCRIPTION_KEY = b"shardkit.plan"
_NUM_SHARDS_KEY = b"shardkit.num_shards"  # of each split, as JSON


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One element of the write pipeline: a shard, and its row group in the plan."""

    name: naming.ShardName
    row_group: int


def shard_tasks(plan: Plan) -> list[ShardTask]:
    """Return the tasks of all shards, in the order of their row groups."""
    names = _shard_names({split.name: split.num_shards for split in plan.splits})
    return [ShardTask(name, row_group) for row_group, name in enumerate(names)]


def _shard_names(num_shards: dict[str, int]) -> list[naming.ShardName]:
    return [naming.ShardName(split, i, num) for split, num in num_shards.items() for i in range(num)]


def write_plan(output: Folder, plan: Plan) -> None:
    """Write the plan into the work folder."""
    metadata = {
        _DESCRIPTION_KEY: canonical_json(plan.description()),
        _NUM_SHARDS_KEY: json.dumps({split.name: split.num_shards for split in plan.splits}).encode(),
    }
    schema = plan.schema.with_metadata(metadata)
    with (
        output.atomic_write(PATH) as file,
        pq.ParquetWriter(file, schema, compression="lz4", use_dictionary=False) as writer,
    ):
        start = 0
        for split in plan.splits:
            for count in split.shard_counts:
                writer.write_table(plan.rows(start, count), row_group_size=count)
                start += count


def read_description(output: Folder) -> dict[str, Any] | None:
    """Return Plan.description() of the plan in the work folder, or None if there is no plan."""
    metadata = _read_metadata(output)
    return None if metadata is None else _description(metadata)


def read_shard_names(output: Folder) -> list[naming.ShardName]:
    """Return the shards of the plan in the work folder; empty if there is no plan."""
    metadata = _read_metadata(output)
    return [] if metadata is None else _shard_names(json.loads(metadata.get(_NUM_SHARDS_KEY, b"{}")))


def _read_metadata(output: Folder) -> dict[bytes, bytes] | None:
    if output.stat(PATH) is None:
        return None
    try:
        with output.open(PATH) as file:
            metadata: dict[bytes, bytes] = pq.ParquetFile(file).schema_arrow.metadata
    except pa.ArrowInvalid:  # damaged: its shards are refused like shards without a plan
        return None
    return metadata


def _description(metadata: dict[bytes, bytes]) -> dict[str, Any]:
    description: dict[str, Any] = json.loads(metadata[_DESCRIPTION_KEY])
    return description


def read_shard_rows(output: Folder, row_group: int, plan_digest: str) -> pa.Table:
    """Return the rows of one shard, in the order in which they are written.

    Args:
        output: The folder that holds the work folder.
        row_group: Number of the shard's row group.
        plan_digest: Digest of this run's plan.

    Raises:
        StaleRunError: The plan in the work folder has another digest.
        MachineError: This worker has other library versions and would write other bytes.
    """
    with output.open(PATH) as file:
        plan = pq.ParquetFile(file)
        found = sha256_hex(canonical_json(json.loads(plan.schema_arrow.metadata[_DESCRIPTION_KEY])))
        if found != plan_digest:
            msg = f"{output.url}/{PATH}: has digest {found}, this run's plan has {plan_digest}; another run wrote it"
            raise StaleRunError(msg)
        _refuse_other_software(_description(plan.schema_arrow.metadata)["software"])
        return plan.read_row_group(row_group)


def _refuse_other_software(planned: dict[str, str]) -> None:
    found = software.difference(planned, software.versions())
    if found:
        msg = f"this worker writes other bytes than planned: {found}; install the same versions on every worker"
        raise MachineError(msg)
