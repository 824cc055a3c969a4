"""Statistics of all examples, from one pass over the indexes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.example import decode, decode_features
from shardkit.dataset.index.file import are_unlabelled
from shardkit.dataset.index.shards import read_columns, shard_errors
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.stored_names import with_own_names
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.errors import DataError, RecordError
from shardkit.storage.concurrent_reads import read_many

_COLUMNS = [
    *("offset", "length", "image_start", "image_bytes", "width", "height", "changes", "label", "labels"),
    "source_bytes",
]


class Span(NamedTuple):
    """Smallest, median and largest value; of an even number the lower median, because it occurs."""

    low: int
    median: int
    high: int


class Location(NamedTuple):
    """The part of a record behind its image, which holds the annotations; of records of others the whole record.

    Attributes:
        path: Path of the shard in the dataset's folder.
        start: Position of the first byte in the shard.
        num_bytes: Number of bytes.
    """

    path: str
    start: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """Statistics of a dataset.

    Attributes:
        width: Of the images as stored, in pixels; None without examples.
        height: The same for the height.
        changes: Number of images that each kind of normalisation changed.
        labels_per_image: Number of labels of an image, for examples with lists of labels; otherwise None.
        unlabelled: Number of examples with an empty list of labels, by split; without those of `num_unlabelled`.
        source_bytes: Size of the raw files in bytes, by split.
        sample: Evenly spaced examples.
    """

    width: Span | None
    height: Span | None
    changes: dict[str, int]
    labels_per_image: Span | None
    unlabelled: dict[str, int]
    source_bytes: dict[str, int]
    sample: tuple[Location, ...]


def index_statistics(manifest: Manifest, sample_size: int = 0) -> IndexStatistics:
    """Read the indexes of a dataset, one at a time.

    Args:
        manifest: The manifest, read from the dataset's folder.
        sample_size: Maximum number of examples to locate.

    Raises:
        DataError: An index is missing or damaged.
        MachineError: It cannot be read.
    """
    total = sum(split.num_examples for split in manifest.splits.values())
    widths, heights, labels = _Histogram(), _Histogram(), _Histogram()
    changes, sample, start = Counter[str](), list[Location](), 0
    unlabelled, source_bytes = dict.fromkeys(manifest.splits, 0), dict.fromkeys(manifest.splits, 0)
    for split, shard in manifest.shards():
        index = read_columns(manifest.root, shard, _COLUMNS)
        widths.add(index["width"].to_numpy())
        heights.add(index["height"].to_numpy())
        changes += _changes(index)
        lengths = pc.list_value_length(index["labels"].filter(pa.array(~are_unlabelled(index)))).drop_null().to_numpy()
        labels.add(lengths)
        unlabelled[split] += int((lengths == 0).sum())
        source_bytes[split] += int(pc.sum(index["source_bytes"]).as_py() or 0)
        chosen = _evenly_spaced(total, sample_size, start, start + len(index))
        sample += _locations(shard.path, index.take(pa.array(chosen - start)), is_adopted=manifest.is_adopted)
        start += len(index)
    return IndexStatistics(
        widths.span(),
        heights.span(),
        dict(sorted(changes.items())),
        labels.span(),
        unlabelled,
        source_bytes,
        (*sample,),
    )


class _Histogram:
    """Counts of whole numbers from 0: sides and numbers of labels are small."""

    def __init__(self) -> None:
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, values: npt.NDArray[np.integer]) -> None:
        counts = np.bincount(values, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def span(self) -> Span | None:
        return span_of_counts(self._counts)


def span_of_counts(counts: npt.NDArray[np.int64]) -> Span | None:
    """Return the span of whole numbers, given how often each number from 0 occurs; None if there are none."""
    found = np.flatnonzero(counts)
    if not len(found):
        return None
    middle = int(np.searchsorted(np.cumsum(counts), (counts.sum() + 1) // 2))
    return Span(int(found[0]), middle, int(found[-1]))


def _changes(index: pa.Table) -> Counter[str]:
    found = Counter[str]()
    for value in pc.value_counts(index["changes"].cast(pa.string())).to_pylist():
        found.update({change: value["counts"] for change in value["values"].split(",") if change})
    return found


def _evenly_spaced(total: int, size: int, start: int, stop: int) -> npt.NDArray[np.int64]:
    """Return the chosen ones of `total` examples that are in [start, stop)."""
    size = min(size, total)
    chosen = (2 * np.arange(size, dtype=np.int64) + 1) * total // max(1, 2 * size)
    return chosen[(chosen >= start) & (chosen < stop)]


def _locations(path: str, rows: pa.Table, *, is_adopted: bool) -> Iterator[Location]:
    skipped = pc.add(rows["image_start"], rows["image_bytes"]).to_pylist()
    for offset, length, behind in zip(rows["offset"].to_pylist(), rows["length"].to_pylist(), skipped, strict=True):
        yield annotations_location(path, offset, length, behind, is_adopted=is_adopted)


def annotations_location(path: str, offset: int, length: int, behind: int, *, is_adopted: bool) -> Location:
    """Return the part of a record that holds its annotations.

    The image's last byte ends its feature; the features of annotations follow it in the order of names. In records of
    others, features have any names and are in any order.

    Args:
        path: Path of the shard.
        offset: Offset of the record's frame in the shard, in bytes.
        length: Length of the record's data in bytes.
        behind: End of the image in the record's data.
        is_adopted: Whether others wrote the record.
    """
    behind = 0 if is_adopted else behind
    return Location(path, offset + HEADER_BYTES + behind, length - behind)


def read_annotations(manifest: Manifest, locations: Iterable[Location], feature: str) -> Iterator[dict[str, Any]]:
    """Yield the features of each example whose names follow "image": labels, objects, numbers and masks.

    Args:
        manifest: The dataset's manifest, read from its folder.
        locations: See IndexStatistics.sample.
        feature: Name of the feature that each example must have.

    Raises:
        DataError: A shard is missing, or a record is damaged.
        MachineError: A shard cannot be read.
    """
    yield from read_many(partial(_read, manifest, feature), locations)


def _read(manifest: Manifest, feature: str, location: Location) -> dict[str, Any]:
    root = manifest.root
    where = f"{root.url}/{location.path}"
    with shard_errors(root, location.path):
        data = root.read_range(location.path, location.start, location.num_bytes)
    try:
        features: dict[str, Any] = (
            with_own_names(decode(data), manifest.stored_as, manifest.features)
            if manifest.is_adopted
            else decode_features(data)
        )
    except RecordError as error:
        raise DataError(f"{where}: {error}; run `shardkit verify` on the dataset") from None
    if feature not in features:
        msg = f"{where}: the record before byte {location.start + location.num_bytes} has no feature {feature!r}; "
        raise DataError(f"{msg}run `shardkit verify` on the dataset")
    return features
