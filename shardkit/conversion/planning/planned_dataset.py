"""What writing and publishing need of a plan, as a file in the work folder: they may run on other hosts than planning.

The rows are in the files of `plan_file`. This file is written after those, by every run: an earlier run's is of no use,
because other images may have been rejected.
"""

import io
import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit import naming
from shardkit.conversion.inventory.schema import REJECTED_SCHEMA, Reject
from shardkit.conversion.planning.plan import with_late
from shardkit.conversion.planning.plan_file import SHARDS_PER_FILE, ShardTask, rows_path
from shardkit.dataset.manifest import Source
from shardkit.errors import MachineError
from shardkit.naming import ShardName
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.run_token import Fence
from shardkit.storage import Folder
from shardkit.storage.retry import retried

PATH = f"{naming.WORK_FOLDER}/planned.parquet"
_KEY = b"shardkit.planned"


class PlannedSplit(NamedTuple):
    """A split of a plan.

    Attributes:
        name: Its name.
        num_bytes: Size of the raw files in bytes.
        shard_counts: Number of examples of each shard.
    """

    name: str
    num_bytes: int
    shard_counts: list[int]


@dataclass(frozen=True, slots=True)
class PlannedDataset:
    """A plan without its rows.

    Attributes:
        output: The folder that holds the work folder.
        run: Value of the token of the run that planned.
        digest: The plan's digest.
        classes: Class names in label order.
        source: The source, as the manifest describes it.
        splits: The splits, in the order in which they are written.
        rejected: Rejected rows, with REJECTED_SCHEMA, sorted by key.
        num_listed: Number of rows of the inventory.
        finished_before: Number of shards that were finished when the run planned.
        options: Options of the conversion.
    """

    output: Folder
    run: str
    digest: str
    classes: list[str]
    source: Source
    splits: list[PlannedSplit]
    rejected: pa.Table
    num_listed: int
    finished_before: int
    options: ConvertOptions

    @property
    def tasks(self) -> list[ShardTask]:
        """The tasks of all shards, in the order of their row groups."""
        names = [
            ShardName(split.name, i, len(split.shard_counts))
            for split in self.splits
            for i in range(len(split.shard_counts))
        ]
        return [ShardTask(name, row_group) for row_group, name in enumerate(names)]

    @property
    def shard_counts(self) -> dict[ShardName, int]:
        """Number of examples of each shard."""
        counts = (count for split in self.splits for count in split.shard_counts)
        return dict(zip((task.name for task in self.tasks), counts, strict=True))

    @property
    def num_examples(self) -> int:
        """Number of examples of all splits."""
        return sum(sum(split.shard_counts) for split in self.splits)

    @property
    def num_bytes(self) -> int:
        """Size of the raw files of all splits in bytes."""
        return sum(split.num_bytes for split in self.splits)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the plan."""
        with self.output.open(rows_path(0)) as file:
            return pq.read_schema(file).remove_metadata()

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the rows of the plan, in the order in which they are written."""
        num_shards = len(self.tasks)
        for first in range(0, num_shards, SHARDS_PER_FILE):
            with self.output.open(rows_path(first)) as file:
                plan = pq.ParquetFile(file)
                for row_group in range(plan.num_row_groups):
                    yield plan.read_row_group(row_group)

    def with_late(self, late: Iterable[Reject]) -> pa.Table:
        """Return the rejected rows of the plan and of the writers, sorted by key."""
        return with_late(self.rejected, late)

    def unfinished(self, finished: Iterable[ShardName]) -> list[ShardTask]:
        """Return the tasks of the other shards in the order in which to start them.

        No worker begins a large shard when others are done. The shards of one split have the same size, nearly.
        """
        mean_bytes = {split.name: split.num_bytes / len(split.shard_counts) for split in self.splits}
        done = set(finished)
        left = [task for task in self.tasks if task.name not in done]
        return sorted(left, key=lambda task: -mean_bytes[task.name.split])

    def write(self, fence: Fence) -> None:
        """Write the file, unless the run has ended."""
        written = {
            "run": self.run,
            "digest": self.digest,
            "classes": self.classes,
            "source": self.source.model_dump(mode="json"),
            "splits": self.splits,
            "num_listed": self.num_listed,
            "finished_before": self.finished_before,
            "bit_depth": self.options.stored.bit_depth,
        }
        out = io.BytesIO()
        pq.write_table(self.rejected.replace_schema_metadata({_KEY: json.dumps(written).encode()}), out)
        fence.write(PATH, out.getvalue())


def read_planned(output: Folder, options: ConvertOptions) -> PlannedDataset:
    """Return what this run's planning wrote; see find_planned.

    Raises:
        MachineError: There is no plan.
    """
    planned = find_planned(output, options)
    if planned is None:
        msg = (
            f"{output.url}/{PATH}: host {platform.node()} does not see the plan; every worker must reach OUTPUT under "
            "the same path"
        )
        raise MachineError(msg)
    return planned


def find_planned(output: Folder, options: ConvertOptions) -> PlannedDataset | None:
    """Return what the last run that planned wrote; None if there is no plan.

    Args:
        output: The folder that holds the work folder.
        options: Options of the conversion.
    """
    if output.stat(PATH) is None:
        return None
    # Not `pq.read_table`, which imports pyarrow.dataset at the start of every conversion.
    rejected = pq.ParquetFile(io.BytesIO(retried(lambda: output.read(PATH)))).read()
    written = _metadata(rejected.schema)
    written["source"] = Source(**written["source"])
    written["splits"] = [PlannedSplit(*split) for split in written["splits"]]
    options = options.changed({"bit_depth": written.pop("bit_depth")})
    return PlannedDataset(
        output, **written, options=options, rejected=rejected.cast(REJECTED_SCHEMA).replace_schema_metadata()
    )


def planned_source(output: Folder) -> Source | None:
    """Return the source of the last run that planned; None if there is no plan."""
    if output.stat(PATH) is None:
        return None
    return Source(**_metadata(pq.read_schema(io.BytesIO(output.read(PATH))))["source"])


class PlannedFacts(NamedTuple):
    """What planning found and writing needs: the classes in label order, and the value of `bit_depth`."""

    classes: tuple[str, ...]
    bit_depth: str


_facts: dict[str, PlannedFacts] = {}  # by the plan's digest, which says what they are


def planned_facts(output: Folder, plan_digest: str) -> PlannedFacts:
    """Return the facts of a plan; each worker process reads them once.

    Args:
        output: The folder that holds the work folder.
        plan_digest: The plan's digest.
    """
    if plan_digest not in _facts:
        written = _metadata(pq.read_schema(io.BytesIO(retried(lambda: output.read(PATH)))))
        _facts[written["digest"]] = PlannedFacts(tuple(written["classes"]), written["bit_depth"])
    return _facts[plan_digest]


def _metadata(schema: pa.Schema) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(schema.metadata[_KEY])
    return written
