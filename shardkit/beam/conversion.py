"""The steps of a conversion as a pipeline: list, check, plan, write, publish; `writing.job` has what they do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import apache_beam as beam

from shardkit.beam.counters import count_in_beam
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.writing.inventory_tasks import Batch, NamedPart, PartGroup
from shardkit.conversion.writing.job import ConversionTask, InventoryTask, merge
from shardkit.conversion.writing.output.finished_shards import SummaryRow
from shardkit.conversion.writing.refusals import ListingSummary


def convert_task(tasks: Any) -> Any:
    """One `ConversionTask` to what is there once its dataset is published, or it has failed and a driver tells why."""
    taken, merged = take_inventory(tasks)
    task = beam.pvalue.AsSingleton(taken)
    written = (
        taken
        | "PlanShards" >> beam.FlatMap(_plan, merged)  # ShardTask
        | "SpreadShards" >> beam.Reshuffle()  # ShardTask
        | "WriteShards" >> beam.FlatMap(_write, task)  # SummaryRow
    )
    return taken | "Publish" >> beam.Map(_publish, beam.pvalue.AsIter(written))  # None


def take_inventory(tasks: Any) -> tuple[Any, Any]:
    """One task to itself once all images of its source are checked, and a side input that waits for merged parts.

    A step that needs all results of another one takes them as a side input, with the task as its only element: a
    combine is ten more steps, and makes them one element.

    Reshuffle gives each of 4 workers 4 of 16 batches or shards, on Flink by a rebalance. Grouping by a key would give
    them 2, 8, 4 and 2, because it hashes the keys. Without it, the worker that lists a folder would check all of it.
    """
    alone = tasks | "WithoutGroups" >> beam.Map(_without_groups)  # ConversionTask or InventoryTask
    task = beam.pvalue.AsSingleton(alone)
    batches = (
        tasks
        | "Groups" >> beam.FlatMap(_groups)  # (number, PartGroup)
        | "SpreadGroups" >> beam.Reshuffle()  # (number, PartGroup)
        | "ListRows" >> beam.FlatMap(_list_rows, task)  # (position, Listing of 128 rows)
    )
    summaries = batches | "Summarise" >> beam.FlatMap(_summaries, task)  # ListingSummary
    proved = alone | "Prove" >> beam.Map(_prove, beam.pvalue.AsIter(summaries)).with_output_types(bool)  # bool
    names = (
        batches
        | "SpreadBatches" >> beam.Reshuffle()  # (position, Listing)
        | "CheckImages" >> beam.FlatMap(_check, task, beam.pvalue.AsSingleton(proved))  # (position, name of a part)
    )
    taken = alone | "KeepNames" >> beam.Map(_keep_names, beam.pvalue.AsIter(names))  # the task
    merged = (
        taken
        | "FindManyParts" >> beam.FlatMap(_runs_to_merge)  # [name of a part]
        | "SpreadManyParts" >> beam.Reshuffle()  # [name of a part]
        | "MergeParts" >> beam.FlatMap(_merge, task)  # nothing
    )
    return taken, beam.pvalue.AsIter(merged)


def _groups(task: InventoryTask) -> Sequence[tuple[int, PartGroup]]:
    return task.groups


def _without_groups(task: Any) -> Any:  # of the same type
    return replace(task, groups=())


def _list_rows(group: tuple[int, PartGroup], task: InventoryTask) -> Iterator[Batch]:
    count_in_beam()
    return task.guard.call(task.inventory.list_group, group)


def _summaries(batch: Batch, task: InventoryTask) -> list[ListingSummary]:
    return task.summaries(batch)


def _prove(task: InventoryTask, summaries: Iterable[ListingSummary]) -> bool:
    return task.prove(summaries)


def _check(batch: Batch, task: InventoryTask, is_proved: bool) -> Iterable[NamedPart]:  # noqa: FBT001 - Beam's way
    count_in_beam()
    return task.guard.call(task.inventory.check_listing, batch) if is_proved else ()


def _keep_names(task: InventoryTask, names: Iterable[NamedPart]) -> Any:  # the task, of the same type
    task.keep_names(names)
    return task


def _runs_to_merge(task: InventoryTask) -> list[list[str]]:
    return task.runs_to_merge()


def _merge(run: list[str], task: InventoryTask) -> Iterator[None]:
    return task.guard.call(merge, run)


def _plan(task: ConversionTask, merged: Iterable[None]) -> list[ShardTask]:
    del merged  # nothing, once all parts are merged
    return task.plan()


def _write(shard: ShardTask, task: ConversionTask) -> Iterator[SummaryRow]:
    count_in_beam()
    return task.guard.call(task.steps.write, shard)


def _publish(task: ConversionTask, summaries: Iterable[SummaryRow]) -> None:
    task.publish(summaries)
