"""Find the TFRecord files of shards, and compare their sizes with the manifest."""

import posixpath
from collections.abc import Iterator

from shardkit.dataset.manifest import Shard
from shardkit.dataset.shard_indexes import missing_shard
from shardkit.naming import counted
from shardkit.storage import Entry, Folder, os_errors_as


def shard_files(folder: Folder, shards: list[Shard]) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and modification time of the TFRecord file of each shard; each folder is listed once.

    Raises:
        DataError: A file is missing.
    """
    found: dict[str, Entry] = {}
    for parent in dict.fromkeys(posixpath.dirname(shard.path) for shard in shards):
        with os_errors_as("list the dataset", f"{folder.url}/{parent}".rstrip("/")):
            found |= {posixpath.join(parent, entry.name): entry for entry in folder.scan(parent)}
    for shard in shards:
        entry = found.get(shard.path)
        if entry is None:
            raise missing_shard(folder, shard.path)
        yield shard.path, entry.num_bytes, entry.mtime_ns


def size_problem(path: str, found: int, shard: Shard) -> str | None:
    """Return why a TFRecord file cannot be the manifest's; None if it can."""
    if found == shard.num_bytes:
        return None
    return f"{path}: the shard has {counted(found, 'byte')}, the manifest says {shard.num_bytes:,}"
