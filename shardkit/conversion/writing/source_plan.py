"""Plan the conversion of a source: take its inventory and decide where each example goes."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.inventory.merged_parts import read_inventory
from shardkit.conversion.planning.checks.finding import findings_text, refuse_stopping
from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.near_duplicates import compares_pixels
from shardkit.conversion.planning.options import ConvertOptions
from shardkit.conversion.planning.plan import Plan, make_plan
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.appending.addition import Addition
from shardkit.conversion.writing.inventory_merge import InventoryMerge
from shardkit.conversion.writing.inventory_tasks import InventoryJob, PartGroup, part_groups
from shardkit.conversion.writing.planning_limit import refuse_too_many
from shardkit.conversion.writing.refusals import ExistingDataset, ListingCheck
from shardkit.conversion.writing.seen_rejects import refuse_seen_rejects
from shardkit.options.call import Call
from shardkit.parallel.for_each import Executor
from shardkit.parallel.job_progress import StagePhase
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.reports import work_folder
from shardkit.parallel.run_token import Run, claimed
from shardkit.parallel.stages import Stage, run_stages
from shardkit.sources import Source, SourceOptions
from shardkit.sources.ignoring.ignoring_source import unmatched_notes
from shardkit.sources.opening import open_source
from shardkit.sources.recognising.explaining import explained
from shardkit.storage import Folder


def take_inventory(
    source: Source,
    work: Folder,
    run: Run,
    options: ConvertOptions,
    executor: Executor,
    listener: ProgressListener,
    existing: ExistingDataset | None = None,
    *,
    is_explicit: bool = False,
) -> Inventory:
    """List and check a source.

    Args:
        source: The source.
        work: The folder whose work folder receives the parts.
        run: The run that the workers belong to; a failure of one stops all of them.
        options: Options of the conversion.
        executor: Runs the tasks.
        listener: Receives the progress.
        existing: The dataset in the output that must not be replaced; None if there is none.
        is_explicit: Whether the user chose how the source is read.

    Returns:
        The inventory of the source.

    Raises:
        CallError: The options do not fit the source.
        DataError: A file of labels cannot be read at all, or the output holds a dataset of another source.
        MachineError: A worker does not see what the driver sees, or the disk, the network or the engine failed.
    """
    taking = InventoryStage.of(source, work, options, existing, is_remote=executor.is_remote, is_explicit=is_explicit)
    phase = StagePhase(lambda: True, lambda: taking.phase(listener))
    taken = Stage("TakeInventory", taking.groups, taking.job.work, phase)
    run_stages(executor, run, [taken, InventoryMerge(len(taking.groups)).stage], reads=[source.folder])
    return taking.reading.read(work, listener, is_remote=executor.is_remote)


class InventoryReader(Protocol):
    """What reads an inventory that workers have taken: `TakenInventory`, or that of staged rows."""

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory; see `TakenInventory.read`."""
        ...


@dataclass(frozen=True, slots=True)
class TakenInventory:
    """What reads the inventory of a source that workers have taken; small and pickled into a job.

    Attributes:
        source: The source, as it was listed.
        num_groups: Number of groups of its parts.
        options: Options of the conversion.
    """

    source: Source
    num_groups: int
    options: ConvertOptions

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory.

        Args:
            work: The folder whose work folder holds the parts.
            listener: Receives notes.
            is_remote: Whether other hosts may have checked the images.

        Raises:
            DataError: Two listings contradict each other.
            MachineError: A part is missing, an image was rejected that can be read here, or the memory of this host is
                too small.
        """
        names = inventory_tasks.read_part_names(work, self.num_groups)
        refuse_too_many(names, self.options)
        inventory = Inventory.of(self.source, *read_inventory(work, names), parts.Thumbnails(work))
        self.source.check_accounts(inventory.skipped)
        find_host = partial(parts.find_host, work, names) if is_remote else None
        refuse_seen_rejects(self.source, inventory.table, find_host)
        for note in unmatched_notes(self.source, inventory.skipped, inventory.table):
            listener.say(f"note: {note}")
        return inventory


@dataclass(frozen=True, slots=True)
class InventoryStage:
    """The listing and checking of a source, ready to begin.

    Attributes:
        work: The folder whose work folder receives the parts.
        groups: Groups of the source's parts, the items.
        job: Their work.
        reading: What reads the result.
    """

    work: Folder
    groups: Sequence[tuple[int, PartGroup]]
    job: InventoryJob
    reading: TakenInventory

    @classmethod
    def of(
        cls,
        source: Source,
        work: Folder,
        options: ConvertOptions,
        existing: ExistingDataset | None,
        *,
        is_remote: bool,
        is_explicit: bool,
    ) -> "InventoryStage":
        """Prepare an inventory, and remove what an earlier run has left of its results; see take_inventory."""
        options = options.applied()
        if options.splits is not None and not options.splits_of:
            source = source.undivided()
        listing_check = ListingCheck.of(source, options, existing, is_explicit=is_explicit)
        listing_check.check_options(source.schema)
        inventory_tasks.remove_earlier_results(work)
        groups = part_groups(source, is_remote=is_remote)
        needed = listing_check if options.check == "decode" else None
        thumbnails = compares_pixels(options, source.schema.names)
        job = InventoryJob.of(source, options.check, needed, options.max_file_bytes, thumbnails=thumbnails)
        return cls(work, groups, job, TakenInventory(source, len(groups), options))

    def phase(self, listener: ProgressListener) -> Phase:
        """Return the phase in which the work is shown."""
        decodes = self.job.check == "decode" and not self.job.source.is_checked
        # All images are listed before the first one is decoded, so by then the sum of the listed rows is the total.
        count_total = inventory_tasks.listed_rows(self.work).total if decodes else None
        count_rejected = inventory_tasks.rejected_rows(self.work).total
        name = "checking" if decodes else "listing"
        return Phase(listener, name, None, lambda: parts.count_rows(self.work), count_total, count_rejected)


def plan_inventory(
    inventory: Inventory,
    options: ConvertOptions,
    listener: ProgressListener,
    call: Call | None = None,
    earlier: EarlierExamples | None = None,
    *,
    is_explicit: bool = False,
) -> Plan:
    """Plan a conversion; see make_plan. The listener receives the findings that warn.

    Raises:
        DataError: No good image is left.
        CallError: The options do not fit the source, or a finding stops the conversion.
    """
    with listener.phase("planning", None):
        plan = make_plan(inventory, options, earlier, is_explicit=is_explicit)
    plan = replace(plan, findings=tuple(replace(one, call=call) for one in plan.findings))
    if text := findings_text(plan.findings):
        listener.say(text, "warning")
    refuse_stopping(plan.findings)
    return plan


def chooses_reading(source_options: SourceOptions, options: ConvertOptions) -> bool:
    """Return whether the user chose how the source is read: then a reading that looks wrong is not refused."""
    is_stated = source_options.reading is not None and source_options.remembered is None
    return is_stated or source_options.layout is not None or options.classes is not None


def plan_source(
    source_url: str,
    source_options: SourceOptions,
    options: ConvertOptions,
    executor: Executor,
    listener: ProgressListener,
    call: Call | None = None,
    addition: Addition | None = None,
    *,
    explain: bool = False,
) -> Plan:
    """Plan the conversion of a source without an output folder; see planned_source.

    With `explain`, the plan says why the source's layout was chosen.
    """
    with planned_source(source_url, source_options, options, executor, listener, call, addition) as (source, plan):
        if not explain:
            return plan
        reasons = explained(source, source_options, source_url, plan.num_examples, len(plan.classes))
        return replace(plan, layout_reasons=reasons)


@contextlib.contextmanager
def planned_source(
    source_url: str,
    source_options: SourceOptions,
    options: ConvertOptions,
    executor: Executor,
    listener: ProgressListener,
    call: Call | None = None,
    addition: Addition | None = None,
) -> Iterator[tuple[Source, Plan]]:
    """Plan the conversion of a source without an output folder; its images can be read inside the block.

    Images that listing had to unpack lie in a work folder, which is removed at the end.

    Args:
        source_url: The source.
        source_options: How the source is read.
        options: Options of the conversion.
        executor: Runs the inventory.
        listener: Receives messages and progress.
        call: The user's call, for the findings; None where it is not known.
        addition: The dataset that the examples are appended to; None for a new dataset.

    Raises:
        CallError: The options do not fit the source.
        DataError: There is nothing to convert.
        MachineError: The disk, the network or the engine failed.
        AlreadyAppendedError: The dataset has the source already.
        NothingNewError: The dataset has all good images of the source already.
    """
    is_explicit = chooses_reading(source_options, options)
    with work_folder(executor.temp_location) as work:
        with listener.phase("recognising", None):
            source = open_source(source_url, source_options, work=work, tell=listener.say)
        listener.say(source.describe())
        with claimed(work) as run:
            inventory = take_inventory(source, work, run, options, executor, listener, is_explicit=is_explicit)
        earlier = None
        if addition is not None:
            addition.check_features(features_of(source.schema))
            earlier = addition.earlier(source, inventory, options)
        yield source, plan_inventory(inventory, options, listener, call, earlier, is_explicit=is_explicit)
