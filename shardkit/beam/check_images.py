"""Check the images of a PCollection, as `WriteDataset` does, so that a pipeline can filter by what is found."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics

from shardkit.beam.counters import NAMESPACE, REJECTS, tagged_rejects
from shardkit.beam.elements import CheckedExamples, Example, Reject, typed
from shardkit.conversion.arguments import read_arguments
from shardkit.conversion.inventory.checking import check_file
from shardkit.conversion.staging.kinds import text_of_checked
from shardkit.conversion.staging.rows import RowReader, values_of
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images import BadImage
from shardkit.sources.columns import CONTENT_SHA256, PERCEPTUAL_HASH
from shardkit.sources.listing import BadRecord


class CheckImages(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """Examples to examples with the format, the size and the hashes of their images; every image is decoded.

    What is no image, or has no annotation, is rejected, with the reasons of `shardkit.convert`, and counted in
    ``rejected_REASON``. `WriteDataset` checks by itself, and does not decode again what was checked here.
    """

    def __init__(self, *, max_file_size: int | str | None = None, unlabelled: bool = False) -> None:
        """Check the options.

        Args:
            max_file_size: Size above which an image is rejected; see `shardkit.convert`.
            unlabelled: Whether the images have no labels.

        Raises:
            CallError: One is wrong.
        """
        super().__init__()
        size = read_arguments("convert", {"max_file_size": max_file_size}).get("max_file_size", MAX_FILE_BYTES)
        self._reader = RowReader(size, unlabelled)
        self._has_rejects = False

    def with_rejects(self) -> "CheckImages":
        """Return `CheckedExamples` when applied: also what is rejected."""
        self._has_rejects = True
        return self

    def expand(self, examples: Any) -> Any:
        checked = examples | "Check" >> beam.ParDo(_Check(self._reader)).with_outputs(REJECTS, main="examples")
        found = CheckedExamples(
            examples=typed(checked["examples"], "TypeExamples", Example),
            rejects=typed(checked[REJECTS], "TypeRejects", Reject),
        )
        return found if self._has_rejects else found.examples


class _Check(beam.DoFn):  # type: ignore[misc] # Beam is untyped
    """Reads and decodes the image of an example."""

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader
        self._images = Metrics.counter(NAMESPACE, "images_checked")
        self._bytes = Metrics.counter(NAMESPACE, "image_bytes_checked")

    def process(self, element: Any) -> Iterator[Any]:
        """Yield the checked example, or its tagged reject."""
        values = values_of(element)
        key, num_bytes = self._reader.key(values), 0
        try:
            given = self._reader.read(values)
            num_bytes = len(given.image)
            row = {"key": given.key, **given.columns}
            check_file(row, given.image, lambda: given.mask)
        except (BadRecord, BadImage) as error:
            yield from tagged_rejects([Reject(key, error.reason, str(error), num_bytes)])
            return
        self._images.inc()
        self._bytes.inc(num_bytes)
        facts = {name: row[name] for name in ("format", "width", "height")}
        for name, field in (("sha256", CONTENT_SHA256), ("perceptual_hash", PERCEPTUAL_HASH)):
            facts[name] = row[field.name].hex() if row.get(field.name) is not None else None
        yield Example(**values)._replace(num_bytes=num_bytes, checked=text_of_checked(row), **facts)
