"""The manifest as a value."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, PrivateAttr, SerializerFunctionWrapHandler, model_serializer, model_validator

from shardkit import naming
from shardkit.dataset.features import NO_LABEL, Feature
from shardkit.dataset.manifest.parts import (
    Count,
    File,
    Generation,
    GenerationSplit,
    Part,
    Rejected,
    Sha256,
    Shard,
    ShardTable,
    Source,
    Split,
)
from shardkit.dataset.manifest.records_root import check_records_root, records_root_problem, shard_path_problem
from shardkit.dataset.stored_names import stored_as_problem
from shardkit.dataset.unlabelled import unlabelled_text
from shardkit.errors import ManifestError, UnknownNameError
from shardkit.storage import Folder

ADOPTED = "adopted TFRecords"  # the layout in `source`
_OMITTED_IF_EMPTY = {"stored_as", "records_root", "withdrawn", "generations"}


class Manifest(Part):
    """The whole manifest.

    ``plan_digest`` identifies the plan from which all shards were written; every index repeats it. ``root``, the folder
    that the manifest was read from, is not part of the file.

    ``generations`` is in the file only after an append. Then ``splits``, ``classes``, ``files``, ``source`` and
    ``rejected`` describe all generations together, and ``options``, ``plan_digest`` and ``software`` are the first
    one's.

    ``withdrawn`` is the number of examples in the lists ``withdrawn.parquet``; see the module of that name. Only a
    manifest with such a list has it.

    ``stored_as`` (see `stored_names`) and ``records_root`` (see the module of that name) belong to TFRecords that were
    adopted; other manifests lack them.
    """

    format_version: int
    name: str
    features: dict[str, Feature]
    classes: list[str]
    splits: dict[str, Split]
    source: Source
    options: dict[str, Any]
    plan_digest: Sha256
    rejected: Rejected
    files: list[File]
    software: dict[str, str]
    stored_as: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    records_root: str | None = None
    withdrawn: Count = 0
    digest: Sha256
    generations: list[Generation] = Field(default_factory=list)

    _root: Folder | None = PrivateAttr(default=None)

    @model_serializer(mode="wrap")
    def _without_absent(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        return {name: value for name, value in fields.items() if value or name not in _OMITTED_IF_EMPTY}

    @model_validator(mode="after")
    def _with_valid_paths(self) -> "Manifest":
        problem = records_root_problem(self.records_root) or stored_as_problem(self.stored_as, self.features)
        if problem := problem or self.take_shards({}):
            raise ValueError(problem)
        return self

    def take_shards(self, read: Mapping[str, list[Shard]]) -> str | None:
        """Take the shards of splits that have them in tables; return what is wrong with a path, None if nothing is.

        Args:
            read: The shards of each such split.
        """
        problem: str | None = None
        for name, split in self.splits.items():
            split.shards.extend(read.get(name, ()))
            labels = range(NO_LABEL if split.num_unlabelled else 0, len(self.classes))
            for number, shard in enumerate(split.shards):
                if found := shard_path_problem(shard.path, self.records_root):
                    problem = problem or f"splits.{name}.shards.{number}.path: {found}"
                shard.set_labels(labels)
        return problem

    @property
    def is_adopted(self) -> bool:
        """Whether the records were written by others and adopted as they are."""
        return self.source.layout == ADOPTED

    @property
    def root(self) -> Folder:
        """The dataset's folder."""
        if self._root is None:
            raise ManifestError("this manifest was made in memory; only one that was read from a folder has a root")
        return self._root

    def split(self, name: str) -> Split:
        """Return a split by name; see `split_name`.

        Raises:
            UnknownNameError: There is no such split; the message lists the existing ones.
        """
        return self.splits[self.split_name(name)]

    def split_name(self, name: str) -> str:
        """Return the name of the split that a word means: ``val`` is ``validation`` unless a split has that very name.

        Raises:
            UnknownNameError: There is no such split; the message lists the existing ones.
        """
        found = naming.find_split(name, self.splits)
        if found is None:
            raise UnknownNameError(f"there is no split {name!r}; the dataset has {', '.join(self.splits)}")
        return found

    def shards(self) -> Iterator[tuple[str, Shard]]:
        """Iterate over (split name, shard), in order."""
        return ((name, shard) for name, split in self.splits.items() for shard in split.shards)

    @property
    def shard_tables(self) -> dict[str, ShardTable]:
        """The tables of shards in the file, by split; empty if it lists the shards."""
        return {name: one.shard_table for name, one in self.splits.items() if one.shard_table is not None}

    @property
    def records_place(self) -> str | None:
        """The folder of the TFRecords if it is not in the dataset's own, for messages."""
        return None if self.records_root is None else os.path.normpath(f"{self.root.url}/{self.records_root}")

    def check_records(self, root: Folder, *, where: str) -> None:
        """Check that the shards lie below `records_root`, if there is one; see `records_root.check_records_root`.

        Args:
            root: The dataset's folder.
            where: Name of the manifest for errors.

        Raises:
            ManifestError: They do not.
        """
        if self.records_root is not None:
            paths = (shard.path for _, shard in self.shards())
            check_records_root(root, self.records_root, paths, where=where)

    def path_in_records(self, shard: Shard) -> str:
        """Return the path of a shard relative to the folder of the records."""
        return shard.path if self.records_root is None else shard.path.removeprefix(f"{self.records_root}/")

    @property
    def num_with_gps(self) -> int:
        """Number of stored images whose metadata holds a GPS position."""
        return sum(shard.num_with_gps for _, shard in self.shards())

    @property
    def num_unlabelled(self) -> int:
        """Number of images that have no label on purpose."""
        return sum(split.num_unlabelled for split in self.splits.values())

    @property
    def unlabelled_text(self) -> str:
        """The sentence about images that have no label on purpose; '' if there are none."""
        return unlabelled_text({name: one.num_unlabelled for name, one in self.splits.items()}, self.features)

    @property
    def history(self) -> list[Generation]:
        """All generations, also of a dataset to which nothing was appended: the first conversion comes first."""
        if self.generations:
            return self.generations
        splits = {
            name: GenerationSplit(
                num_examples=split.num_examples,
                num_bytes=split.num_bytes,
                num_shards=len(split.shards),
                balance=split.balance,
            )
            for name, split in self.splits.items()
        }
        first = Generation(
            folder=None,
            previous=None,
            num_classes=len(self.classes),
            splits=splits,
            source=self.source,
            options=self.options,
            plan_digest=self.plan_digest,
            rejected=self.rejected,
            software=self.software,
        )
        return [first]

    def plan_digest_of(self, shard: Shard) -> str:
        """Return the digest of the plan that a shard was written from; its index repeats it."""
        folder = shard.path.rpartition("/")[0]
        found = [one.plan_digest for one in self.generations if (one.folder or "") == folder]
        return found[0] if found else self.plan_digest

    def to_bytes(self) -> bytes:
        """Return the only valid text of this manifest; `verify` compares the file with it."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False).encode() + b"\n"
