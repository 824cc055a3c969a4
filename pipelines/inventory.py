"""The Beam transform that takes a source's inventory; its steps are in `writing/inventory_tasks.py`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.sources import Listing
from shardkit.writing import inventory_tasks
from shardkit.writing.inventory_tasks import BatchKey, InventoryJob, NamedPart
from shardkit.writing.part_groups import PartGroup
from shardkit.writing.refusals import ListingCheck, ListingSummary


@dataclass
class TakeInventory(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, PartGroup) pairs to the inventory's parts, and the list of their names, in the work folder.

    Nothing is decoded if the job's listing check refuses the listing.
    """

    job: InventoryJob

    def expand(self, groups: Any) -> Any:
        """See PTransform."""
        batches = (
            groups
            | "SpreadParts" >> beam.Reshuffle()  # (index, PartGroup)
            | "ListPart" >> beam.FlatMap(_list, self.job)  # (BatchKey, Listing)
        )
        refused: Any = ()
        if self.job.listing_check is not None:
            refused = beam.pvalue.AsList(
                batches
                | "Summarise" >> beam.Map(_summarise, self.job.listing_check)  # (0, ListingSummary)
                | "GatherSummaries" >> beam.GroupByKey()  # (0, [ListingSummary])
                | "RefuseListing" >> beam.FlatMap(_refuse, self.job)  # True, if refused
            )
        return (
            batches
            # Without it, the worker that listed a folder or a table would check all of it.
            | "SpreadBatches" >> beam.Reshuffle()  # (BatchKey, Listing)
            | "CheckBatch" >> beam.FlatMap(_check, self.job, refused)  # (0, NamedPart)
            | "GatherNames" >> beam.GroupByKey()  # (0, all names); with --check header a name is for up to 16,384 files
            | "WriteNames" >> beam.Map(_write_names, self.job)  # None
        )


def _list(numbered: tuple[int, PartGroup], job: InventoryJob) -> Iterator[tuple[BatchKey, Listing]]:
    return inventory_tasks.list_group(*numbered, job)


def _summarise(batch: tuple[BatchKey, Listing], listing_check: ListingCheck) -> tuple[int, ListingSummary]:
    return 0, listing_check.summary(batch[1].table())


def _refuse(summaries: tuple[int, Iterable[ListingSummary]], job: InventoryJob) -> Iterator[bool]:
    if inventory_tasks.is_refused(summaries[1], job):
        yield True


def _check(
    batch: tuple[BatchKey, Listing], job: InventoryJob, refused: Sequence[bool]
) -> Iterator[tuple[int, NamedPart]]:
    for part in () if refused else inventory_tasks.check_listing(*batch, job):
        yield 0, part


def _write_names(names: tuple[int, Iterable[NamedPart]], job: InventoryJob) -> None:
    inventory_tasks.write_part_names(names[1], job)
