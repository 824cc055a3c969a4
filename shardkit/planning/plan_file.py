"""The plan on disk: a Parquet file with one row group per shard, so that a worker reads its slice and nothing else.

A pipeline's graph never carries rows: protobuf caps it at 2 GB, Dataflow at far less.
"""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit import naming
from shardkit.errors import StaleRunError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.planning.plan import Plan
from shardkit.storage import Folder

PATH = f"{naming.WORK_FOLDER}/plan.parquet"
_DESCRIPTION_KEY = b"shardkit.plan"


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One element of the write pipeline: which shard, and which row group of the plan it is."""

    name: naming.ShardName
    row_group: int


def shard_tasks(plan: Plan) -> list[ShardTask]:
    """Every shard of a plan, in the order of its row groups."""
    names = [
        naming.ShardName(split.name, i, split.num_shards) for split in plan.splits for i in range(split.num_shards)
    ]
    return [ShardTask(name, row_group) for row_group, name in enumerate(names)]


def write_plan(output: Folder, plan: Plan) -> None:
    """Write the plan into the work folder."""
    schema = plan.schema.with_metadata({_DESCRIPTION_KEY: canonical_json(plan.description())})
    with (
        output.writing(PATH) as file,
        pq.ParquetWriter(file, schema, compression="lz4", use_dictionary=False) as writer,
    ):
        start = 0
        for split in plan.splits:
            for count in split.shard_counts:
                writer.write_table(plan.rows(start, count), row_group_size=count)
                start += count


def read_description(output: Folder) -> dict[str, Any] | None:
    """What the plan in the work folder was made from; None where there is none."""
    if output.stat(PATH) is None:
        return None
    with output.open(PATH) as file:
        description: dict[str, Any] = json.loads(pq.ParquetFile(file).schema_arrow.metadata[_DESCRIPTION_KEY])
    return description


def read_shard_rows(output: Folder, row_group: int, plan_digest: str) -> pa.Table:
    """Return the rows of one shard, in the order in which they are written.

    Raises:
        StaleRunError: The plan in the work folder has another digest.
    """
    with output.open(PATH) as file:
        plan = pq.ParquetFile(file)
        found = sha256_hex(canonical_json(json.loads(plan.schema_arrow.metadata[_DESCRIPTION_KEY])))
        if found != plan_digest:
            msg = f"{output.url}/{PATH}: has digest {found}, this run's plan has {plan_digest}; another run wrote it"
            raise StaleRunError(msg)
        return plan.read_row_group(row_group)
