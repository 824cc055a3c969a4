"""The options of a conversion that change its bytes, checked once, and their one form in JSON."""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.inventory.inventory import Check
from shardkit.planning.sizing import check_target_bytes

Dedupe = Literal["group", "drop", "ignore"]

DEFAULT_SHARD_BYTES = 128 << 20  # 128 MiB
DEFAULT_QUALITY = 95  # what FFCV and ImageNet's own resized copies use


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What changes the bytes written. Workers, runner, progress and the reject limit do not, and are not here.

    Attributes:
        name: the dataset's name, for the manifest and TFDS.
        splits: share of each split, in the order given; None to take the source's own.
        split_by: ``hash`` keeps an example in its split while data grows, ``stratified`` is exact within each class.
        shards: number for every split, or by split; None to choose from the sizes.
        shard_bytes: size aimed at, bytes.
        pipelines: number of input pipelines that will read; numbers of shards are a multiple of it.
        seed: 0 to 2**63 - 1.
        classes: label names in label order; None for the source's, sorted.
        resize: shorter side in pixels that larger images are reduced to; None to keep sizes.
        quality: of JPEGs that are encoded anew, 1 to 100, on Pillow's scale: above 95 files grow for hardly any gain.
        group_by: regular expression over keys whose first group names what stays in one split; the column of a table
            where the source has groups of its own.
        dedupe: exact duplicates, where contents are known: ``group`` keeps them in one split, ``drop`` leaves out all
            but the first key, ``ignore`` takes them as they come.
        check: ``decode`` reads and decodes every file before planning, ``header`` opens none before writing.
    """

    name: str = "dataset"
    splits: dict[str, Fraction] | None = None
    split_by: Literal["hash", "stratified"] = "hash"
    shards: int | dict[str, int] | None = None
    shard_bytes: int = DEFAULT_SHARD_BYTES
    pipelines: int = 1
    seed: int = 0
    classes: tuple[str, ...] | None = None
    resize: int | None = None
    quality: int = DEFAULT_QUALITY
    check: Check = "decode"
    group_by: str | None = None
    dedupe: Dedupe = "group"

    def __post_init__(self) -> None:
        _within("--input-pipelines", self.pipelines, 1, 1 << 16)
        _within("--seed", self.seed, 0, MAX_SEED)
        _within("--quality", self.quality, 1, 100)
        if self.resize is not None:
            _within("--resize", self.resize, 1, 1 << 16)
        if not self.name.isidentifier():
            msg = f"--name must be letters, digits and '_', not starting with a digit; found {self.name!r}"
            raise CallError(msg)
        if self.classes is not None:
            self._check_classes(self.classes)
        check_target_bytes(self.shard_bytes)
        if self.splits is not None:
            self.check_split_names(self.splits)
        if self.dedupe == "drop" and self.check == "header":
            msg = "--dedupe drop needs to know the contents; leave out --check header"
            raise CallError(msg)

    def check_split_names(self, names: Collection[str]) -> None:
        """Check that `shards` names no other splits than those that are written.

        Raises:
            CallError: it does.
        """
        unknown = sorted(set(self.shards) - set(names)) if isinstance(self.shards, dict) else []
        if unknown:
            msg = f"--shards names the split {unknown[0]!r}; the conversion writes {', '.join(names)}"
            raise CallError(msg)

    def requested_shards(self, split: str) -> int | None:
        """Return the number of shards asked for in a split, or None to choose it."""
        return self.shards.get(split) if isinstance(self.shards, dict) else self.shards

    @staticmethod
    def _check_classes(classes: tuple[str, ...]) -> None:
        seen = set[str]()
        for name in classes:
            if name in seen:
                msg = f"--classes names {name!r} twice; every class has one label"
                raise CallError(msg)
            seen.add(name)
        if not classes:
            msg = "--classes: the file names no class; write one name a line, in label order"
            raise CallError(msg)

    def as_json(self) -> dict[str, Any]:
        """The options as the manifest and the fingerprint hold them. ``classes`` are in the manifest by themselves."""
        return {
            "splits": None if self.splits is None else {name: str(share) for name, share in self.splits.items()},
            "split_by": self.split_by,
            "shards": self.shards,
            "shard_bytes": self.shard_bytes,
            "pipelines": self.pipelines,
            "seed": self.seed,
            "resize": self.resize,
            "quality": self.quality,
            "check": self.check,
            "group_by": self.group_by,
            "dedupe": self.dedupe,
        }


def _within(option: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        msg = f"{option} must be from {low} to {high}; found {value}"
        raise CallError(msg)
