"""The stored record of an example: its place, what the dataset says of all records, and the checks of reading it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardkit import images
from shardkit.dataset.features import IMAGE, Feature
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.readopting import made_again
from shardkit.dataset.stored_names import StoredAs, with_own_names
from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.errors import DataError, RecordError
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class Location:
    """The place of a record.

    Attributes:
        dataset: URL of the dataset's folder.
        shard: Path of the TFRecord file in it.
        record: Number of the record in the shard, from 0.
        offset: Offset of the record's frame in the shard, in bytes.
        num_bytes: Length of the record's data in bytes, without the frame.
    """

    dataset: str
    shard: str
    record: int
    offset: int
    num_bytes: int

    @property
    def end(self) -> int:
        """Offset of the first byte after the record's frame."""
        return self.offset + self.num_bytes + OVERHEAD_BYTES

    def __str__(self) -> str:
        return f"{self.dataset}/{self.shard}, record {self.record}"


@dataclass(frozen=True, slots=True)
class Schema:
    """What all examples of a dataset share.

    Attributes:
        dataset: URL of the dataset's folder.
        features: The manifest's features.
        class_names: The manifest's class names, in label order.
        stored_as: Names of features in records that others wrote; see `dataset.stored_names`. Empty for shardkit's own.
        encoded_names: The names of the features as records have them.
        required: The same, as a set.
    """

    dataset: str
    features: Mapping[str, Feature]
    class_names: Sequence[str]
    stored_as: StoredAs
    encoded_names: Mapping[str, bytes] = field(init=False)
    required: frozenset[bytes] = field(init=False)

    def __post_init__(self) -> None:
        encoded = {name: name.encode() for name in self.features}
        object.__setattr__(self, "encoded_names", encoded)
        object.__setattr__(self, "required", frozenset(encoded.values()))

    @classmethod
    def of(cls, manifest: Manifest) -> "Schema":
        """Return the schema of a dataset."""
        return cls(manifest.root.url, manifest.features, manifest.classes, manifest.stored_as)


def stored_ending(image: bytes) -> str:
    """Return the ending for the file of an image or mask as datasets store it: ``jpg`` or ``png``."""
    return "jpg" if image.startswith(b"\xff\xd8") else "png"


def damaged(root: Folder, path: str, record: int, key: str, error: RecordError) -> RecordError:
    """Return the error of a record that does not match its CRCs, with the record's place and the remedy."""
    return RecordError(f"{root.url}/{path}, record {record} ({key}): {error}; restore the shard or {made_again(root)}")


def adopted_values(
    stored: dict[str, list[Any]], stored_as: StoredAs, features: Mapping[str, Feature], key: str, location: Location
) -> dict[str, list[Any]]:
    """Return the values of a record by the manifest's names, with those that the record lacks.

    Args:
        stored: Values by the names in the record, as `example.decode` returns them.
        stored_as: Names in the records by feature.
        features: The dataset's features.
        key: The example's key, from the index.
        location: The place of the record, for errors.

    Raises:
        RecordError: The sides of the boxes have different numbers of values; the message does not name the record.
        DataError: The record has no image, or its header cannot be read.
    """
    try:
        values = with_own_names(stored, stored_as, features)
        if stored_as.get("key") == ():
            values["key"] = [key.encode()]
        if "height" in stored_as or "width" in stored_as:
            image = values.get(IMAGE)
            info = images.inspect(bytes(image[0]) if image else b"")
            values |= {"height": [info.height], "width": [info.width]}
    except images.BadImage as error:
        raise DataError(f"{location} ({key}): {error}") from error
    return values
