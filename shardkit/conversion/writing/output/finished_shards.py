"""Find the finished shards: a shard's index is its done mark and names the plan that the shard was written from."""

from collections.abc import Iterable, Mapping

from shardkit import naming
from shardkit.conversion.writing.output.shard_summaries import summarised_shards
from shardkit.dataset.index.file import parse_summary
from shardkit.errors import DataError
from shardkit.storage import TEMPORARY, Folder
from shardkit.storage.concurrent_reads import read_many


def is_done(output: Folder, name: naming.ShardName, plan_digest: str) -> bool:
    """Return whether a shard and a valid done mark exist, written from the plan with this digest."""
    found = output.stat(name.records)
    try:
        summary = parse_summary(output.read(name.index), where=f"{output.url}/{name.index}")
    except (FileNotFoundError, DataError):
        return False
    return found is not None and found.num_bytes == summary.num_bytes and summary.plan_digest == plan_digest


def finished_shards(output: Folder, names: Iterable[naming.ShardName], plan_digest: str) -> set[naming.ShardName]:
    """Return the names of the shards that are done, by their summaries or else by `is_done`."""
    there = {entry.name: entry.num_bytes for entry in output.scan()}
    listed = [name for name in names if name.records in there and name.index in there]
    summarised = summarised_shards(output, listed, plan_digest, there)
    candidates = [name for name in listed if name not in summarised]
    done = list(read_many(lambda name: is_done(output, name, plan_digest), candidates))
    return {*summarised, *(name for name, is_one in zip(candidates, done, strict=True) if is_one)}


def count_written(
    output: Folder, num_examples: Mapping[naming.ShardName, int], bytes_per_image: float | None = None
) -> int:
    """Return the number of images in finished shards, plus an estimate from the bytes of unfinished ones.

    Args:
        output: The output folder.
        num_examples: Number of examples of each shard.
        bytes_per_image: Expected size of an image, for the estimate until the first shard is finished; None if unknown.
    """
    entries = {entry.name: entry.num_bytes for entry in output.scan()}
    done = [name for name in num_examples if name.index in entries]
    images = sum(num_examples[name] for name in done)
    if done:
        bytes_per_image = sum(entries.get(name.records, 0) for name in done) / max(1, images)
    unfinished_bytes = sum(size for name, size in entries.items() if name.startswith(TEMPORARY))
    unfinished = int(unfinished_bytes / bytes_per_image) if bytes_per_image else 0
    return min(images + unfinished, sum(num_examples.values()))
