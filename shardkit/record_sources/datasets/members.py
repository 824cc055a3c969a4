"""The datasets of a source and their shards, as they were when the source was opened."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from shardkit.dataset.index.shards import missing_shard
from shardkit.dataset.manifest import Shard
from shardkit.dataset.stored_names import StoredAs
from shardkit.naming import counted
from shardkit.record_sources.datasets.changes import RowChanges
from shardkit.storage import Entry, Folder, os_errors_as


@dataclass(frozen=True, slots=True)
class Member:
    """One of the datasets of a source.

    Attributes:
        url: Its folder.
        digest: The digest of its manifest.
        class_names: Its classes, in label order.
        has_decoded: Whether its images were decoded before they were stored, so that they need not be again.
        key_prefix: What its keys get at their start: '' or the name of its folder and a slash.
        is_adopted: Whether others wrote its records.
        stored_as: Names of features in records that others wrote; see `dataset.stored_names`.
    """

    url: str
    digest: str
    class_names: tuple[str, ...]
    has_decoded: bool
    key_prefix: str = ""
    is_adopted: bool = False
    stored_as: StoredAs = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """A part of the source: one shard.

    Attributes:
        member: Number of its dataset.
        shard: The shard, with paths below the source's folder.
        split: Its split.
        mtime_ns: Modification time of the TFRecord file.
        changes: The rows that the user removes or corrects.
    """

    member: int
    shard: Shard
    split: str
    mtime_ns: int
    changes: RowChanges = RowChanges()  # noqa: RUF009 - frozen


def shard_files(folder: Folder, shards: list[Shard]) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and modification time of the TFRecord file of each shard; each folder is listed once.

    Raises:
        DataError: A file is missing.
    """
    found: dict[str, Entry] = {}
    for parent in dict.fromkeys(posixpath.dirname(shard.path) for shard in shards):
        with os_errors_as("list the dataset", folder.url_of(parent).rstrip("/")):
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
