"""What a conversion asks the dataset that its examples are appended to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.features import Feature
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.shard_indexes import parse_columns, read_indexes
from shardkit.errors import CallError, DataError
from shardkit.hashing import hash64_column
from shardkit.inventory.digests import fingerprint
from shardkit.inventory.inventory import Inventory
from shardkit.naming import counted, printable
from shardkit.planning.choosing import planned_table
from shardkit.planning.earlier_examples import EarlierExamples, Twin, rows_with
from shardkit.planning.labels import label_names
from shardkit.planning.options import ConvertOptions
from shardkit.planning.rows import Rows
from shardkit.planning.splits import grouping
from shardkit.planning.splits.assign_splits import contents_known, groups_of
from shardkit.storage import Folder

_COLUMNS = ["key", "key_hash", "content_sha256", "group", "label_name"]
_OWN_DATASET = "convert SOURCE to a dataset of its own; the reader mixes datasets"


class AlreadyAppendedError(Exception):
    """The source is one of the dataset's generations.

    Attributes:
        folder: Folder of the generation; None for the first one.
    """

    def __init__(self, folder: str | None) -> None:
        super().__init__(folder)
        self.folder = folder


@dataclass(frozen=True, slots=True)
class Addition:
    """The dataset that examples are appended to.

    Attributes:
        manifest: Its manifest, read from its folder.
        skip_existing: Whether images whose key and bytes the dataset has are left out instead of refused.
    """

    manifest: Manifest
    skip_existing: bool = False

    @property
    def root(self) -> Folder:
        """The dataset's folder."""
        return self.manifest.root

    def check_features(self, found: Mapping[str, Feature]) -> None:
        """Refuse examples with other features than those of the dataset.

        Raises:
            CallError: A feature is missing, superfluous or of another type.
        """
        wanted, what = self.manifest.features, f"of {self.root.url}"
        if missing := [name for name in wanted if name not in found]:
            msg = (
                f"SOURCE has no {missing[0]!r}, a feature of every example {what}; append a source that has it, or "
                f"{_OWN_DATASET}"
            )
            raise CallError(msg)
        if superfluous := [name for name in found if name not in wanted]:
            msg = (
                f"SOURCE has {superfluous[0]!r}, which no example {what} has; append a source without it, or "
                f"{_OWN_DATASET}"
            )
            raise CallError(msg)
        if other := [name for name in wanted if wanted[name] != found[name]]:
            one, two = (f"{part[other[0]].dtype} {list(part[other[0]].shape)}" for part in (wanted, found))
            msg = f"the feature {other[0]!r} {what} is {one}, that of SOURCE is {two}; {_OWN_DATASET}"
            raise CallError(msg)

    def earlier(self, inventory: Inventory, options: ConvertOptions) -> EarlierExamples:
        """Return what the examples of an inventory have in common with the dataset's.

        Raises:
            AlreadyAppendedError: The inventory is that of one of the dataset's generations.
            CallError: A folder of class folders was read as a class.
            DataError: The dataset has some of the keys, or is damaged.
            MachineError: An index cannot be read.
        """
        table = planned_table(inventory, options)
        found = fingerprint(table)
        for generation in self.manifest.history:
            if generation.source.fingerprint == found:
                raise AlreadyAppendedError(generation.folder)
        if inventory.layout.endswith("class folders"):
            self._refuse_wrapped_classes(table)
        good = Rows(table).filter(pc.is_null(table["reason"]).to_numpy())
        keys = good["key"]
        search = _Search.of(good, options)
        for split, index in self._indexes():
            search.add(split, index)
        existing = rows_with(keys, search.keys)
        self._refuse_existing(good, existing, search)
        known = keys.take(pa.array(existing)).to_pylist()
        contents = good["content_sha256"].take(pa.array(rows_with(good["content_sha256"], search.contents)))
        return EarlierExamples(
            self.manifest.classes,
            frozenset(known),
            {content: search.contents[content] for content in contents.to_pylist()},
            search.groups,
        )

    def _indexes(self) -> Iterator[tuple[str, pa.Table]]:
        listed = list(self.manifest.shards())
        raws = read_indexes(self.root, [shard for _, shard in listed])
        for (split, shard), raw in zip(listed, raws, strict=True):
            yield split, parse_columns(self.root, shard, raw, _COLUMNS)

    def _refuse_wrapped_classes(self, table: pa.Table) -> None:
        """Refuse a folder that became a new class although the dataset's classes are folders in it."""
        names = label_names(table)
        new = set(pc.unique(names).to_pylist()) - {*self.manifest.classes, None}
        for name in sorted(new):
            inner = table["key"][int(rows_with(names, [name])[0])].as_py().split("/")[:-1]
            below = inner[inner.index(name) + 1 :] if name in inner else []
            if below and below[0] in self.manifest.classes:
                msg = (
                    f"the folder {name!r} would become a new class, but {below[0]!r} in it is a class of "
                    f"{self.root.url}: give {name!r} itself as SOURCE, or say --layout class-folders --class-level 2"
                )
                raise CallError(msg)

    def _refuse_existing(self, good: Rows, existing: npt.NDArray[np.intp], search: "_Search") -> None:
        if not len(existing):
            return
        keys = good["key"].take(pa.array(existing)).to_pylist()
        contents = good["content_sha256"].take(pa.array(existing)).to_pylist()
        changed = [key for key, content in zip(keys, contents, strict=True) if content not in {None, search.keys[key]}]
        what = f"the key of an image is its path in SOURCE, and {self.root.url} has"
        if changed:
            msg = (
                f"{what} {counted(len(changed), 'key')} of SOURCE with other bytes, such as {printable(changed[0])!r}; "
                "append adds images and replaces none: rename the new files or their folders"
            )
            raise DataError(msg)
        if not self.skip_existing:
            msg = (
                f"{what} {counted(len(keys), 'key')} of the {len(good):,} in SOURCE already, such as "
                f"{printable(keys[0])!r}; add --skip-existing to append only the others"
            )
            raise DataError(msg)


@dataclass(frozen=True, slots=True)
class _Search:
    """Searches the dataset's indexes for what the new examples have, one index at a time.

    Attributes:
        key_hashes: int64[n], sorted hashes of the new keys.
        prefixes: uint64[n], sorted first words of the new contents; empty if they are not known.
        wanted_groups: Groups of the new examples.
        keys: Keys of the dataset whose hash is among these, each with its content.
        contents: Contents of the dataset whose first word is among these, with an example for each split.
        groups: Groups that both have, with their splits.
    """

    key_hashes: npt.NDArray[np.int64]
    prefixes: npt.NDArray[np.uint64]
    wanted_groups: pa.Array
    keys: dict[str, bytes] = field(default_factory=dict)
    contents: dict[bytes, dict[str, Twin]] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, good: Rows, options: ConvertOptions) -> "_Search":
        hashes = hash64_column(good.lazy_column("key"), seed=0, purpose="key").view(np.int64)
        contents = good.lazy_column("content_sha256")
        prefixes = grouping.digest_prefixes(contents) if contents_known(good) else np.zeros(0, np.uint64)
        groups = groups_of(good, options)
        names = pa.array([], pa.string()) if groups is None else pc.unique(groups).drop_null().cast(pa.string())
        return cls(np.sort(hashes), np.sort(prefixes), names)

    def add(self, split: str, index: pa.Table) -> None:
        """Search an index; its columns are _COLUMNS."""
        rows = index.take(_found(index["key_hash"].to_numpy(), self.key_hashes))
        self.keys.update(zip(rows["key"].to_pylist(), rows["content_sha256"].to_pylist(), strict=True))
        rows = index.take(_found(grouping.digest_prefixes(index["content_sha256"]), self.prefixes))
        columns = (rows[name].to_pylist() for name in ("content_sha256", "key", "label_name"))
        for content, key, label_name in zip(*columns, strict=True):
            self.contents.setdefault(content, {}).setdefault(split, Twin(key, label_name))
        if len(self.wanted_groups):
            both = pc.unique(index["group"].filter(pc.is_in(index["group"], self.wanted_groups)))
            for name in both.to_pylist():
                self.groups.setdefault(name, set()).add(split)


def _found(values: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> pa.Array:
    """Return the rows whose value is among sorted ones."""
    if not len(wanted):
        return pa.array([], pa.int64())
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    return pa.array(np.flatnonzero(wanted[at] == values))
