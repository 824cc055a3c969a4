"""The first steps of `WriteDataset`: stage the images of each bundle, and gather the names of what was written."""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.shared import Shared
from apache_beam.utils.windowed_value import WindowedValue

from shardkit.beam.counters import NAMESPACE
from shardkit.beam.elements import Reject
from shardkit.conversion.staging.staged_part import StagedBefore, StagingOptions, begin_staging
from shardkit.conversion.staging.stager import OF_IMAGE, Stager
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.storage import open_folder, os_errors_as

REJECTS = "rejects"  # tag of an output


class StageImages(beam.DoFn):  # type: ignore[misc] # Beam is untyped
    """Rows to the names of parts of the inventory."""

    def __init__(self, output_url: str, options: StagingOptions) -> None:
        self._output_url, self._options = output_url, options
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
            self._before = self._shared.acquire(self._find_staged, tag=begun)

    def _find_staged(self) -> StagedBefore:
        """Return the images that are staged when a process starts; a retried bundle finds its own, too."""
        return StagedBefore(self._output, self._options.folder, OF_IMAGE)

    def start_bundle(self) -> None:
        """Begin with no rows."""
        self._stager = Stager(self._output, self._options, self._before)

    def process(self, row: Any) -> Iterator[Any]:
        """Stage a row; yield the name of a part that is full."""
        num_bytes = self._stager.num_bytes
        count_rejects(self._stager.add(row))
        self._images.inc()
        self._bytes.inc(self._stager.num_bytes - num_bytes)
        if self._stager.is_full:
            yield from self._flushed()

    def finish_bundle(self) -> Iterator[Any]:
        """Write the rest."""
        window = GlobalWindow()
        count_rejects(self._stager.finish())
        for part in self._flushed():
            yield WindowedValue(part, window.max_timestamp(), [window])

    def _flushed(self) -> list[tuple[str, ...]]:
        part = self._stager.flush()
        # A plain tuple, which every engine encodes.
        return [] if part is None else [tuple(part)]


def same(one: Any) -> Any:
    """Return the element: Beam takes types of tagged outputs from a step of their own."""
    return one


def tagged_rejects(rejects: Iterable[Reject]) -> Iterator[Any]:
    """Yield rejects under their tag, and count them by reason."""
    for reject in rejects:
        count_rejects([reject])
        yield beam.pvalue.TaggedOutput(REJECTS, reject)


def count_rejects(rejects: Iterable[Reject]) -> None:
    """Count rejects by reason."""
    for reject in rejects:
        Metrics.counter(NAMESPACE, f"rejected_{reject.reason}").inc()
