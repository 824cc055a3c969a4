"""What a conversion asks the dataset that its examples are appended to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.inventory.table import fingerprint
from shardkit.conversion.planning.choosing import planned_table
from shardkit.conversion.planning.earlier_examples import EARLIER_SCHEMA, EarlierExamples, rows_with
from shardkit.conversion.planning.labels import label_names
from shardkit.conversion.planning.plan_file import PlannedDataset
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.own_splits import groups_refusal
from shardkit.conversion.writing.appending.search import PLACE, DatasetSearch
from shardkit.conversion.writing.seen_rejects import usable_rejects
from shardkit.dataset.features import Feature
from shardkit.dataset.index.shards import parse_columns, read_indexes
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.withdrawn import WithdrawnExamples, joined, read_withdrawn, without
from shardkit.errors import CallError, DataError
from shardkit.hashing import COLUMN_BLOCK
from shardkit.layouts import DATASET_LAYOUT
from shardkit.naming import counted, printable
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.parallel.for_each import JobEnd
from shardkit.refusals import RefusalError
from shardkit.sources import Source
from shardkit.sources.readings.values import PathPart
from shardkit.storage import Folder

_COLUMNS = [
    *("key", "key_hash", "content_sha256", "perceptual_hash", "group", "label_name", "source_bytes", "changes"),
    *PLACE,
]
_OWN_DATASET = "convert SOURCE to a dataset of its own; the reader mixes datasets"


class AlreadyAppendedError(JobEnd):
    """The source is one of the dataset's generations, in the folder `folder`; None is the first one."""


@dataclass(frozen=True, slots=True)
class Addition:
    """The dataset that examples are appended to."""

    manifest: Manifest  # its manifest, read from its folder
    skip_existing: bool = False  # whether images whose key and bytes the dataset has are left out instead of refused
    readmit: bool = False  # whether images that were removed from the dataset may come in again

    def __reduce__(self) -> tuple[Any, ...]:
        # A job's graph carries the dataset's name, not the list of its shards.
        pinned = f"{self.root.url}@sha256:{self.manifest.digest}"
        return _read_addition, (pinned, self.skip_existing, self.readmit)

    @property
    def root(self) -> Folder:
        return self.manifest.root

    def check_features(self, found: Mapping[str, Feature]) -> None:
        """Refuse examples with other features than those of the dataset."""
        wanted, what = self.manifest.features, f"of {self.root.url}"
        if missing := [name for name in wanted if name not in found]:
            raise CallError(
                f"SOURCE has no {missing[0]!r}, a feature of every example {what}; append a source that has it, or "
                f"{_OWN_DATASET}"
            )
        if superfluous := [name for name in found if name not in wanted]:
            raise CallError(
                f"SOURCE has {superfluous[0]!r}, which no example {what} has; append a source without it, or "
                f"{_OWN_DATASET}"
            )
        if other := [name for name in wanted if wanted[name] != found[name]]:
            one, two = (f"{part[other[0]].dtype} {list(part[other[0]].shape)}" for part in (wanted, found))
            raise CallError(f"the feature {other[0]!r} {what} is {one}, that of SOURCE is {two}; {_OWN_DATASET}")

    def earlier(self, source: Source, inventory: Inventory, options: ConvertOptions) -> EarlierExamples:
        """Return what an inventory has in common with the dataset; AlreadyAppendedError: it is that of a generation."""
        table = planned_table(inventory, options)
        found = fingerprint(table, inventory.origin)
        readmits = self.readmit and self.manifest.withdrawn  # then the generation may lack what was removed
        for generation in () if readmits else self.manifest.history:
            if generation.source.fingerprint == found and not usable_rejects(
                source, table, self.manifest, generation, options.accept
            ):
                raise AlreadyAppendedError({"folder": generation.folder})
        if inventory.layout.endswith("class folders"):
            refuse_wrapped_classes(table, self.manifest)
        good = Rows(table).filter(pc.is_null(table["reason"]).to_numpy())
        keys = good["key"]
        try:
            search = DatasetSearch(good, options)
        except CallError as error:  # with check=header, the listing was not checked for groups
            raise groups_refusal(error, options) from None
        depths = set[int]()
        for split, path, index, has_sizes in self._indexes():
            search.add(split, path, index, has_sizes=has_sizes)
            depths.update(pc.unique(pc.count_substring(index["key"], "/")).to_pylist())
        refuse_other_depth(source, keys, depths)
        rows = pa.concat_tables(search.found or [EARLIER_SCHEMA.empty_table()])
        near = search.near(self.root, inventory.thumbnails)
        earlier = EarlierExamples(self.manifest.classes, rows, self._withdrawn(table), *near)
        self._refuse_existing(good, earlier.sharing("key", keys))
        return earlier

    def _indexes(self) -> Iterator[tuple[str, str, pa.Table, bool]]:
        """Yield split, path and index of each shard, and whether its sizes are those of raw files."""
        listed = list(self.manifest.shards())
        of_datasets = {one.folder or "" for one in self.manifest.history if one.source.layout == DATASET_LAYOUT}
        raws = read_indexes(self.root, [shard for _, shard in listed])
        for (split, shard), raw in zip(listed, raws, strict=True):
            has_sizes = shard.path.rpartition("/")[0] not in of_datasets
            yield split, shard.path, parse_columns(self.root, shard, raw, _COLUMNS), has_sizes

    def _withdrawn(self, table: pa.Table) -> frozenset[str]:
        """Return the keys of an inventory, also of bad files, that were removed from the dataset."""
        if self.readmit or not self.manifest.withdrawn:
            return frozenset()
        examples = WithdrawnExamples.of(read_withdrawn(self.manifest))
        found = set[str]()
        for start in range(0, len(table), COLUMN_BLOCK):
            rows = table.select(["key", "content_sha256"]).slice(start, COLUMN_BLOCK)
            keys = rows["key"].to_pylist()
            are_in = examples.are_in(keys, rows["content_sha256"].to_pylist())
            found |= {keys[row] for row in np.flatnonzero(are_in).tolist()}
        return frozenset(found)

    def withdrawn_after(self, of_source: pa.Table | None, plan: PlannedDataset) -> pa.Table | None:
        """Return the dataset's list of removed examples after the append; None if it stays as it is.

        `of_source` is the list of the source, if that is a dataset.
        """
        if not (of_source is not None or (self.readmit and self.manifest.withdrawn)):
            return None
        before = read_withdrawn(self.manifest)
        after = joined([before] if of_source is None else [before, of_source])
        for rows in plan.blocks() if self.readmit else ():
            after = without(after, rows["key"].to_pylist(), rows["content_sha256"].to_pylist())
        return None if after.equals(before) else after

    def _refuse_existing(self, good: Rows, existing: Mapping[int, Sequence[Mapping[str, Any]]]) -> None:
        if not existing:
            return
        new = good.take(np.array([*existing])).select(["key", "content_sha256", "source_bytes"]).to_pylist()
        keys = [one["key"] for one in new]
        changed = [
            one["key"] for one, (old, *_) in zip(new, existing.values(), strict=True) if _is_other_file(one, old)
        ]
        what = f"the key of an image is its path in SOURCE, and {self.root.url} has"
        if changed:
            raise DataError(
                f"{what} {counted(len(changed), 'key')} of SOURCE with other bytes, such as {printable(changed[0])!r}; "
                "append adds images and replaces none: rename the new files or their folders"
            )
        if not self.skip_existing:
            raise DataError(
                f"{what} {counted(len(keys), 'key')} of the {len(good):,} in SOURCE already, such as "
                f"{printable(keys[0])!r}; add {named('skip_existing', True)} to append only the others"
            )


def _is_other_file(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Return whether a file is certainly another one than that of an example; without its content, the size tells."""
    if new["content_sha256"] is not None:
        return bool(new["content_sha256"] != old["content_sha256"])
    return None not in {new["source_bytes"], old["source_bytes"]} and new["source_bytes"] != old["source_bytes"]


def _read_addition(pinned: str, skip_existing: bool, readmit: bool) -> Addition:  # noqa: FBT001 - pickle's arguments
    return Addition(read_manifest(pinned), skip_existing, readmit)


def refuse_wrapped_classes(table: pa.Table, manifest: Manifest) -> None:
    """Refuse a folder that became a new class although the dataset's classes are folders in it."""
    names = label_names(table)
    new = set(pc.unique(names).to_pylist()) - {*manifest.classes, None}
    wrapping: dict[str, tuple[int, str]] = {}
    for name in sorted(new):
        inner = table["key"][int(rows_with(names, [name])[0])].as_py().split("/")[:-1]
        below = inner[inner.index(name) + 1 :] if name in inner else []
        if below and below[0] in manifest.classes:
            wrapping[name] = inner.index(name) + 1, below[0]
    if not wrapping:
        return
    name, (level, known) = next(iter(wrapping.items()))
    problem = (
        f"the folder {name!r} would become a new class, but {known!r} in it is a class of {manifest.root.url}: it "
        "stands above the classes"
    )
    changes = [Change(f"folders such as {known!r} are the classes", {"label": f"path:{level}"})]
    changes += [Change(f"only {one}/ is read", inside=one) for one, (at, _) in wrapping.items() if at == 1]
    raise RefusalError(problem, changes)


def refuse_other_depth(source: Source, keys: pa.ChunkedArray, depths: set[int]) -> None:
    """Refuse images that are all in folders of another depth, if the dataset remembers which folder is the label."""
    label = None if source.reading is None else source.reading.label
    if label is None or not isinstance(label.origin, PathPart) or label.origin.path < 0:
        return
    found = set(pc.unique(pc.count_substring(keys, "/")).to_pylist())
    if not found or found & depths:
        return
    own, earlier = (" or ".join(map(str, sorted(one))) for one in (found, depths))
    where = f"are in {own} folders, where those of the dataset are in {earlier}"
    level = label.origin.path + min(found) - min(depths)
    changes = [Change("as many levels deeper or higher", {"label": f"path:{level}"})] if level >= 0 else []
    error = RefusalError(f"all images of SOURCE, such as {printable(keys[0].as_py())}, {where}", changes)
    refused = source.misfit(error)
    if refused is not error:
        raise refused
