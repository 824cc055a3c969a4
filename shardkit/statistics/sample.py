"""Read the annotations of chosen examples, without their images."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from shardkit.dataset.example import decode, decode_features
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.shard_indexes import shard_errors
from shardkit.dataset.stored_names import with_own_names
from shardkit.errors import DataError, RecordError
from shardkit.statistics.indexes import Location
from shardkit.storage.concurrent_reads import read_many


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
