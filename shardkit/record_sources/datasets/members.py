"""The datasets of a source and their shards, as they were when the source was opened."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from shardkit.dataset.index.shards import missing_shard
from shardkit.dataset.manifest import Shard
from shardkit.dataset.stored_names import StoredAs
from shardkit.record_sources.datasets.changes import RowChanges
from shardkit.storage import Entry, Folder, os_errors_as


@dataclass(frozen=True, slots=True)
class Member:
    """One of the datasets of a source."""

    url: str  # of its folder
    digest: str  # of its manifest
    class_names: tuple[str, ...]  # in label order
    has_decoded: bool  # its images, before they were stored: they need not be again
    key_prefix: str = ""  # what its keys get at their start: '' or the name of its folder and a slash
    is_adopted: bool = False  # others wrote its records
    stored_as: StoredAs = field(default_factory=dict)  # see `dataset.stored_names`
    has_unlabelled: bool = False  # whether some of its images have no label on purpose


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """A part of the source: one shard."""

    member: int  # number of its dataset
    shard: Shard  # with paths below the source's folder
    split: str
    mtime_ns: int  # of the TFRecord file
    changes: RowChanges = RowChanges()  # noqa: RUF009 - frozen


def shard_files(folder: Folder, shards: list[Shard]) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and modification time of the TFRecord file of each shard; each folder is listed once."""
    found: dict[str, Entry] = {}
    for parent in dict.fromkeys(posixpath.dirname(shard.path) for shard in shards):
        with os_errors_as("list the dataset", folder.url_of(parent).rstrip("/")):
            found |= {posixpath.join(parent, entry.name): entry for entry in folder.scan(parent)}
    for shard in shards:
        entry = found.get(shard.path)
        if entry is None:
            raise missing_shard(folder, shard.path)
        yield shard.path, entry.num_bytes, entry.mtime_ns
