"""Convert a source of images inside a pipeline: what ``shardkit convert --runner`` runs."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.beam.arguments import read_given
from shardkit.beam.conversion import BeamExecutor, convert_task
from shardkit.beam.options import RunnerConfig
from shardkit.beam.write_dataset import written_dataset
from shardkit.conversion.option_values import absolute_location, conversion_values, location, source_locations
from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.job import ConversionTask
from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit
from shardkit.parallel.progress import Logged


class ConvertImages(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A pipeline to a dataset of balanced shards: a `WrittenDataset`.

    The source is any that `shardkit.convert` reads, and the bytes are those that it writes. The steps are those of
    ``shardkit convert --runner``: list, check, plan, write, publish. What refuses the conversion fails the pipeline
    with its sentence, before a shard is written.

    A worker opens the source and claims the output when the pipeline runs. After a failure the pipeline, or a new one,
    goes on with the images that were checked and the shards that are finished.
    """

    _yaml_requires_inputs = False  # Beam YAML asks

    def __init__(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        output: str | os.PathLike[str],
        **options: Any,
    ) -> None:
        """Check the options.

        Args:
            source: See `shardkit.convert`.
            output: A new or empty folder that all workers reach.
            **options: Those of `shardkit.convert`, except `workers`, `beam_options` and `listener`, by their names or
                in their groups.

        Raises:
            CallError: An argument is wrong.
        """
        super().__init__()
        self._begin = _Begin(
            tuple(map(absolute_location, source_locations(source))),
            absolute_location(location("output", output)),
            read_given("ConvertImages", options),
            secrets.token_hex(8),
        )

    def expand(self, pipeline: Any) -> Any:
        tasks = (
            pipeline
            | "Start" >> beam.Create([None], reshuffle=False)  # None
            | "DrawToken" >> beam.Map(_draw)  # str; drawn in each run of a template
            | "KeepToken" >> beam.Reshuffle()  # str; the same when a later step is repeated
            | "Claim" >> beam.Map(self._begin)  # ConversionTask
            | "KeepTask" >> beam.Reshuffle()  # ConversionTask
        )
        return written_dataset(convert_task(tasks), self._begin.output)


@dataclass(frozen=True, slots=True)
class _Begin:
    """Opens the source and claims the output, on a worker."""

    sources: tuple[str, ...]
    output: str
    given: dict[str, Any]
    pipeline: str  # what all runs of one pipeline have in common

    def __call__(self, drawn: str) -> ConversionTask:
        source, *also = self.sources
        listener = Logged()
        source_options, converting = conversion_values(source, self.given, listener.say, also, self.output)
        return Conversion(
            source,
            self.output,
            converting,
            BeamExecutor(RunnerConfig(())),
            source_options=source_options,
            limit=RejectLimit.parse(self.given.get("max_rejected", DEFAULT_MAX_REJECTED)),
            overwrite=self.given.get("overwrite", False),
            listener=listener,
        ).begin(f"{self.pipeline}-{drawn}")


def _draw(_: None) -> str:
    return secrets.token_hex(8)
