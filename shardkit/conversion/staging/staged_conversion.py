"""Plan, write and publish the staged rows of a PCollection by the steps of every conversion, in a job without a driver.

The user's pipeline calls each step in a task of its own; here is what the driver of a conversion does around the steps.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.columns import annotation_columns
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.staging.kinds import Kind, merged_kind
from shardkit.conversion.staging.records import refuse_readings
from shardkit.conversion.staging.stager import StagedPart, refuse_ended, staged_schema
from shardkit.conversion.writing.inventory_tasks import refuse_too_many
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import FailedShard, FinishedShard
from shardkit.conversion.writing.refusals import ListingCheck
from shardkit.conversion.writing.reject_limit import REJECTED_IN_WORK, RejectLimit
from shardkit.conversion.writing.step_notes import Notes
from shardkit.conversion.writing.steps import AlreadyConvertedError, ConversionSteps
from shardkit.errors import DataError, ShardkitError
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.naming import MANIFEST, printable
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Logged, ProgressListener
from shardkit.parallel.run_token import Fence, Run, refuse_live
from shardkit.sources.columns import CONTENT_SHA256, GROUP, MASK_SHA256
from shardkit.sources.listing import Listing, Source
from shardkit.sources.recognising.wrapped_source import WrappedSource
from shardkit.storage import Folder, LocalFolder, open_folder, os_errors_as, remove_temporaries
from shardkit.storage.kernel_locks import locked

TITLE = "Beam PCollection"
_NAMED = {
    "split": "splits",
    "label_name": "labels",
    "reason": "images",
    CONTENT_SHA256.name: "images",
    MASK_SHA256.name: "masks",
    GROUP.name: "groups",
}
_EMPTY = (
    "the PCollection has no rows, and a dataset has at least one example; look at the steps before it: a filter may "
    "drop everything, or a pattern match no file"
)


class ReadSource(NamedTuple):
    """A source whose listing was read into a PCollection: what a dataset says of it besides its examples."""

    source: Source  # how it is read
    totals: Listing  # what its listings say besides their rows: skipped files, and the classes' numbers
    is_explicit: bool  # whether the user chose how it is read


@dataclass(frozen=True, slots=True)
class _Rows(Source):
    """The rows of a PCollection that no known source was read into. They are in the inventory already."""

    folder: Folder

    @property
    def layout(self) -> str:
        return TITLE

    def describe(self) -> str:
        return f"{self.folder.url}: images of a PCollection"

    def parts(self) -> Sequence[Any]:
        return ()

    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        del part, batch_rows
        return iter(())


@dataclass(frozen=True, slots=True)
class StagedSource(WrappedSource):
    """The images that the rows of a PCollection gave, in the work folder of the output, which paths start at."""

    kind: Kind  # what is annotated

    @classmethod
    def of(cls, output: Folder, read: ReadSource | None = None, kind: Kind = "label") -> "StagedSource":
        """Return the source of rows that were read from one; None if that is not known."""
        return cls(output, _Rows(output) if read is None else read.source, kind)

    @property
    def schema(self) -> pa.Schema:
        return staged_schema(self.kind)

    @property
    def origin(self) -> str | None:
        return self.inner.origin

    def refuse_changed(self) -> None:
        self.inner.refuse_changed()

    def withdrawn(self) -> pa.Table | None:
        return self.inner.withdrawn()


def merge_equal_rows(table: pa.Table) -> pa.Table:
    """Return an inventory of staged rows with one row for each key.

    A row that is given twice, as by an upstream step that was repeated, is one example. What reading has rejected may
    have the key of an example.
    """
    keys = table["key"]
    is_same = pc.equal(keys[1:], keys[:-1]).to_numpy() if len(table) > 1 else np.zeros(0, np.bool_)
    repeated = np.flatnonzero(is_same) + 1
    if not len(repeated):
        return table
    # The example first, then what is rejected: rows of one key come in any order.
    by = ("key", "reason", "message")
    columns = {name: pc.fill_null(table[name].cast(pa.large_string()), "") for name in by}
    table = table.take(pc.sort_indices(pa.table(columns), [(name, "ascending") for name in by]))
    names = ["split", "label_name", "reason", CONTENT_SHA256.name, MASK_SHA256.name, GROUP.name]
    names += annotation_columns(table.schema)
    compared = table.select([name for name in names if name in table.column_names])
    kept = np.ones(len(table), np.bool_)
    kept[repeated] = False
    before = compared.take(pa.array(repeated - 1)).to_pylist()
    for row, one, other in zip(repeated.tolist(), before, compared.take(pa.array(repeated)).to_pylist(), strict=True):
        if one != other and (one["reason"] is None) != (other["reason"] is None):
            kept[row] = True
        elif one != other:
            what = next(_NAMED.get(name, "annotations") for name in one if one[name] != other[name])
            raise DataError(
                f"two rows with different {what} have the key {printable(keys[row].as_py())!r}; give each image a key "
                "of its own, and the same one each time that the pipeline computes it: a row that is given again as "
                "it was is one example"
            )
    return table.filter(pa.array(kept))


def part_names(staged: Sequence[StagedPart]) -> list[str]:
    """Return the names of parts, which may be there several times, in the order in which they are read."""
    return sorted({one.name for one in staged})


@dataclass(frozen=True, slots=True)
class StagedConversion:
    """The conversion of staged rows; pickled into a job, and small but for its parts. See `ConversionTask`."""

    output_url: str  # the output folder
    options: ConvertOptions
    limit: RejectLimit  # maximum number or share of rejected images
    overwrite: bool  # whether a different dataset in the output may be removed
    run: str = ""  # value of the run's token
    staged: Sequence[StagedPart] = ()
    read: ReadSource | None = None

    def of_parts(self, staged: Sequence[StagedPart], drawn: str, read: ReadSource | None) -> "StagedConversion":
        """Return the conversion of some parts in a run, whose tasks share `drawn`, a random text.

        The run's token says what the run plans: an engine that repeats a step after a failure may have other rows then.
        """
        run = sha256_hex(canonical_json([drawn, part_names(staged)]))[:32]
        return replace(self, run=run, staged=staged, read=read)

    def call(self, step: Callable[[Any, Fence], Iterable[Any] | None], item: Any) -> Iterable[Any]:
        """Return what a step gives for an item; an error is the engine's to repeat or to report."""
        return step(item, self._fence(open_folder(self.output_url))) or ()

    def _fence(self, output: Folder) -> Fence:
        return Fence(output, self.run, is_remote=True)

    def plan(self) -> list[ShardTask]:
        """Claim the output, decide the split, shard and position of every example, and write the plan.

        Return the shards to write; none if the output holds this dataset already.
        """
        output = open_folder(self.output_url)
        with os_errors_as("write into the output", output.url), locked(output):
            outputs.refuse_foreign(output)
            output.create()
            run = Run(output, self.run)
            if not isinstance(output, LocalFolder):
                refuse_live(output, run.token)
            run.start()
            try:
                return self._planned(output)
            except AlreadyConvertedError:
                return []
            except ShardkitError:
                if output.stat(MANIFEST) is None:
                    run.end()
                else:
                    run.finish()  # keep an existing dataset as it was
                raise

    def _planned(self, output: Folder) -> list[ShardTask]:
        kinds = {one.kind: one.key for one in sorted(self.staged, reverse=True) if one.kind}
        source = StagedSource.of(output, self.read, merged_kind(kinds) or "label")
        is_there = output.stat(MANIFEST) is not None
        if is_there and not self.overwrite and not parts.part_names(output):  # refused and tried again by the engine
            raise outputs.converted_differently(output.url, outputs.SOURCE_CHANGED)
        remove_temporaries(output)
        output.remove(REJECTED_IN_WORK)  # of an earlier run
        return list(self._steps(source).plan(partial(self._inventory, source), self._fence(output)))

    def _inventory(
        self, source: StagedSource, work: Folder, listener: ProgressListener, *, is_remote: bool
    ) -> Inventory:
        """Read the inventory of staged rows; a part may be there several times, in any order."""
        del listener, is_remote
        if not self.staged:
            raise DataError(_EMPTY)
        refuse_readings({one.reading: one.key for one in sorted(self.staged, reverse=True) if one.reading})
        ListingCheck(source, self.options).check_options()
        names = part_names(self.staged)
        refuse_too_many(names, self.options)
        table, totals = parts.read_parts(work, names)
        table = merge_equal_rows(table)
        return Inventory.of(source, table, self.read.totals if self.read else totals, self.options.max_file_size)

    def _steps(self, source: StagedSource) -> ConversionSteps:
        is_explicit = self.read is None or self.read.is_explicit
        notes = Notes(Logged())
        return ConversionSteps(
            source, source.folder, self.options, self.limit, self.overwrite, is_explicit, notes=notes
        )

    def write(self, shard: ShardTask, fence: Fence) -> list[FinishedShard | FailedShard]:
        """Write a shard, unless it is finished; see `WriteJob.write`."""
        written = self._steps(StagedSource.of(fence.folder)).write(shard, fence)
        if any(isinstance(one, FailedShard) for one in written):
            refuse_ended(fence.folder)  # which would explain it
        return written

    def publish(self, written: Iterable[FinishedShard | FailedShard]) -> None:
        """Check the finished shards, write the manifest, and remove what was staged."""
        output = open_folder(self.output_url)
        with os_errors_as("write into the output", output.url), locked(output):
            if output.stat(MANIFEST) is None:
                self._steps(StagedSource.of(output, self.read)).publish(written, self._fence(output))
            Run(output, self.run).finish()
