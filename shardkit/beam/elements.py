"""The elements of shardkit's transforms, with coders that every Beam SDK reads."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from apache_beam import coders

from shardkit.conversion.inventory.schema import Reject
from shardkit.dataset.manifest import Manifest
from shardkit.naming import MANIFEST

__all__ = ["Box", "Example", "PublishedDataset", "Reject", "WrittenDataset", "WrittenShard"]


class Box(NamedTuple):
    """An object in an image, as in TFDS: sides are fractions of the upright image's height and width, 0 to 1."""

    label: str
    ymin: float
    xmin: float
    ymax: float
    xmax: float


class Example(NamedTuple):
    """An image with what is known of it; an element of `WriteDataset`.

    It has its bytes or a URI, and one annotation: `label`, `labels`, `target`, `targets`, `boxes` or `mask`. None means
    not given.

    Attributes:
        key: A stable name of the image, such as a relative path: it decides the shard and the position, and with
            `splits` the split.
        image: The image as a file: JPEG, PNG and the other formats that `shardkit.convert` reads.
        uri: Path or URL of the image's file in place of its bytes: local, ``s3://`` or ``gs://``.
        label: The class.
        labels: Any number of classes.
        target: The number, for regression.
        targets: Several numbers, as many in all examples.
        boxes: The objects.
        mask: A mask as a file, for segmentation: a PNG with the number of the class of each pixel.
        split: The split; None if the dataset has none, or if `splits` divides it.
        group: Examples of one group stay in one split, such as the photographs of a patient.
    """

    key: str
    image: bytes | None = None
    uri: str | None = None
    label: str | None = None
    labels: Sequence[str] | None = None
    target: float | None = None
    targets: Sequence[float] | None = None
    boxes: Sequence[Box] | None = None
    mask: bytes | None = None
    split: str | None = None
    group: str | None = None


class PublishedDataset(NamedTuple):
    """A dataset that was written.

    Attributes:
        path: Path of its manifest.json.
        digest: The manifest's digest: ``FOLDER@sha256:digest`` names the dataset as it is now.
        num_examples: Number of examples of all splits.
        num_rejected: Number of rejected images and boxes.
    """

    path: str
    digest: str
    num_examples: int
    num_rejected: int

    @classmethod
    def of(cls, manifest: Manifest) -> "PublishedDataset":
        """Return the dataset of a manifest that was read from a folder."""
        num_examples = sum(split.num_examples for split in manifest.splits.values())
        return cls(f"{manifest.root.url}/{MANIFEST}", manifest.digest, num_examples, manifest.rejected.num_examples)


class WrittenShard(NamedTuple):
    """A shard of a dataset that was written; the path is relative to the dataset's folder."""

    split: str
    path: str
    num_examples: int
    num_bytes: int


class WrittenDataset(NamedTuple):
    """What `WriteDataset` returns: PCollections, which are complete once the dataset is published.

    Attributes:
        manifest: One `PublishedDataset`.
        shards: A `WrittenShard` for each shard.
        rejects: A `Reject` for each image and box that is left out, with its key and the reason.
    """

    manifest: Any
    shards: Any
    rejects: Any


for _type in (Box, Example, PublishedDataset, Reject, WrittenShard):
    coders.registry.register_coder(_type, coders.RowCoder)
