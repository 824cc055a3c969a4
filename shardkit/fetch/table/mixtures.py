"""Several datasets as one: their tables joined, and their classes reconciled by name.

In training each dataset is a separate endless stream, which returns all its examples before any of them again. Where a
dataset has fewer examples than its share of a global batch, a batch holds some of them twice.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shardkit.arguments.checks import check_no_arrays
from shardkit.dataset.features import MASK, Feature
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.stored_names import names_in_records
from shardkit.errors import CallError
from shardkit.fetch.table.records import COLUMNS, RecordTable
from shardkit.options.words import named

_LABEL_ROLES = {"class_label", "bbox", "mask"}


Dataset: TypeAlias = str | os.PathLike[str] | Manifest
"""Folder of a dataset, or its manifest."""


def read_datasets(dataset: Dataset | Sequence[tuple[Dataset, float]]) -> tuple[list[Manifest], list[float] | None]:
    """Return the manifests of one dataset or of several, and the weights of several, above 0 in any unit."""
    if isinstance(dataset, str | os.PathLike | Manifest):
        return [_manifest(dataset)], None
    check_no_arrays("dataset", dataset)
    pairs = [_pair(one) for one in dataset]
    for number, (manifest, _) in enumerate(pairs):
        for other, _ in pairs[:number]:
            # By digest: a folder has many spellings, and a copy holds the same examples.
            if manifest.digest == other.digest:
                first = "" if manifest.root.url == other.root.url else f", first as {other.root.url}"
                msg = f"dataset: {manifest.root.url} is given twice{first}; leave one out and add up the weights"
                raise CallError(msg)
    return [manifest for manifest, _ in pairs], [weight for _, weight in pairs]


def _manifest(dataset: Dataset) -> Manifest:
    return dataset if isinstance(dataset, Manifest) else read_manifest(os.fspath(dataset))


def mixed_classes(manifests: Sequence[Manifest]) -> list[str]:
    """Return the names in label order: those of the first dataset, then the new ones of each further one."""
    return list(dict.fromkeys(name for manifest in manifests for name in manifest.classes))


def check_apart(tables: Sequence[RecordTable], manifests: Sequence[Manifest]) -> None:
    """Check that no two datasets have an example in common, as versions of a dataset that grew do."""
    for number, table in enumerate(tables):
        for other, earlier in enumerate(tables[:number]):
            if shared := _num_shared(earlier, table):
                larger, smaller = (number, other) if table.num_examples >= earlier.num_examples else (other, number)
                # With their versions: those of one dataset have the same folder.
                whole, part = (f"{manifests[n].root.url}@sha256:{manifests[n].digest}" for n in (larger, smaller))
                msg = (
                    f"dataset: {shared:,} examples of {part} are in {whole} too, and an evaluation reads every "
                    f"example once: leave {part} out"
                )
                if shared < tables[smaller].num_examples:
                    msg += ", or evaluate each dataset separately"
                raise CallError(msg)


def _num_shared(one: RecordTable, other: RecordTable) -> int:
    """Return the number of examples that two tables have in common: the same records of equal shards."""
    shard_of = {shard.sha256: number for number, shard in enumerate(one.shards)}
    shared = [(shard_of[shard.sha256], number) for number, shard in enumerate(other.shards) if shard.sha256 in shard_of]
    return sum(len(np.intersect1d(_records_in(one, first), _records_in(other, second))) for first, second in shared)


def _records_in(table: RecordTable, shard: int) -> npt.NDArray[np.int64]:
    """Return the numbers of a shard's records that a table has."""
    first, stop = np.searchsorted(table.records, table.starts[shard : shard + 2])
    numbers: npt.NDArray[np.int64] = table.records[first:stop] - table.starts[shard]
    return numbers


def _pair(given: Any) -> tuple[Manifest, float]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise CallError(
            f"dataset takes several datasets as pairs of (dataset, weight), as in [('OUT', 3), ('OTHER', 1)]; found "
            f"{given.root.url if isinstance(given, Manifest) else repr(given)}"
        )
    dataset, weight = given
    if not isinstance(dataset, str | os.PathLike | Manifest):
        raise CallError(f"dataset: the first part of each pair must be a folder or a manifest; found {dataset!r}")
    manifest = _manifest(dataset)
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not (is_number and np.isfinite(float(weight)) and weight > 0):
        raise CallError(
            f"dataset: the weight of {manifest.root.url} must be a finite number above 0; found {weight!r}: correct "
            f"it, or leave the dataset out"
        )
    return manifest, float(weight)


def joined(tables: list[RecordTable], manifests: Sequence[Manifest]) -> RecordTable:
    """Return the table of all examples, dataset by dataset."""
    classes = mixed_classes(manifests)
    label_of = {name: label for label, name in enumerate(classes)}
    maps = np.full((len(tables), max(len(classes), 1)), -1, np.int64)
    for row, manifest in zip(maps, manifests, strict=True):
        row[: len(manifest.classes)] = [label_of[name] for name in manifest.classes]
    features = _common_features(tables, manifests)
    if MASK in features and any(manifest.classes != classes for manifest in manifests):
        msg = (
            "masks hold class numbers: mixed datasets need the same classes; convert them with the same "
            f"{named('classes')}"
        )
        raise CallError(msg)
    same = all(classes[: len(manifest.classes)] == manifest.classes for manifest in manifests)
    *bases, num_records = np.cumsum([0, *(int(table.starts[-1]) for table in tables)]).tolist()
    starts = [table.starts[:-1] + base for table, base in zip(tables, bases, strict=True)]
    records = [table.records + base for table, base in zip(tables, bases, strict=True)]
    names = (*COLUMNS, "is_png")
    columns: dict[str, Any] = {name: np.concatenate([getattr(table, name) for table in tables]) for name in names}
    labels = [np.where(one.label < 0, one.label, row[one.label]) for one, row in zip(tables, maps, strict=True)]
    columns["label"] = np.concatenate(labels).astype(np.int32)
    is_selection = any(table.record is not None for table in tables)
    return replace(
        tables[0],
        features=features,
        num_classes=len(classes),
        roots=[root for table in tables for root in table.roots],
        dataset=np.repeat(np.arange(len(tables)), [len(table.shards) for table in tables]),
        shards=[shard for table in tables for shard in table.shards],
        identities=[one for table in tables for one in table.identities],
        paths=[path for table in tables for path in table.paths],
        key_paths=[path for table in tables for path in table.key_paths],
        starts=np.concatenate([*starts, [num_records]]),
        record=np.concatenate(records) if is_selection else None,
        has_unlabelled=any(table.has_unlabelled for table in tables),
        relabelling=None if same else maps,
        **columns,
    )


def _common_features(tables: list[RecordTable], manifests: Sequence[Manifest]) -> Mapping[str, Feature]:
    """Return the features that all datasets store; others are dropped."""
    common = dict(tables[0].features)
    for table, manifest in zip(tables[1:], manifests[1:], strict=True):
        for name in list(common):
            if name not in table.features:
                del common[name]
            elif table.features[name] != common[name]:
                found, expected = (f"{one.dtype} {one.role}" for one in (table.features[name], common[name]))
                msg = f"{manifest.root.url}: feature {name!r} is {found}, but {expected} in {manifests[0].root.url}"
                raise CallError(msg)
            elif names_in_records(name, table.stored_as) != names_in_records(name, tables[0].stored_as):
                raise CallError(
                    f"{manifest.root.url}: feature {name!r} has another name in the records than in "
                    f"{manifests[0].root.url}; adopted TFRecords can be mixed with records of the same features only"
                )
    labels = [[name for name, one in table.features.items() if one.role in _LABEL_ROLES] for table in tables]
    for names, manifest in zip(labels[1:], manifests[1:], strict=True):
        if names != labels[0]:
            raise CallError(
                f"{manifest.root.url}: its labels are {names or 'none'}, those of {manifests[0].root.url} "
                f"{labels[0] or 'none'}; only datasets with labels of one kind can be mixed"
            )
    return common
