"""The steps of a conversion as a pipeline: list, check, plan, write, publish; `writing.job` has what they do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import apache_beam as beam
from apache_beam.transforms.combiners import ToListCombineFn

from shardkit.beam.counters import count_in_beam
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.writing.inventory_tasks import Batch, NamedPart, PartGroup
from shardkit.conversion.writing.job import ConversionTask, InventoryTask
from shardkit.conversion.writing.output.finished_shards import SummaryRow
from shardkit.conversion.writing.refusals import ListingSummary


def convert_task(tasks: Any) -> Any:
    """One `ConversionTask` to what is there once its dataset is published, or it has failed and a driver tells why."""
    taken, task = take_inventory(tasks)
    return (
        taken
        | "PlanShards" >> beam.FlatMap(_plan, task)  # ShardTask
        | "SpreadShards" >> beam.Reshuffle()  # ShardTask
        | "WriteShards" >> beam.FlatMap(_write, task)  # SummaryRow
        | "GatherShards" >> beam.CombineGlobally(ToListCombineFn())  # [SummaryRow]
        | "Publish" >> beam.Map(_publish, task)  # None
    )


def take_inventory(tasks: Any) -> tuple[Any, Any]:
    """One task to what is there once all images of its source are checked, and the task as a side input.

    Reshuffle gives each of 4 workers 4 of 16 batches or shards, on Flink by a rebalance. Grouping by a key would give
    them 2, 8, 4 and 2, because it hashes the keys. Without it, the worker that lists a folder would check all of it.
    """
    task = beam.pvalue.AsSingleton(tasks | "WithoutGroups" >> beam.Map(_without_groups))
    batches = (
        tasks
        | "Groups" >> beam.FlatMap(_groups)  # (number, PartGroup)
        | "SpreadGroups" >> beam.Reshuffle()  # (number, PartGroup)
        | "ListRows" >> beam.FlatMap(_list_rows, task)  # (position, Listing of 128 rows)
    )
    proved = (
        batches
        | "Summarise" >> beam.FlatMap(_summaries, task)  # ListingSummary
        | "GatherSummaries" >> beam.CombineGlobally(ToListCombineFn())  # [ListingSummary]
        | "Prove" >> beam.Map(_prove, task).with_output_types(bool)  # bool
    )
    taken = (
        batches
        | "SpreadBatches" >> beam.Reshuffle()  # (position, Listing)
        | "CheckImages" >> beam.FlatMap(_check, task, beam.pvalue.AsSingleton(proved))  # (position, name of a part)
        | "GatherParts" >> beam.CombineGlobally(ToListCombineFn())  # [(position, name of a part)]
        | "KeepNames" >> beam.Map(_keep_names, task)  # None
        | "FindManyParts" >> beam.FlatMap(_runs_to_merge, task)  # [name of a part]
        | "SpreadManyParts" >> beam.Reshuffle()  # [name of a part]
        | "MergeParts" >> beam.FlatMap(_merge, task)  # nothing
        | "EndInventory" >> beam.CombineGlobally(beam.combiners.CountCombineFn())  # int
    )
    return taken, task


def _groups(task: InventoryTask) -> Sequence[tuple[int, PartGroup]]:
    return task.groups


def _without_groups(task: Any) -> Any:  # of the same type
    return replace(task, groups=())


def _list_rows(group: tuple[int, PartGroup], task: InventoryTask) -> Iterator[Batch]:
    count_in_beam()
    return task.list_group(group)


def _summaries(batch: Batch, task: InventoryTask) -> list[ListingSummary]:
    return task.summaries(batch)


def _prove(summaries: Iterable[ListingSummary], task: InventoryTask) -> bool:
    return task.prove(summaries)


def _check(batch: Batch, task: InventoryTask, is_proved: bool) -> Iterable[NamedPart]:  # noqa: FBT001 - Beam's way
    count_in_beam()
    return task.check_batch(batch) if is_proved else ()


def _keep_names(names: Iterable[NamedPart], task: InventoryTask) -> None:
    task.keep_names(names)


def _runs_to_merge(_: None, task: InventoryTask) -> list[list[str]]:
    return task.runs_to_merge()


def _merge(run: list[str], task: InventoryTask) -> Iterator[None]:
    return task.merge(run)


def _plan(_: int, task: ConversionTask) -> list[ShardTask]:
    return task.plan()


def _write(shard: ShardTask, task: ConversionTask) -> Iterator[SummaryRow]:
    count_in_beam()
    return task.write(shard)


def _publish(summaries: Iterable[SummaryRow], task: ConversionTask) -> None:
    task.publish(summaries)
