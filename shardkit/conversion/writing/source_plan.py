"""Plan the conversion of a source: take its inventory and decide where each example goes."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.writing.appending.addition import Addition
from shardkit.conversion.writing.job import Engine, InventoryTask, take_inventory_in_threads
from shardkit.conversion.writing.steps import plan_inventory
from shardkit.layouts import layout_of_title
from shardkit.naming import counted, printable
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.parallel.for_each import Guard, watched
from shardkit.parallel.progress import ProgressListener
from shardkit.parallel.reports import work_folder
from shardkit.parallel.run_token import Run, claimed
from shardkit.parallel.threads import ThreadExecutor
from shardkit.sources import Source, SourceOptions
from shardkit.sources.opening import open_source
from shardkit.storage import Folder

_SHOWN = 2  # files


def take_inventory(
    source: Source,
    work: Folder,
    run: Run,
    options: ConvertOptions,
    executor: ThreadExecutor | Engine,
    listener: ProgressListener,
    *,
    is_explicit: bool = False,
) -> Inventory:
    """List and check a source; a failure of a worker stops all workers of the run."""
    guard = Guard.of(run, executor, [source.folder])
    task = InventoryTask.of(source, guard, options, None, is_explicit=is_explicit)
    if isinstance(executor, Engine):
        watched(run, task.phase(listener), partial(executor.run_job, task))
    else:
        take_inventory_in_threads(task, executor, run, listener)
    return task.read(work, listener, is_remote=executor.is_remote)


def chooses_reading(source_options: SourceOptions, options: ConvertOptions) -> bool:
    """Return whether the user chose how the source is read: then a reading that looks wrong is not refused."""
    is_stated = source_options.reading is not None and source_options.remembered is None
    return is_stated or source_options.layout is not None or options.classes is not None


@contextlib.contextmanager
def planned_source(
    source_url: str,
    source_options: SourceOptions,
    options: ConvertOptions,
    executor: ThreadExecutor | Engine,
    listener: ProgressListener,
    call: Call | None = None,
    addition: Addition | None = None,
    *,
    explain: bool = False,
) -> Iterator[tuple[Source, Plan]]:
    """Plan the conversion of a source without an output folder; its images can be read inside the block.

    With `explain`, the plan says why the source's layout was chosen. Images that listing had to unpack lie in a work
    folder, which is removed at the end. See `ConversionSteps.plan`.
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
        plan = plan_inventory(inventory, options, listener, call, earlier, is_explicit=is_explicit)
        if explain:
            reasons = _explained(source, source_options, plan.num_examples, len(plan.classes))
            plan = replace(plan, layout_reasons=reasons)
        yield source, plan


def _explained(source: Source, options: SourceOptions, num_images: int, num_classes: int) -> tuple[str, ...]:
    """Return why a source is read as its layout, and a sentence for each of the first files that are not used."""
    chosen = layout_of_title(source.layout)
    because = f"{_asked_for(options)}{_evidence(source, num_images, num_classes)}"
    unused = [f"not used: {one.sentence}; {one.why}" for one in source.claims if not one.is_used]
    return (f"chosen: {chosen or source.layout}, because {because}", *unused[:_SHOWN])


def _asked_for(options: SourceOptions) -> str:
    """Return the clause for a layout that the user named, ending with ': '; '' if shardkit detected it."""
    if options.layout == "unlabelled":
        return f"{named('unlabelled', True)} asks for it: "
    if options.layout is not None:
        return f"{named('layout', options.layout)} asks for it: "
    return "" if options.label_pattern is None else f"{named('label_pattern')} asks for it: "


def _evidence(source: Source, num_images: int, num_classes: int) -> str:
    images = counted(num_images, "image")
    if claims := [one.sentence for one in source.claims if one.is_used]:
        return _shortened(claims)
    if files := source.used_files:
        return f"{_shortened([f'{printable(one.path)} gives {one.gives}' for one in files])}, for {images}"
    layout = layout_of_title(source.layout)
    if layout == "class-folders":
        return f"folders give {images} and {counted(num_classes, 'class')}"
    if layout == "file-names":
        return f"the names of {images} give {counted(num_classes, 'class')}"
    return f"it reads {images}"


def _shortened(phrases: list[str]) -> str:
    more = len(phrases) - _SHOWN
    return " and ".join(phrases[:_SHOWN]) + (f", and so do {counted(more, 'more file')}" if more > 0 else "")
