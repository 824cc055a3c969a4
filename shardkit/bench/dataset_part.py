"""The first shards of a split: enough for a measurement, and small enough to stay in the page cache.

Every shard has its share of every class and of the bytes, so the first ones are like the others.
"""

from dataclasses import dataclass

from shardkit.dataset.manifest import Manifest, Shard
from shardkit.storage import LocalFolder

PART_BYTES = 512 << 20  # 512 MiB


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """The shards that are read.

    Attributes:
        url: The dataset's folder.
        split: Name of the split.
        shards: The shards, none of them empty.
        is_local: Whether they are on a file system of this host.
        num_examples: Number of examples of the whole split.
        num_bytes: Size of the whole split.
    """

    url: str
    split: str
    shards: tuple[Shard, ...]
    is_local: bool
    num_examples: int
    num_bytes: int

    @property
    def paths(self) -> list[str]:
        """Paths of the shards' files, of a local dataset."""
        return [f"{self.url}/{shard.path}" for shard in self.shards]

    @property
    def part_examples(self) -> int:
        """Number of examples in the shards that are read."""
        return sum(shard.num_examples for shard in self.shards)

    @property
    def part_bytes(self) -> int:
        """Size of the shards that are read."""
        return sum(shard.num_bytes for shard in self.shards)

    @property
    def bytes_per_image(self) -> float:
        """Mean size of a record in bytes."""
        return self.part_bytes / self.part_examples


def choose_part(manifest: Manifest, split: str, min_examples: int) -> DatasetPart:
    """Return the first shards of a split, up to `PART_BYTES` and at least one.

    Args:
        manifest: The manifest, as it was read.
        split: Name of the split.
        min_examples: Smallest number of examples, if the split has as many.
    """
    found = manifest.split(split)
    chosen: list[Shard] = []
    num_bytes = num_examples = 0
    for shard in found.shards:
        if not shard.num_examples:
            continue
        if chosen and num_examples >= min_examples and num_bytes + shard.num_bytes > PART_BYTES:
            break
        chosen.append(shard)
        num_bytes += shard.num_bytes
        num_examples += shard.num_examples
    is_local = isinstance(manifest.root, LocalFolder)
    return DatasetPart(manifest.root.url, split, tuple(chosen), is_local, found.num_examples, found.num_bytes)


def restricted(manifest: Manifest, split: str, num_shards: int) -> Manifest:
    """Return a manifest with only the first shards of a split that are not empty, for reading; labels are not used."""
    found = manifest.split(split)
    shards = [shard for shard in found.shards if shard.num_examples][:num_shards]
    part = found.model_copy(update={"shards": shards, "num_unlabelled": 0})
    return manifest.model_copy(update={"splits": {split: part}})
