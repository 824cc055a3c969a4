"""Read the examples of a dataset into a PCollection."""

import os
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.error_handling import ErrorHandler

from shardkit.arguments.checks import optional, text, whole_number
from shardkit.beam.counters import NAMESPACE
from shardkit.beam.elements import Reject, typed
from shardkit.dataset.conditions import Condition
from shardkit.dataset.manifest import Shard, read_manifest
from shardkit.dataset.manifest.pinning import pinned
from shardkit.errors import RecordError
from shardkit.records.ranges import LEAST_RANGE_BYTES, RANGE_BYTES, DamagedExample, RangeReader, split_ranges
from shardkit.records.record import Schema
from shardkit.reject_reasons import DAMAGED

_DAMAGED = "damaged"  # tag of an output


@dataclass
class ReadDataset(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """A pipeline to the examples of a split: dicts of its features, as `shardkit.open` gives them.

    Workers read ranges of shards, so a few large shards keep many workers busy. Only names of ranges are shuffled. The
    dataset is read as it is when the pipeline starts: what is appended later is not part of it. A split that does not
    exist fails the pipeline.

    A damaged record fails the pipeline with a sentence that names it; with an error handler, it becomes a `Reject`.

    Attributes:
        dataset: The dataset's folder, or ``FOLDER@sha256:…`` to read it as it was; local, ``s3://`` or ``gs://``.
        split: Name of the split.
        where: A condition on the index, such as ``"label_name = 'cat' and height >= 64"``; other records are not read.
            None for all examples.
        range_bytes: Size of the ranges, bytes; at least 1 MiB, because each is read with its shard's index.
    """

    dataset: str | os.PathLike[str]
    split: str
    _: KW_ONLY
    where: str | None = None
    range_bytes: int = RANGE_BYTES

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            CallError: One is wrong.
        """
        self._error_handler: ErrorHandler | None = None
        self.split = text("split", self.split)
        self.range_bytes = whole_number(LEAST_RANGE_BYTES)("range_bytes", self.range_bytes)
        if optional(text)("where", self.where) is not None:
            Condition(str(self.where))

    def with_error_handler(self, error_handler: ErrorHandler | None) -> "ReadDataset":
        """Send damaged records to a handler, as `Reject`s, in place of failing.

        Args:
            error_handler: The handler; None to fail.
        """
        self._error_handler = error_handler
        return self

    def expand(self, pipeline: Any) -> Any:
        place = os.fspath(self.dataset)
        place = place if "://" in place else os.path.abspath(os.path.expanduser(place))
        read = (
            pipeline
            | "NameDataset" >> beam.Create([place], reshuffle=False)  # str
            | "ListRanges" >> beam.FlatMap(_list_ranges, self.split, self.range_bytes)  # (dataset, Shard, start, stop)
            | "SpreadRanges" >> beam.Reshuffle()  # (dataset, Shard, start, stop)
            | "ReadRanges"
            >> beam.ParDo(_ReadRanges(self.where, keeps_damaged=self._error_handler is not None)).with_outputs(
                _DAMAGED, main="examples"
            )  # dict[str, Any]
        )
        if self._error_handler is not None:
            self._error_handler.add_error_pcollection(typed(read[_DAMAGED], "TypeDamaged", Reject))
        return typed(read["examples"], "TypeExamples", dict[str, Any])


def _list_ranges(place: str, split: str, range_bytes: int) -> Iterator[tuple[str, Shard, int, int]]:
    manifest = read_manifest(place)
    manifest.split(split)
    as_it_is = f"{pinned(place)[0]}@sha256:{manifest.digest}"
    for one in split_ranges(manifest, split, range_bytes):
        yield as_it_is, *one


class _ReadRanges(beam.DoFn):  # type: ignore[misc] # Beam is untyped
    """Reads the examples of a range."""

    def __init__(self, where: str | None, *, keeps_damaged: bool) -> None:
        self._where, self._keeps_damaged = where, keeps_damaged
        self._readers = dict[str, RangeReader]()  # by dataset; one
        self._examples = Metrics.counter(NAMESPACE, "images_read")
        self._bytes = Metrics.counter(NAMESPACE, "record_bytes_read")
        self._damaged = Metrics.counter(NAMESPACE, "records_damaged")

    def process(self, part: tuple[str, Shard, int, int]) -> Iterator[Any]:
        """Yield the examples, and damaged ones under a tag; raise RecordError if no handler takes them."""
        dataset, shard, start, stop = part
        if dataset not in self._readers:
            manifest = read_manifest(dataset)
            self._readers[dataset] = RangeReader(manifest.root, Schema.of(manifest), self._where)
        for one in self._readers[dataset].read(shard, start, stop):
            if not isinstance(one, DamagedExample):
                self._examples.inc()
                self._bytes.inc(one.location.num_bytes)
                yield dict(one)
                continue
            if not self._keeps_damaged:
                raise RecordError(one.message)
            self._damaged.inc()
            yield beam.pvalue.TaggedOutput(_DAMAGED, Reject(one.key, DAMAGED, one.message, one.num_bytes))
