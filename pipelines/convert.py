"""The whole conversion: inventory, plan, write, proof, publish; it goes on where an earlier run was interrupted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from shardkit import software
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, DataError, MachineError, ShardkitError, StaleRunError
from shardkit.inventory import inventory as inventories
from shardkit.inventory.inventory import Facts
from shardkit.naming import MANIFEST, WORK_FOLDER, ShardName, printable
from shardkit.pipelines.inventory import FAILURE, PART_NAMES, TakeInventory, part_groups, part_names
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import ProgressListener, run_with_progress
from shardkit.pipelines.write import WriteShards
from shardkit.planning import plan_file
from shardkit.planning.duplicates import DUPLICATE
from shardkit.planning.options import ConvertOptions
from shardkit.planning.plan import Plan, make_plan
from shardkit.planning.plan_file import ShardTask
from shardkit.sources import Source, SourceOptions, open_source
from shardkit.storage.folders import TEMPORARY, Folder, explained, open_folder, remove_temporaries
from shardkit.storage.output_lock import locked
from shardkit.writing import output_folder as outputs
from shardkit.writing import shard
from shardkit.writing.publishing import proved_shards, publish, rejected_parquet
from shardkit.writing.refusals import Existing, ListingCheck, refuse_output
from shardkit.writing.reject_limit import RejectLimit
from shardkit.writing.run_log import RunLog
from shardkit.writing.run_token import Run, RunToken, claimed
from shardkit.writing.shard_reports import errors, forget_reports, late_rejects

# A conversion that fails names this many of its bad files; all of them are in the work folder.
REJECTED_SHOWN = 10
REJECTED_IN_WORK = f"{WORK_FOLDER}/rejected.parquet"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished conversion.

    Attributes:
        manifest: of the dataset.
        seconds: of this run.
        finished_before: how many of its shards an earlier run had finished.
        unchanged: an earlier run had finished the whole of it.
    """

    manifest: Manifest
    seconds: float
    finished_before: int
    unchanged: bool = False


def take_inventory(
    source: Source,
    work: Folder,
    run: RunToken,
    options: ConvertOptions,
    runner: RunnerConfig,
    listener: ProgressListener,
    existing: Existing | None = None,
) -> tuple[pa.Table, Facts]:
    """List and check a source, in parts below the work folder.

    Args:
        source: The source.
        work: The folder whose work folder takes the parts.
        run: The run that the workers belong to.
        options: Options of the conversion.
        runner: How the pipeline runs.
        listener: Shows the progress.
        existing: The dataset in the output that must not be replaced; None if there is none.

    Returns:
        The whole inventory sorted by key, and what its listings say next to their rows.

    Raises:
        CallError: the options do not fit the source.
        DataError: a file of labels cannot be read at all, or the output holds a dataset of another source.
        MachineError: a worker does not see what the driver sees, or the disk, the network or the runner failed.
    """
    listing_check = ListingCheck(options, source.classes, existing)
    listing_check.check_options(source.schema)
    for path in (PART_NAMES, FAILURE):  # of an earlier run: of a source without any file, none is written
        work.remove(path)
    groups = part_groups(source)
    pipeline = runner.pipeline()
    _ = (
        pipeline
        | "Parts" >> beam.Create(groups, reshuffle=False)  # (index, Group)
        | "TakeInventory"
        >> TakeInventory(source, work, options.check, run, listing_check if listing_check.is_needed else None)
    )
    phase = "checking" if options.check == "decode" else "listing"
    run_with_progress(
        runner, pipeline, listener, phase=phase, total=None, count=lambda: inventories.count_in_parts(work)
    )
    return inventories.read_parts(work, part_names(work, len(groups)))


@dataclass
class Conversion:
    """One run of `shardkit convert`.

    Attributes:
        limit: how many bad images are put up with.
        overwrite: whether a different dataset in the output may be removed.
    """

    source_url: str
    source_options: SourceOptions
    output_url: str
    options: ConvertOptions
    runner: RunnerConfig
    limit: RejectLimit
    overwrite: bool
    listener: ProgressListener
    log: RunLog = field(default_factory=RunLog)

    def run(self) -> Outcome:
        """Convert.

        Raises:
            CallError: the options do not fit, or the output holds something else.
            DataError: too many bad images, a source that changed meanwhile, nothing to convert, or an output that holds
                a different conversion, without `overwrite`.
            MachineError: the disk, the network or the runner failed. What is finished is kept for the next run.
        """
        output = open_folder(self.output_url)
        if output.real("") == open_folder(self.source_url).real(""):
            msg = f"{output.url}: OUTPUT is SOURCE itself; choose another folder"
            raise CallError(msg)
        source = open_source(self.source_url, self.source_options, output=output, work=output)
        with explained("write into the output", output.url):
            outputs.refuse_foreign(output)
            # Only with the token written, none of the temporary files is of a writer that may still finish it.
            with locked(output), claimed(output) as run:
                remove_temporaries(output)
                try:
                    outcome = self._convert(source, output, run)
                except StaleRunError:
                    raise
                except ShardkitError:
                    # Refused: the dataset that is there stays as it was. What the message names stays too.
                    if output.stat(MANIFEST) is not None and output.stat(REJECTED_IN_WORK) is None:
                        run.finish()
                    raise
                self.log.write(output)
                # The lock goes with the folder: a process that waits for it finds a finished dataset.
                run.finish()
                return outcome

    def _convert(self, source: Source, output: Folder, run: Run) -> Outcome:
        self.listener.say(source.describe())
        output.remove(REJECTED_IN_WORK)  # of an earlier run
        existing = self._refuse_output(source, output)
        with run.checked():
            inventory, facts = take_inventory(
                source, output, run.token, self.options, self.runner, self.listener, existing
            )
        self.log.add("inventory", num_files=len(inventory), check=self.options.check)
        plan = make_plan(
            inventory,
            self.options,
            layout=source.layout,
            skipped=facts.skipped,
            classes=source.classes or facts.class_names(),
        )
        del inventory
        for note in plan.notes:
            self.listener.say(f"note: {note}")
        self._enforce_limit(output, plan.source.num_files, plan.rejected)
        run.check()
        there = self._already_there(output, plan)
        if there is not None:
            return Outcome(there, self.log.seconds, plan.num_shards, unchanged=True)
        zlib = software.zlib_version()  # may differ between runs that write the same bytes
        self.log.add("plan", num_examples=plan.num_examples, num_shards=plan.num_shards, zlib=zlib)
        tasks = plan_file.shard_tasks(plan)
        token = run.start(plan.digest)
        with run.checked():
            finished_before = self._write(source, output, plan, tasks, token)
        late = late_rejects(output, plan.digest)
        self._enforce_limit(output, plan.source.num_files, plan.with_late(late))
        remove_temporaries(output)  # of workers that died, and of copies of tasks that are not needed any more
        shards = proved_shards(output, [task.name for task in tasks], plan.digest)
        run.check()
        manifest = publish(output, plan, shards, late)
        rate = plan.num_examples / self.log.seconds
        self.log.add("publish", images_per_second=round(rate, 1), source_bytes=plan.source.num_bytes)
        return Outcome(manifest, self.log.seconds, finished_before)

    def _refuse_output(self, source: Source, output: Folder) -> Existing | None:
        """Refuse an output that holds something else, before any image is decoded."""
        if self.overwrite:
            return None
        there = refuse_output(output, source, self.options)
        return None if there is None else Existing.of(there)

    def _already_there(self, output: Folder, plan: Plan) -> Manifest | None:
        """Return the finished dataset if it is this conversion's; else make the output ready, or refuse it."""
        wanted = plan.description()
        if not self.overwrite and (there := outputs.refuse_different(output, wanted)) is not None:
            return there
        pending = None if output.stat(MANIFEST) else plan_file.read_description(output)
        if pending is not None and not outputs.difference(pending, wanted):
            return None
        outputs.clear(output)
        plan_file.write_plan(output, plan)
        return None

    def _write(self, source: Source, output: Folder, plan: Plan, tasks: list[ShardTask], run: RunToken) -> int:
        """Write what is missing; how many shards were there before."""
        finished = shard.finished_shards(output, [task.name for task in tasks], run.plan_digest)
        unfinished = [task for task in tasks if task.name not in finished]
        if len(unfinished) < len(tasks):
            self.listener.say(f"going on: {len(tasks) - len(unfinished)} of {len(tasks)} shards are finished already")
        forget_reports(output, finished)
        options = shard.WriteOptions(tuple(plan.classes), self.options.resize, self.options.quality)
        pipeline = self.runner.pipeline()
        _ = (
            pipeline
            | "Shards" >> beam.Create(list(enumerate(unfinished)), reshuffle=False)  # (index, ShardTask)
            | "WriteShards" >> WriteShards(source.folder, output, options, run)
        )
        counts = dict(
            zip((task.name for task in tasks), (n for split in plan.splits for n in split.shard_counts), strict=True)
        )
        run_with_progress(
            self.runner,
            pipeline,
            self.listener,
            phase="writing",
            total=plan.num_examples,
            count=lambda: images_written(output, counts),
        )
        self.log.add("write", num_shards=len(unfinished), finished_before=len(tasks) - len(unfinished))
        _raise_failures(output, unfinished, run)
        return len(tasks) - len(unfinished)

    def _enforce_limit(self, output: Folder, num_files: int, rejected: pa.Table) -> None:
        rejected = rejected.filter(pc.not_equal(rejected["reason"], DUPLICATE))
        if self.limit.allows(len(rejected), num_files):
            return
        with output.writing(REJECTED_IN_WORK) as file:
            file.write(rejected_parquet(rejected))
        raise DataError(_too_many(self.limit, num_files, rejected, f"{output.url}/{REJECTED_IN_WORK}"))


def images_written(output: Folder, counts: dict[ShardName, int]) -> int:
    """Images in finished shards, and in unfinished ones as far as their bytes tell."""
    entries = {entry.name: entry.num_bytes for entry in output.scan()}
    done = [name for name in counts if name.index in entries]
    images = sum(counts[name] for name in done)
    num_bytes = sum(entries.get(name.records, 0) for name in done)
    unfinished_bytes = sum(size for name, size in entries.items() if name.startswith(TEMPORARY))
    return images + (unfinished_bytes * images // num_bytes if num_bytes else 0)


def _raise_failures(output: Folder, tasks: Iterable[ShardTask], run: RunToken) -> None:
    names = [task.name for task in tasks]
    finished = shard.finished_shards(output, names, run.plan_digest)
    missing = [name for name in names if name not in finished]
    if failed := errors(output, run, missing):
        worst = max(failed, key=lambda report: report.exit_code)
        if worst.exit_code == DataError.exit_code:
            # A file is no longer what its check saw, though its size and time may be: look at all of them again.
            output.remove_tree(inventories.PARTS)
        more = f" ({len(failed)} shards failed in all)" if len(failed) > 1 else ""
        raise (MachineError if worst.exit_code == MachineError.exit_code else DataError)(worst.error + more)
    if missing:
        first = missing[0].stem
        msg = f"{output.url}: {len(missing)} shards are missing, {first} first, and no worker said why; disk full?"
        raise MachineError(msg)


def _too_many(limit: RejectLimit, num_files: int, rejected: pa.Table, where: str) -> str:
    rows: list[dict[str, Any]] = rejected.slice(0, REJECTED_SHOWN).to_pylist()
    reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(rejected["reason"].to_pylist()).most_common())
    allowed = f"more than --max-rejected {limit.text} allows"
    lines = [f"{len(rejected)} of {num_files} images and records are bad, {allowed} ({reasons}):"]
    lines += [f"  {printable(row['key'])}: {row['reason']}: {row['message']}" for row in rows]
    if len(rejected) > REJECTED_SHOWN:
        lines.append(f"  … and {len(rejected) - REJECTED_SHOWN} more, all in {where}")
    return "\n".join([*lines, "mend or remove them, or allow more with --max-rejected; nothing was published"])
