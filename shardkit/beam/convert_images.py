"""Convert a source of images inside a pipeline: what ``shardkit convert --runner`` runs, as a transform."""

import os
from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from shardkit.beam.elements import PublishedDataset
from shardkit.beam.executor import RunStages
from shardkit.conversion.arguments import grouped, read_arguments
from shardkit.conversion.option_values import absolute_location, conversion_values, location, source_locations
from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError
from shardkit.parallel.for_each import Work
from shardkit.parallel.progress import Phase, ProgressListener, Silent
from shardkit.parallel.stages import JobStage

_OF_THE_PIPELINE = {
    "workers": "the pipeline's runner has the workers",
    "beam_options": "give the options of Beam to the pipeline",
}


class ConvertImages(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A pipeline to a dataset of balanced shards: one `PublishedDataset`, once it is published.

    The source is any that `shardkit.convert` reads, and the bytes are those that it writes. The steps are those of
    ``shardkit convert --runner``: list, check, plan, write, publish. What refuses the conversion fails the pipeline
    with its sentence, before a shard is written.

    The source is opened, and the output is claimed for this pipeline, when the transform is applied: run the pipeline
    once. The claim of a pipeline that never runs has to be removed: what is refused then says how. After a failure, a
    new pipeline goes on with the finished shards.
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
            **options: Those of `shardkit.convert`, except `workers` and `beam_options`, by their names or in their
                groups.

        Raises:
            CallError: An argument is wrong.
        """
        super().__init__()
        for name, why in _OF_THE_PIPELINE.items():
            if options.get(name) is not None:
                msg = f"ConvertImages has no argument {name!r}: {why}"
                raise CallError(msg)
        self._sources = list(map(absolute_location, source_locations(source)))
        self._output = absolute_location(location("output", output))
        self._listener = options.get("listener") or Silent()
        self._given = read_arguments("convert", grouped(options))

    def expand(self, pipeline: Any) -> Any:
        """See PTransform.

        Raises:
            CallError: The options do not fit the source, or the output holds files of others.
            DataError: The output holds a different dataset and `overwrite` is off.
            MachineError: Another run writes into the output, or the disk or the network failed.
        """
        source, *also = self._sources
        source_options, converting = conversion_values(source, self._given, self._listener.say, also, self._output)
        job = _Job()
        Conversion(
            source,
            self._output,
            converting,
            job,
            source_options=source_options,
            limit=RejectLimit.parse(self._given.get("max_rejected", DEFAULT_MAX_REJECTED)),
            overwrite=self._given.get("overwrite", False),
            listener=self._listener,
        ).submit()
        return (
            pipeline
            | "Convert" >> RunStages(job.stages)  # int
            | "ReadManifest" >> beam.Map(_published, self._output).with_output_types(PublishedDataset)
        )


def _published(_: int, output: str) -> PublishedDataset:
    return PublishedDataset.of(read_manifest(output))


class _Job:
    """An engine that only takes the stages of a job; see `parallel.stages.Engine`."""

    is_remote = True
    temp_location = None
    stages: Sequence[JobStage] = ()

    def for_each(self, name: str, items: Sequence[Any], work: Work, phase: Phase) -> None:
        """Do nothing: a conversion is a job."""

    def run_job(self, stages: Sequence[JobStage], phase: Phase) -> None:
        """Do nothing: the pipeline runs it."""

    def refuse_submitting(self) -> None:
        """Refuse nothing."""

    def submit_job(self, stages: Sequence[JobStage], listener: ProgressListener) -> None:
        """Take the stages."""
        del listener
        self.stages = stages
