"""The elements of shardkit's transforms, with coders that every Beam SDK reads."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import coders

from shardkit.conversion.inventory.columns import Reject
from shardkit.dataset.manifest import Manifest
from shardkit.naming import MANIFEST

__all__ = ["Box", "Example", "PublishedDataset", "Reject", "WrittenDataset", "WrittenShard"]


class Box(NamedTuple):
    """An object in an image, as in TFDS: sides are fractions of the upright image's height and width, 0 to 1.

    They are pixels if the example has `boxes_width` and `boxes_height`.

    Attributes:
        label: The class.
        ymin: The upper side; like the others, counted from the upper left corner.
        xmin: The left side.
        ymax: The lower side.
        xmax: The right side.
        name: What messages call it, such as "annotation 17"; None to count.
        features: Further values, such as ``iscrowd``, as the text of a JSON object; None for none.
    """

    label: str
    ymin: float
    xmin: float
    ymax: float
    xmax: float
    name: str | None = None
    features: str | None = None


class Example(NamedTuple):
    """An image with what is known of it: an element of `ReadImages`, `CheckImages` and `WriteDataset`.

    It has its bytes or a URI, and one annotation: `label`, `labels`, `target`, `targets`, `boxes`, `mask` or
    `mask_uri`. None means not given.

    Attributes:
        key: A stable name of the image, such as a relative path: it decides the shard and the position, and with
            `splits` the split.
        image: The image as a file: JPEG, PNG and the other formats that `shardkit.convert` reads.
        uri: Path or URL of the image's file in place of its bytes: local, ``s3://`` or ``gs://``; of a member of an
            archive (``zip://cats/1.jpg::/data/pets.zip``, as fsspec writes it), or of a range of a file
            (``/data/0.tar#bytes=512-20991``, the first and the last byte). It is read twice, to be checked and when
            its shard is written, on any worker: the file must stay until the dataset is published.
        label: The class.
        labels: Any number of classes.
        target: The number, for regression.
        targets: Several numbers, as many in all examples.
        boxes: The objects.
        mask: A mask as a file, for segmentation: a PNG with the number of the class of each pixel.
        split: The split; None if the dataset has none, or if `splits` divides it.
        group: Examples of one group stay in one split, such as the photographs of a patient.
        boxes_width: Width in pixels of the picture that the boxes were drawn in, after its orientation; 0 for that of
            the image itself. None if sides are fractions.
        boxes_height: Its height, likewise.
        mask_uri: Where the mask is, in place of its bytes; see `uri`. Of a mask in a record of a dataset, the range of
            the record and the feature: ``train-00000-of-00002.tfrecord#bytes=12-20991&feature=mask``.
        mask_colours: Six hexadecimal digits for the colour of each class of the mask, by number; None if its pixels are
            the numbers of classes.
        number: The number that the source gives the class of `label`; None if it gives none. -1: the image has no label
            on purpose, among images with a label or with labels, and is stored with the label -1.
        features: Further values, as the text of a JSON object: numbers, texts, and lists of these.
        format: Of a checked image: ``JPEG``, ``PNG``, ….
        width: Of a checked image: its width in pixels as it is stored in the file, before its orientation.
        height: Likewise.
        num_bytes: Size of the image's file.
        sha256: Of a checked image: that of its file, in hexadecimal digits.
        perceptual_hash: Of a checked image: what near-identical images have in common, in hexadecimal digits; None for
            small and flat images.
        checked: Of a checked image: all that `CheckImages` has found, for `WriteDataset`.
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
    boxes_width: int | None = None
    boxes_height: int | None = None
    mask_uri: str | None = None
    mask_colours: str | None = None
    number: int | None = None
    features: str | None = None
    format: str | None = None
    width: int | None = None
    height: int | None = None
    num_bytes: int | None = None
    sha256: str | None = None
    perceptual_hash: str | None = None
    checked: str | None = None


def typed(elements: Any, label: str, element_type: Any) -> Any:
    """Elements to themselves: Beam takes types of tagged outputs from a step of their own."""
    return elements | label >> beam.Map(_same).with_output_types(element_type)


def _same(one: Any) -> Any:
    return one


class Outputs(dict[str, Any]):
    """PCollections by name, as attributes and as a dict, which Beam YAML takes."""

    def __init__(self, outputs: Iterable[tuple[str, Any]] = (), **more: Any) -> None:  # Beam copies it by pairs
        super().__init__(outputs, **more)
        vars(self).update(self)


class CheckedExamples(Outputs):
    """What `CheckImages.with_rejects` returns.

    Attributes:
        examples: An `Example` for each good image.
        rejects: A `Reject` for each other one, with its key and the reason.
    """

    examples: Any
    rejects: Any


class ReadExamples(Outputs):
    """What `ReadImages.with_rejects` returns.

    Attributes:
        examples: An `Example` for each image.
        rejects: A `Reject` for each image and record that listing rejects, such as a record without a label.
        source: What `WriteDataset` takes as `source`, one element.
    """

    examples: Any
    rejects: Any
    source: Any


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
        num_examples = sum(split.num_examples for split in manifest.splits.values())
        return cls(f"{manifest.root.url}/{MANIFEST}", manifest.digest, num_examples, manifest.rejected.num_examples)


class WrittenShard(NamedTuple):
    """A shard of a dataset that was written; the path is relative to the dataset's folder."""

    split: str
    path: str
    num_examples: int
    num_bytes: int


class WrittenDataset(Outputs):
    """What `WriteDataset` and `ConvertImages` return: no element is there before the dataset is published.

    Attributes:
        manifest: One `PublishedDataset`.
        shards: A `WrittenShard` for each shard.
        rejects: A `Reject` for each image and box that is left out, with its key and the reason: the rows of
            ``rejected.parquet``.
    """

    manifest: Any
    shards: Any
    rejects: Any


for _type in (Box, Example, PublishedDataset, Reject, WrittenShard):
    coders.registry.register_coder(_type, coders.RowCoder)
