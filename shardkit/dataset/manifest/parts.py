"""The parts of a manifest: shards, splits, the source, and the generations that were appended."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from shardkit import naming


def _below_the_folder(path: str) -> str:
    if problem := naming.relative_path_problem(path):
        raise ValueError(f"path {path!r} may not be used: {problem}")
    return path


def _of_records(path: str) -> str:
    # Whether it may leave the folder is checked with the manifest's records_root.
    return path if path.startswith("../") else _below_the_folder(path)


RelativePath = Annotated[str, AfterValidator(_below_the_folder)]
RecordsPath = Annotated[str, AfterValidator(_of_records)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
MAX_COUNT = (1 << 53) - 1  # the largest whole number that all readers of JSON keep; sums of some stay below 2**63
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Part(BaseModel):
    """A part of a manifest: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class File(Part):
    """A file next to the shards; its path is relative to the manifest."""

    path: RelativePath
    num_bytes: Count
    sha256: Sha256


class Index(Part):
    """The index of a shard."""

    path: RelativePath
    sha256: Sha256


class Shard(Part):
    """One TFRecord file.

    Attributes:
        path: Path of the file; begins with the manifest's ``records_root`` if there is one.
        num_examples: Number of records.
        num_bytes: Size of the file in bytes.
        sha256: SHA-256 of the file.
        index: Its index.
        num_with_gps: Number of stored images whose metadata holds a GPS position; in the file only if there are any.
    """

    path: RecordsPath
    num_examples: Count
    num_bytes: Count
    sha256: Sha256
    index: Index
    num_with_gps: Count = 0

    # Bounds the labels in the index. The manifest sets it, so that whoever reads an index has it.
    _labels: range | None = PrivateAttr(default=None)

    @property
    def labels(self) -> range | None:
        """The labels that its split may have; None if the shard is not part of a manifest."""
        return self._labels

    def set_labels(self, labels: range) -> None:
        """Set the labels that its split may have; called by the manifest."""
        self._labels = labels

    @model_serializer(mode="wrap")
    def _without_zero(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        return {name: value for name, value in fields.items() if value or name != "num_with_gps"}


class Balance(Part):
    """Balance of the shards of a split.

    Attributes:
        count_spread: Largest minus smallest number of examples in a shard.
        class_spread: The same within one class, for the class with the largest difference.
        bytes_spread: Largest divided by smallest size of a shard, minus 1; 0.01 is 1 %.
    """

    count_spread: Count
    class_spread: Count
    bytes_spread: float


class ShardTable(File):
    """A file with the list of a split's shards; see `shard_tables`."""

    num_shards: Count


class Split(Part):
    """One split; ``class_counts`` in label order.

    ``num_unlabelled`` is the number of images that have no label on purpose; in the file only if there are any.

    The file has either ``shards`` or, if the dataset has very many, ``shard_table``; in memory there are always shards.
    """

    num_examples: Count
    num_bytes: Count
    class_counts: list[Count]
    num_unlabelled: Count = 0
    balance: Balance
    shards: list[Shard] = Field(default_factory=list)
    shard_table: ShardTable | None = None

    @property
    def num_labelled(self) -> int:
        """Number of the other examples."""
        return self.num_examples - self.num_unlabelled

    @model_serializer(mode="wrap")
    def _with_one_list(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = self if self.shard_table is None else self.model_copy(update={"shards": []})
        fields: dict[str, Any] = serialise(written)
        del fields["shard_table" if self.shard_table is None else "shards"]
        return {name: value for name, value in fields.items() if value or name != "num_unlabelled"}


class Source(Part):
    """The converted source.

    Attributes:
        fingerprint: A sha256 of keys, labels, sizes and, if known, contents.
        layout: Name of the layout.
        num_files: Number of files, including rejected ones.
        num_bytes: Size of these files in bytes.
        skipped: Number of files that are no images, by ending or reason.
        groups: Number of groups; None without groups.
        duplicates: Number of exact duplicates of other images; None if contents are not known.
        reading: How the source was read, as mappings, lists and texts; in the file only if it is known. Of a dataset
            with generations it is that of the last one that has one.
    """

    fingerprint: Sha256
    layout: str
    num_files: Count
    num_bytes: Count
    skipped: dict[str, Count]
    groups: Count | None
    duplicates: Count | None
    reading: dict[str, Any] | None = None

    @model_serializer(mode="wrap")
    def _without_reading(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        return {name: value for name, value in fields.items() if value is not None or name != "reading"}


class Rejected(Part):
    """The rejected files; their keys and messages are in ``rejected.parquet``."""

    num_examples: Count
    by_reason: dict[str, Count]


class GenerationSplit(Part):
    """What one generation adds to a split."""

    num_examples: Count
    num_bytes: Count
    num_shards: Count
    balance: Balance


class Generation(Part):
    """What one conversion wrote: the first one, or one that `shardkit append` added.

    Attributes:
        folder: Folder of its files; None for the first one, whose files are in the dataset's folder.
        previous: Digest of the manifest before it; None for the first one.
        num_classes: Number of classes of the dataset with this generation: the first ones in label order.
        splits: What it adds to each split.
        source: The source that was converted.
        options: Options of the conversion.
        plan_digest: Digest of its plan, which the index of every shard of it repeats.
        rejected: Number of rejected files.
        software: Versions that wrote it.
    """

    folder: RelativePath | None
    previous: Sha256 | None
    num_classes: Count
    splits: dict[str, GenerationSplit]
    source: Source
    options: dict[str, Any]
    plan_digest: Sha256
    rejected: Rejected
    software: dict[str, str]

    @property
    def num_examples(self) -> int:
        """Number of examples of all splits."""
        return sum(split.num_examples for split in self.splits.values())
