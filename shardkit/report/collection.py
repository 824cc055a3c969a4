"""The interface of what a report is about: a dataset, or a source and its plan."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.dataset.features import LABEL, Feature
from shardkit.dataset.manifest import Balance
from shardkit.dataset.manifest.parts import GenerationSplit

if TYPE_CHECKING:
    from PIL.Image import Image

Numbers = npt.NDArray[np.int64]
HEADER_BYTES = 128 << 10  # 128 KiB: the headers of a photograph, with EXIF and an ICC profile


class Header(NamedTuple):
    """The beginning of an encoded image.

    Attributes:
        data: Its first HEADER_BYTES.
        is_stored: Whether this encoding is what the dataset has, or would have: False for a file whose pixels the
            conversion changes, such as a photograph that it turns upright.
    """

    data: bytes
    is_stored: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive examples of one split, as columns.

    Examples have numbers from 0, in the order of splits, shards and records.

    Attributes:
        split: Number of the split.
        start: Number of the first example.
        key_hash: int64[n], see `shardkit.dataset.index.file.key_hashes`.
        labels: int32[m], the labels of all examples end to end.
        num_labels: int64[n], number of labels of each example.
        width: int32[n], in pixels; 0 if it is not known.
        height: int32[n], in pixels; 0 if it is not known.
        image_bytes: int64[n], size of the encoded image.
        contents: uint64[n], the first 64 bits of the sha256 of each raw file; None if contents are not known.
        hashed: The rows that have a perceptual hash, and the hashes, uint64[m, 2].
        groups: uint64[n], hash of each example's group, 0 without one; None without groups.
        targets: uint64[n], hash of the numbers of a regression label; None if they are not in the columns.
        formats: Number of images of each format.
        changes: Number of images with each set of changes, separated by commas.
    """

    split: int
    start: int
    key_hash: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    num_labels: npt.NDArray[np.int64]
    width: npt.NDArray[np.int32]
    height: npt.NDArray[np.int32]
    image_bytes: npt.NDArray[np.int64]
    contents: npt.NDArray[np.uint64] | None
    hashed: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]
    groups: npt.NDArray[np.uint64] | None
    targets: npt.NDArray[np.uint64] | None
    formats: Mapping[str, int]
    changes: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.key_hash)


@dataclass(frozen=True, slots=True)
class Split:
    """One split.

    Attributes:
        name: Name of the split.
        class_counts: int64[num_classes], number of examples of each class; empty without classes.
        shard_counts: int64[num_shards], number of examples of each shard.
        shard_bytes: int64[num_shards], size of each shard in bytes; None before the conversion.
        num_bytes: Size of the shards in bytes; before the conversion that of the raw files.
        balance: Balance of all shards.
        generations: Folder and part of each generation, after an append; '' is the folder of the first.
        num_unlabelled: Number of images that have no label on purpose.
    """

    name: str
    class_counts: npt.NDArray[np.int64]
    shard_counts: npt.NDArray[np.int64]
    shard_bytes: npt.NDArray[np.int64] | None
    num_bytes: int
    balance: Balance
    generations: Sequence[tuple[str, GenerationSplit]] = ()
    num_unlabelled: int = 0

    @property
    def num_examples(self) -> int:
        """Number of examples."""
        return int(self.shard_counts.sum())


class Picture(NamedTuple):
    """An example to look at.

    Attributes:
        key: Its key.
        split: Name of its split.
        labels: Its classes or numbers, as text.
        size: Width and height in pixels.
        image: The picture with boxes and masks drawn in; None if it cannot be read.
        problem: Why it cannot be read; '' if it can.
    """

    key: str
    split: str
    labels: str
    size: tuple[int, int]
    image: "Image | None"
    problem: str = ""


class Member(NamedTuple):
    """An example of a set of copies: its key, split and labels."""

    key: str
    split: str
    labels: tuple[str, ...]


class RejectedFile(NamedTuple):
    """A rejected file, and what is left of its picture."""

    key: str
    reason: str
    message: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Rejects:
    """The rejected files.

    Attributes:
        by_reason: Number of files by reason.
        first: The first of each reason.
        num_files: Number of files of the source, rejected ones included.
    """

    by_reason: Mapping[str, int]
    first: Sequence[RejectedFile]
    num_files: int

    @property
    def num_rejected(self) -> int:
        """Number of rejected files."""
        return sum(self.by_reason.values())


@dataclass(frozen=True, slots=True)
class Origin:
    """How a collection was made.

    Attributes:
        command: The conversion as a command.
        rows: Further facts: names and values.
        versions: Names and versions of the software that decides the bytes.
        hosts: Number of input pipelines that the conversion was planned for.
        is_resized: Whether the conversion will reduce images that are counted as they are before it.
        split_by: "own" for splits of the source, else the value of `split_by`; '' if it is not known.
        skipped: Number of skipped files by ending or reason.
        num_groups: Number of groups; None without groups.
        num_gps: Number of images with a GPS position; None if they were not counted.
        num_duplicates: Number of exact duplicates of other images; None if contents are not known.
        leaks_listing: The command that lists all images and groups in several splits.
    """

    command: str
    rows: Sequence[tuple[str, str]]
    versions: Sequence[tuple[str, str]] = ()
    hosts: int = 1
    is_resized: bool = False
    split_by: str = ""
    skipped: Mapping[str, int] = field(default_factory=dict)
    num_groups: int | None = None
    num_duplicates: int | None = None
    num_gps: int | None = None
    leaks_listing: str = ""


class Collection(Protocol):
    """What a report is about."""

    @property
    def title(self) -> str:
        """Its name."""

    @property
    def place(self) -> str:
        """Its URL or path."""

    @property
    def is_dataset(self) -> bool:
        """Whether it is a dataset; otherwise it is a source with its plan."""

    @property
    def classes(self) -> Sequence[str]:
        """Class names in label order."""

    @property
    def features(self) -> Mapping[str, Feature]:
        """Features of the examples."""

    @property
    def splits(self) -> Sequence[Split]:
        """The splits, in order."""

    @property
    def origin(self) -> Origin:
        """How it was made."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings of the plan; () for a dataset."""

    def batches(self) -> Iterator[Batch]:
        """Yield all examples as columns, in the order of their numbers."""

    def pictures(self, numbers: Numbers, side: int) -> Iterator[Picture]:
        """Yield examples as pictures of at most `side` pixels a side, in the order of the numbers."""

    def members(self, numbers: Numbers) -> list[Member]:
        """Return the key, the split and the labels of examples, in the order of the numbers."""

    def annotations(self, numbers: Numbers, feature: str) -> Iterator[dict[str, Any]]:
        """Yield the features of examples behind the image, as records hold them."""

    def headers(self, numbers: Numbers) -> Iterator[Header]:
        """Yield the headers of the encoded images of examples."""

    def rejects(self, per_reason: int) -> Rejects:
        """Return the rejected files, at most `per_reason` of each reason one by one."""

    def rejected_picture(self, key: str, side: int) -> "Image | None":
        """Return the picture of a rejected file; None if it does not open."""


def has_one_class(collection: Collection) -> bool:
    """Return whether `labels` of a conversion corrects its labels: it is a dataset, and each image has one class."""
    feature = collection.features.get(LABEL)
    return collection.is_dataset and feature is not None and feature.role == "class_label"


def total_class_counts(splits: Sequence[Split]) -> npt.NDArray[np.int64]:
    """Return int64[num_classes], number of examples of each class in all splits."""
    if not splits:
        return np.zeros(0, np.int64)
    total: npt.NDArray[np.int64] = np.sum([split.class_counts for split in splits], axis=0, dtype=np.int64)
    return total


def learned_split(splits: Sequence[Split]) -> Split:
    """Return the split that models learn from: "train", or the first of at least one."""
    return next((split for split in splits if split.name == "train"), splits[0])
