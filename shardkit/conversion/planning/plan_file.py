"""The plan on disk: what writing and publishing need, which may run on other hosts than planning.

`PATH` holds the rejected rows and, in its footer, all that is not a row. It is written last and by each run, because
another run may have rejected other images. The rows are in Parquet files with one row group per shard, so that a worker
reads only its own rows; a run with an equal plan keeps them. Each file holds SHARDS_PER_FILE shards: a worker reads a
file's whole footer for each shard, about a kilobyte a row group, so that one file of 8,000 shards would cost 8 MB a
task and 63 GB in all.
"""

import io
import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shardkit import naming, software
from shardkit.conversion.inventory.columns import REJECTED_SCHEMA, Reject, features_of
from shardkit.conversion.planning.plan import Plan
from shardkit.dataset.features import Feature
from shardkit.dataset.manifest import Source
from shardkit.errors import MachineError, StaleRunError
from shardkit.hashing import canonical_json
from shardkit.naming import ShardName
from shardkit.parquet import ParquetReader
from shardkit.storage import Folder
from shardkit.storage.retry import retried

PATH = f"{naming.WORK_FOLDER}/plan.parquet"
FOLDER = f"{naming.WORK_FOLDER}/plan"
SHARDS_PER_FILE = 64
_KEY = b"shardkit.plan"
_DIGEST_KEY = b"shardkit.plan_digest"
_SOFTWARE_KEY = b"shardkit.software"


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One element of the write pipeline: a shard, the number of its row group over all files, and its plan's digest."""

    name: ShardName
    row_group: int
    plan_digest: str


def shard_tasks(plan: "Plan | PlannedDataset") -> list[ShardTask]:
    """Return the tasks of all shards, in the order of their row groups."""
    digest = plan.digest
    return [ShardTask(name, number, digest) for number, name in enumerate(_shard_names(plan.splits))]


def _shard_names(splits: Iterable[Any]) -> list[ShardName]:
    counts = [(split.name, len(split.shard_counts)) for split in splits]
    return [ShardName(split, number, count) for split, count in counts for number in range(count)]


class PlannedSplit(NamedTuple):
    """A split of a plan."""

    name: str
    num_bytes: int
    shard_counts: list[int]


@dataclass(frozen=True, slots=True)
class PlannedDataset:
    """A plan without its rows."""

    output: Folder  # the folder that holds the work folder
    run: str  # value of the token of the run that planned
    digest: str  # the plan's digest
    description: dict[str, Any]  # Plan.description()
    features: dict[str, Feature]  # the features of the examples
    source: Source  # the source, as the manifest describes it
    splits: list[PlannedSplit]  # the splits, in the order in which they are written
    rejected: pa.Table  # rejected rows, with REJECTED_SCHEMA, sorted by key
    num_listed: int = 0  # number of rows of the inventory
    finished_before: int = 0  # number of shards that were finished when the run planned

    @classmethod
    def of(cls, output: Folder, run: str, plan: Plan) -> "PlannedDataset":
        splits = [PlannedSplit(split.name, split.num_bytes, split.shard_counts) for split in plan.splits]
        features = features_of(plan.schema)
        return cls(output, run, plan.digest, plan.description(), features, plan.source, splits, plan.rejected)

    @property
    def classes(self) -> list[str]:
        return list(self.description["classes"])

    @property
    def bit_depth(self) -> str:
        """The value of `bit_depth`, which planning may have found."""
        return str(self.description["options"]["bit_depth"])

    @property
    def shard_counts(self) -> dict[ShardName, int]:
        """Number of examples of each shard."""
        counts = (count for split in self.splits for count in split.shard_counts)
        return dict(zip(_shard_names(self.splits), counts, strict=True))

    @property
    def num_examples(self) -> int:
        return sum(sum(split.shard_counts) for split in self.splits)

    @property
    def num_bytes(self) -> int:
        """Size of the raw files of all splits in bytes."""
        return sum(split.num_bytes for split in self.splits)

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the rows of the plan, in the order in which they are written."""
        num_shards = len(_shard_names(self.splits))
        for first in range(0, num_shards, SHARDS_PER_FILE):
            with self.output.open(rows_path(first)) as file:
                plan = ParquetReader(file)
                for row_group in range(plan.num_row_groups):
                    yield plan.read_row_group(row_group)

    def with_late(self, late: Iterable[Reject]) -> pa.Table:
        """Return the rejected rows of the plan and of the writers, sorted by key."""
        rows = pa.Table.from_pylist([one._asdict() for one in late], REJECTED_SCHEMA)
        table = pa.concat_tables([self.rejected, rows])
        return table.take(pc.sort_indices(table, [("key", "ascending")]))

    def unfinished(self, finished: Iterable[ShardName]) -> list[ShardTask]:
        """Return the tasks of the other shards in the order in which to start them.

        No worker begins a large shard when others are done. The shards of one split have the same size, nearly.
        """
        mean_bytes = {split.name: split.num_bytes / len(split.shard_counts) for split in self.splits}
        done = set(finished)
        left = [task for task in shard_tasks(self) if task.name not in done]
        return sorted(left, key=lambda task: -mean_bytes[task.name.split])

    def to_bytes(self) -> bytes:
        written = {
            "run": self.run,
            "digest": self.digest,
            "description": self.description,
            "features": {name: one.model_dump(mode="json") for name, one in self.features.items()},
            "source": self.source.model_dump(mode="json"),
            "splits": self.splits,
            "num_listed": self.num_listed,
            "finished_before": self.finished_before,
        }
        out = io.BytesIO()
        pq.write_table(self.rejected.replace_schema_metadata({_KEY: json.dumps(written).encode()}), out)
        return out.getvalue()


def find_planned(output: Folder) -> PlannedDataset | None:
    """Return what the last run that planned wrote; None if there is no plan, or it is damaged."""
    if output.stat(PATH) is None:
        return None
    raw = retried(lambda: output.read(PATH))
    try:
        rejected = ParquetReader(pa.BufferReader(raw)).read()
        written: dict[str, Any] = json.loads(rejected.schema.metadata[_KEY])
        written["features"] = {name: Feature(**one) for name, one in written["features"].items()}
        written["source"] = Source(**written["source"])
        written["splits"] = [PlannedSplit(*split) for split in written["splits"]]
        rejected = rejected.cast(REJECTED_SCHEMA).replace_schema_metadata()
        return PlannedDataset(output, rejected=rejected, **written)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Like shards without a plan.
        return None


def read_planned(output: Folder) -> PlannedDataset:
    """Return what the last run that planned wrote."""
    planned = find_planned(output)
    if planned is None:
        raise MachineError(
            f"{output.url}/{PATH}: host {platform.node()} does not see the plan; every worker must reach OUTPUT under "
            "the same path"
        )
    return planned


@lru_cache(maxsize=16)
def planned_facts(output: Folder, plan_digest: str) -> tuple[tuple[str, ...], str]:
    """Return the classes of a plan and its value of `bit_depth`; each worker process reads them once."""
    planned = read_planned(output)
    _refuse_other_plan(f"{output.url}/{PATH}", planned.digest, plan_digest)
    return tuple(planned.classes), planned.bit_depth


def rows_path(row_group: int) -> str:
    """Return the path of the file that holds a shard's rows, by the number of its row group over all files."""
    return f"{FOLDER}/{row_group // SHARDS_PER_FILE:06d}.parquet"


def write_rows(output: Folder, plan: Plan) -> None:
    """Write the rows of a plan into the work folder."""
    metadata = {_DIGEST_KEY: plan.digest.encode(), _SOFTWARE_KEY: canonical_json(software.versions())}
    schema = plan.schema.with_metadata(metadata)
    counts = [count for split in plan.splits for count in split.shard_counts]
    slices = iter(zip([0, *np.cumsum(counts).tolist()], counts, strict=False))
    for first in range(0, plan.num_shards, SHARDS_PER_FILE):
        with (
            output.atomic_write(rows_path(first)) as file,
            pq.ParquetWriter(file, schema, compression="lz4", use_dictionary=False) as writer,
        ):
            for start, count in islice(slices, SHARDS_PER_FILE):
                writer.write_table(plan.rows(start, count), row_group_size=count)


def remove_plan(output: Folder) -> None:
    """Remove the plan; its rows last, so that a partial plan never looks complete."""
    output.remove(PATH)
    output.remove_tree(FOLDER)


def read_shard_rows(output: Folder, task: ShardTask) -> pa.Table:
    """Return the rows of one shard, in the order of writing; StaleRunError: the plan there has another digest."""
    path = rows_path(task.row_group)
    with output.open(path) as file:
        plan = ParquetReader(file)
        metadata = plan.schema_arrow.metadata
        _refuse_other_plan(f"{output.url}/{path}", metadata[_DIGEST_KEY].decode(), task.plan_digest)
        _refuse_other_software(json.loads(metadata[_SOFTWARE_KEY]))
        return plan.read_row_group(task.row_group % SHARDS_PER_FILE)


def _refuse_other_plan(where: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise StaleRunError(f"{where}: has digest {found}, this run's plan has {wanted}; another run wrote it")


def _refuse_other_software(planned: dict[str, str]) -> None:
    found = software.difference(planned, software.versions())
    if found:
        command = software.restoring_command(planned)
        how = f": `{command}`" if command else ""
        msg = f"this worker writes other bytes than planned: {found}; install the same versions on every worker{how}"
        raise MachineError(msg)
