"""Plan, write and publish the staged rows of a PCollection, in tasks of a job without a driver.

Each task may be done again, also after a later one: planning is a pure function of the rows, and writing and publishing
do nothing that is done already.
"""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.inventory.schema import REJECTED_SCHEMA, Reject
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.options import ConvertOptions
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.planning.plan_file import ShardTask, largest_first
from shardkit.conversion.staging.records import refuse_readings
from shardkit.conversion.staging.rows import KINDS
from shardkit.conversion.staging.staged_source import StagedSource, merge_equal_rows
from shardkit.conversion.staging.stager import StagedPart, refuse_kinds
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import finished_shards
from shardkit.conversion.writing.output.shard_reports import late_rejects, raise_failures, remove_stale_reports
from shardkit.conversion.writing.publishing import check_finished_shards, publish
from shardkit.conversion.writing.refusals import ListingCheck
from shardkit.conversion.writing.reject_limit import RejectLimit
from shardkit.conversion.writing.rejected import REJECTED_IN_WORK, enforce_limit
from shardkit.conversion.writing.shard import WriteJob, WriteOptions
from shardkit.conversion.writing.source_plan import plan_inventory
from shardkit.dataset.manifest import Manifest
from shardkit.errors import DataError, ShardkitError
from shardkit.parallel.progress import Level, Silent
from shardkit.parallel.run_token import Fence, Run, RunToken, refuse_live
from shardkit.storage import Folder, LocalFolder, open_folder, os_errors_as, remove_temporaries
from shardkit.storage.kernel_locks import locked

_LOG = logging.getLogger("shardkit")
_EMPTY = (
    "the PCollection has no rows, and a dataset has at least one example; look at the steps before it: a filter may "
    "drop everything, or a pattern match no file"
)


@dataclass(frozen=True, slots=True)
class StagedConversion:
    """The conversion of staged rows; small and pickled into a job.

    Attributes:
        output_url: The output folder.
        options: Options of the conversion.
        limit: Maximum number or share of rejected images.
        overwrite: Whether a different dataset in the output may be removed.
        token: Value of the run's token, which all tasks of the job share.
    """

    output_url: str
    options: ConvertOptions
    limit: RejectLimit
    overwrite: bool
    token: str

    def plan(self, staged: Sequence[StagedPart]) -> tuple[str, list[ShardTask], WriteOptions]:
        """Decide the split, shard and position of every example, and write the plan.

        Args:
            staged: The parts of the inventory, in any order.

        Returns:
            The plan's digest, the tasks of the shards that are not finished, the largest first, and their options.

        Raises:
            CallError: The options do not fit the rows, or the output holds files of others.
            DataError: There is nothing to write, too many rows are rejected, two rows of one key differ, or the output
                holds a different dataset.
            MachineError: Another run writes into the output, or the disk or the network failed.
        """
        output = open_folder(self.output_url)
        with _errors(output), locked(output):
            outputs.refuse_foreign(output)
            output.create()
            if not isinstance(output, LocalFolder):
                refuse_live(output, self.token)
            run = Run(output, self.token)
            run.start()
            try:
                remove_temporaries(output)
                return self._planned(output, staged, run)
            except ShardkitError:
                with contextlib.suppress(OSError):  # an unreachable output must not hide the original error
                    run.end() if outputs.finished(output) is None else run.finish()
                raise

    def _planned(
        self, output: Folder, staged: Sequence[StagedPart], run: Run
    ) -> tuple[str, list[ShardTask], WriteOptions]:
        output.remove(REJECTED_IN_WORK)  # of an earlier run
        plan, _ = self._plan(output, staged)
        enforce_limit(output, self.limit, plan.source.num_files, plan.rejected)
        options = WriteOptions(tuple(plan.classes), self.options.stored_form(), self.options.max_file_bytes)
        wanted = plan.description()
        if not self.overwrite and outputs.refuse_different(output, wanted) is not None:
            return plan.digest, [], options
        pending = None if outputs.finished(output) else plan_file.read_description(output)
        if pending is None or outputs.difference(pending, wanted):
            outputs.clear(output)
            plan_file.write_plan(output, plan)
        run.start(plan.digest)
        tasks = plan_file.shard_tasks(plan)
        finished = finished_shards(output, [task.name for task in tasks], plan.digest)
        remove_stale_reports(output, finished)
        return plan.digest, largest_first([one for one in tasks if one.name not in finished], plan), options

    def _plan(self, output: Folder, staged: Sequence[StagedPart]) -> tuple[Plan, pa.Table]:
        """Return the plan, and the rows that staging rejected."""
        if not staged:
            raise DataError(_EMPTY)
        kinds = {one.kind: one.key for one in sorted(staged, reverse=True) if one.kind}
        refuse_kinds(kinds)
        refuse_readings({one.reading: one.key for one in sorted(staged, reverse=True) if one.reading})
        source = StagedSource(output, next((kind for kind in KINDS if kind in kinds), "label"))
        ListingCheck.of(source, self.options, None, is_explicit=True).check_options(source.schema)
        # A bundle that was tried again has the same name.
        table, totals = parts.read_parts(output, sorted({one.name for one in staged}))
        table = merge_equal_rows(table)
        rejected = table.select(REJECTED_SCHEMA.names).filter(pc.is_valid(table["reason"])).cast(REJECTED_SCHEMA)
        inventory = Inventory.of(source, table, totals)
        return plan_inventory(inventory, self.options, _Logging(), is_explicit=True), rejected

    def write(self, task: ShardTask, plan_digest: str, options: WriteOptions) -> None:
        """Write a shard, unless it is finished; see `WriteJob.write`."""
        output = open_folder(self.output_url)
        fence = Fence(output, RunToken(self.token, plan_digest), is_remote=True)
        WriteJob(output, options).write(task, fence)

    def publish(self, staged: Sequence[StagedPart]) -> tuple[Manifest, list[Reject]]:
        """Check the finished shards, write the manifest, and remove what was staged.

        Args:
            staged: See `plan`.

        Returns:
            The manifest, and what was rejected after staging.

        Raises:
            DataError: A writer failed because of its images, or a shard is damaged.
            MachineError: A shard is missing, another run took over, or the disk or the network failed.
        """
        output = open_folder(self.output_url)
        with _errors(output), locked(output):
            run = Run(output, self.token)
            there = outputs.finished(output)
            if there is not None:
                run.finish()
                return there, []
            plan, staged_rejects = self._plan(output, staged)
            run.token = RunToken(self.token, plan.digest)
            with run.checked():
                names = [task.name for task in plan_file.shard_tasks(plan)]
                raise_failures(output, names, run.token)
            late = late_rejects(output, plan.digest)
            rejected = plan.with_late(late)
            enforce_limit(output, self.limit, plan.source.num_files, rejected)
            remove_temporaries(output)  # left by workers that died and by superfluous copies of tasks
            shards = check_finished_shards(output, names, plan.digest)
            run.check()
            manifest = publish(output, plan, shards, late)
            run.finish()
        known = set(zip(staged_rejects["key"].to_pylist(), staged_rejects["reason"].to_pylist(), strict=True))
        rows = (Reject(**row) for row in rejected.to_pylist())
        return manifest, [one for one in rows if (one.key, one.reason) not in known]


@contextlib.contextmanager
def _errors(output: Folder) -> Iterator[None]:
    with os_errors_as("write into the output", output.url):
        yield


class _Logging(Silent):
    """Writes messages into the worker's log, which engines show."""

    def say(self, text: str, level: Level = "info") -> None:
        """See ProgressListener."""
        _LOG.log(logging.WARNING if level == "warning" else logging.INFO, "%s", text)
