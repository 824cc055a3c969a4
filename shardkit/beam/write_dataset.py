"""Write a PCollection of images as a dataset."""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.error_handling import ErrorHandler
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.typehints.row_type import RowTypeConstraint
from apache_beam.utils.shared import Shared
from apache_beam.utils.windowed_value import WindowedValue

from shardkit.beam.arguments import read_given
from shardkit.beam.counters import NAMESPACE, REJECTS, count_in_beam, count_rejects
from shardkit.beam.elements import PublishedDataset, Reject, WrittenDataset, WrittenShard, typed
from shardkit.beam.exchanges import Keep
from shardkit.conversion.option_values import location, option_values
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.staging.rows import RowReader, refuse_unknown_fields
from shardkit.conversion.staging.staged_conversion import ReadSource, StagedConversion
from shardkit.conversion.staging.stager import StagedBefore, StagedPart, Stager, begin_staging
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import FailedShard, FinishedShard
from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.dataset.rejected_list import read_rejected
from shardkit.errors import CallError
from shardkit.extras import require_extra
from shardkit.storage import open_folder, os_errors_as

_SHARDS = "shards"  # tag of an output


class WriteDataset(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """Images with labels to a dataset of balanced shards: a `WrittenDataset`.

    A row is an `Example`; a NamedTuple, beam.Row, dataclass or dict with some of its fields; or the bytes of a
    tf.train.Example, whose features are found as `convert` finds those of TFRecord files. The same set of rows gives
    the same shards as `shardkit.convert` makes of these images under these keys, in any order, in any bundles, and
    after retries.

    Each bundle checks its images, and appends those that are given as bytes to files below the output. Only rows
    without images go on, to one plan, and the writers of the shards read the images again, from these files or by their
    URIs. So a group of any size is no trouble. A run that failed is continued by running the pipeline again; checked
    images are not decoded again, finished shards not written again.

    Equal rows of one key are one example; different ones are refused. With `with_error_handler`, what is rejected also
    goes to a handler. If more is rejected than `max_rejected` allows, nothing is published, and the pipeline fails.
    """

    def __init__(
        self, output: str | os.PathLike[str], *, source: Any = None, rejects: Any = None, **options: Any
    ) -> None:
        """Check the options.

        Args:
            output: A new or empty folder; local, ``s3://`` or ``gs://``. All workers must reach it.
            source: What `ReadImages` says of the source, a PCollection: then every file is that of `shardkit.convert`.
            rejects: What `ReadImages` has rejected, a PCollection: then it is part of the dataset's rejects.
            **options: Those of `shardkit.convert` that do not say how a source is read, by their names or in their
                groups: ``splits="80/20"``, ``resize=256``, ``stored=Stored(resize=256)``. ``check="header"`` is
                refused.

        Raises:
            CallError: One is wrong, or two do not go together.
            MissingExtraError: The packages of the extra ``convert`` are not installed.
        """
        super().__init__()
        require_extra("convert", "WriteDataset")
        self._error_handler: ErrorHandler | None = None
        self._source, self._rejects = source, rejects
        url = location("output", output)
        refuse_pinned("output", url)
        # Workers may have other working directories.
        self._output_url = url if "://" in url else os.path.abspath(os.path.expanduser(url))
        read = read_given("WriteDataset", options)
        self._overwrite, unlabelled = read.get("overwrite", False), read.get("unlabelled", False)
        self._limit = RejectLimit.parse(read.get("max_rejected", DEFAULT_MAX_REJECTED))
        source_options, self._options = option_values(read)
        self._reader = RowReader(self._options.max_file_size, unlabelled)
        self._features = LayoutOverrides(
            source_options.image_feature,
            source_options.label_feature,
            classes=source_options.classes,
            unlabelled=unlabelled,
        )

    def with_error_handler(self, error_handler: ErrorHandler | None) -> "WriteDataset":
        """Send what is rejected to a handler, too, as `Reject`s.

        Args:
            error_handler: The handler; None for none.
        """
        self._error_handler = error_handler
        return self

    def expand(self, rows: Any) -> Any:  # of another type than a PCollection, Beam warns
        """See PTransform.

        Args:
            rows: The rows; or a dict of PCollections with `examples`, `source` and `rejects`, such as what
                `ReadImages.with_rejects` returns, which is the form of Beam YAML.

        Raises:
            CallError: The rows are unbounded or have an unknown field.
        """
        source, rejects = self._source, self._rejects
        if isinstance(rows, Mapping):
            source, rejects = rows.get("source", source), rows.get("rejects", rejects)
            rows = rows["examples"]
        _refuse_unbounded(rows)
        _refuse_other_rows(rows.element_type)
        read = () if source is None else (beam.pvalue.AsSingleton(source),)
        if rejects is not None:
            rows = (rows, rejects) | "AddRejects" >> beam.Flatten()  # row, or Reject
        conversion = StagedConversion(self._output_url, self._options, self._limit, self._overwrite)
        staged = (
            rows
            | "UseOneWindow" >> beam.WindowInto(GlobalWindows())  # row
            | "StageImages"
            >> beam.ParDo(StageImages(self._output_url, self._reader, self._features))  # StagedPart, as a plain tuple
        )
        gathered = (
            rows.pipeline
            | "Start" >> beam.Create([conversion], reshuffle=False)  # StagedConversion
            | "GatherParts" >> beam.Map(_gather, beam.pvalue.AsIter(staged), *read)  # StagedConversion of this run
            | "KeepParts" >> Keep()  # StagedConversion; the same when a later step is repeated
        )
        task = beam.pvalue.AsSingleton(gathered | "WithoutParts" >> beam.Map(_without_parts))  # StagedConversion
        published = write_shards(gathered, task)
        dataset = written_dataset(published, self._output_url)
        if self._error_handler is not None:
            self._error_handler.add_error_pcollection(dataset.rejects)
        return dataset


class StageImages(beam.DoFn):  # type: ignore[misc] # Beam is untyped
    """Rows to the names of parts of the inventory."""

    def __init__(self, output_url: str, reader: RowReader, features: LayoutOverrides) -> None:
        self._output_url, self._reader, self._features = output_url, reader, features
        self._shared = Shared()
        self._images = Metrics.counter(NAMESPACE, "images_checked")
        self._bytes = Metrics.counter(NAMESPACE, "image_bytes_stored")

    def setup(self) -> None:
        """Refuse an output with files of others, before an image is decoded, and read what an earlier run left there.

        A side input would do it once, but engines in Java would send all images to a stage of its own.
        """
        self._output = open_folder(self._output_url)
        with os_errors_as("write into the output", self._output_url):
            outputs.refuse_foreign(self._output)
            begun = begin_staging(self._output)
            # A process may run a pipeline again, and publishing has removed the images of the first run.
            find_staged = partial(StagedBefore, self._output)
            self._before = self._shared.acquire(find_staged, tag=begun)  # a retried bundle finds its own images, too

    def start_bundle(self) -> None:
        self._stager = Stager(self._output, self._reader, self._features, self._before)

    def process(self, row: Any) -> Iterator[Any]:
        """Stage a row; yield the name of a part that is full."""
        num_bytes = self._stager.num_bytes
        count_rejects(self._stager.add(row))
        self._images.inc()
        self._bytes.inc(self._stager.num_bytes - num_bytes)
        if self._stager.is_full:
            yield from self._flushed()

    def finish_bundle(self) -> Iterator[Any]:
        window = GlobalWindow()
        count_rejects(self._stager.finish())
        for part in self._flushed():
            yield WindowedValue(part, window.max_timestamp(), [window])

    def _flushed(self) -> list[tuple[str, ...]]:
        part = self._stager.flush()
        # A plain tuple, which every engine encodes.
        return [] if part is None else [tuple(part)]


def written_dataset(published: Any, output_url: str) -> WrittenDataset:
    """What is there once a dataset is published, to the dataset as PCollections."""
    found = published | "ReadManifest" >> beam.FlatMap(_read_published, output_url).with_outputs(
        _SHARDS, REJECTS, main="manifest"
    )
    return WrittenDataset(
        manifest=typed(found["manifest"], "TypeManifest", PublishedDataset),
        shards=typed(found[_SHARDS], "TypeShards", WrittenShard),
        rejects=typed(found[REJECTS], "TypeRejects", Reject),
    )


def _read_published(_: None, output_url: str) -> Iterator[Any]:
    manifest = read_manifest(output_url)
    for row in read_rejected(manifest).to_pylist():
        yield beam.pvalue.TaggedOutput(REJECTS, Reject(**row))
    for split, shard in manifest.shards():
        found = WrittenShard(split, shard.path, shard.num_examples, shard.num_bytes)
        yield beam.pvalue.TaggedOutput(_SHARDS, found)
    yield PublishedDataset.of(manifest)


def _refuse_unbounded(rows: Any) -> None:
    if not rows.is_bounded:
        raise CallError(
            "WriteDataset writes a dataset once, when all rows are there, and this PCollection is unbounded; write the "
            "images of each window to a folder, such as by beam.io.fileio.WriteToFiles, and add each folder with "
            "shardkit.append(DATASET, FOLDER)"
        )


def _refuse_other_rows(element_type: Any) -> None:
    """Refuse rows of a schema with unknown fields when the pipeline is made."""
    is_row = isinstance(element_type, RowTypeConstraint)
    schema = element_type if is_row else RowTypeConstraint.from_user_type(element_type)
    if schema is not None:
        refuse_unknown_fields(name for name, _ in schema._fields)


def _gather(
    conversion: StagedConversion, parts: Iterable[tuple[str, ...]], read: ReadSource | None = None
) -> StagedConversion:
    return conversion.of_parts([StagedPart(*one) for one in sorted(set(parts))], secrets.token_hex(16), read)


def _without_parts(conversion: StagedConversion) -> StagedConversion:
    return replace(conversion, staged=())


def write_shards(taken: Any, task: Any) -> Any:
    """One task whose images are checked to what is there once its dataset is published.

    `task` is the same as a side input, without what is large. A step that needs all results of another one takes them
    as a side input, with the task as its only element: a combine is ten more steps, and makes them one element.
    """
    written = (
        taken
        | "PlanShards" >> beam.FlatMap(_plan)  # ShardTask
        | "SpreadShards" >> beam.Reshuffle()  # ShardTask
        | "WriteShards" >> beam.FlatMap(each, task, "write").with_output_types(FinishedShard | FailedShard)
    )
    return taken | "Publish" >> beam.Map(_publish, beam.pvalue.AsIter(written))  # None


def each(item: Any, task: Any, step: str) -> Iterator[Any]:
    """Yield what a step of a task gives for an item."""
    count_in_beam()
    yield from task.call(getattr(task, step), item)


def _plan(task: Any) -> Iterator[ShardTask]:
    count_in_beam()
    yield from task.plan()


def _publish(task: Any, written: Iterable[FinishedShard | FailedShard]) -> None:
    task.publish(written)
