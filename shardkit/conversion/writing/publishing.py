"""Publish finished shards as a dataset: check them cheaply, write the other files, and the manifest last."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from shardkit import naming, software
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.planning.choosing import nothing_left
from shardkit.conversion.planning.plan_file import PlannedDataset
from shardkit.conversion.planning.rules import PLAN_VERSION_KEY
from shardkit.conversion.writing.output.finished_shards import FinishedShard
from shardkit.conversion.writing.reject_limit import rejected_parquet
from shardkit.dataset.features import NO_LABEL
from shardkit.dataset.manifest import Balance, File, Manifest, Rejected, Split, seal_manifest, write_shard_tables
from shardkit.dataset.tfds_metadata import tfds_files
from shardkit.dataset.withdrawn import WithdrawnExamples, withdrawn_parquet
from shardkit.hashing import sha256_hex
from shardkit.naming import ShardName
from shardkit.options.words import named
from shardkit.storage import Folder

COPIES_SHOWN = 10  # keys in a sentence


def publish(
    output: Folder,
    plan: PlannedDataset,
    shards: list[FinishedShard],
    late: Iterable[Reject],
    withdrawn: pa.Table | None = None,
) -> Manifest:
    """Write the files next to the shards, then the manifest, which makes them a dataset.

    `withdrawn` has hashes of examples that stay out of the dataset; see dataset.withdrawn.
    """
    rejected = plan.with_late(late)
    if not any(one.shard.num_examples for one in shards):
        raise nothing_left(rejected, plan.source.skipped)
    of_splits: dict[str, list[FinishedShard]] = {split.name: [] for split in plan.splits}
    for one in shards:
        of_splits[ShardName.parse(one.shard.path).split].append(one)
    splits = {split: summarise_split(of_split, len(plan.classes)) for split, of_split in of_splits.items()}
    name, options = plan.description["name"], plan.description["options"]
    metadata = {
        naming.REJECTED: rejected_parquet(rejected),
        **tfds_files(name, plan.features, plan.classes, splits),
    }
    if withdrawn is not None:
        metadata[naming.WITHDRAWN] = withdrawn_parquet(withdrawn)
    files = [File(path=path, num_bytes=len(raw), sha256=sha256_hex(raw)) for path, raw in metadata.items()]
    manifest = seal_manifest(
        {
            "name": name,
            "features": plan.features,
            "classes": plan.classes,
            "splits": splits,
            "source": plan.source,
            "options": {PLAN_VERSION_KEY: plan.description[PLAN_VERSION_KEY], **options},
            "plan_digest": plan.digest,
            "rejected": Rejected(
                num_examples=len(rejected), by_reason=dict(sorted(Counter(rejected["reason"].to_pylist()).items()))
            ),
            "files": files,
            "withdrawn": 0 if withdrawn is None else len(withdrawn),
            "software": software.versions(),
        }
    )
    write_shard_tables(output, manifest)
    for path, raw in {**metadata, naming.MANIFEST: manifest.to_bytes()}.items():
        with output.atomic_write(path) as file:
            file.write(raw)
    return manifest


def copies_of_removed(plan: PlannedDataset, withdrawn: pa.Table) -> str | None:
    """Return a sentence about examples with the bytes of a removed one, which `drop` left in; None without any."""
    removed = WithdrawnExamples.of(withdrawn)
    copies = list[str]()
    for rows in plan.blocks():
        are_in = removed.are_in([None] * len(rows), rows["content_sha256"].to_pylist())
        copies += rows["key"].filter(pa.array(are_in)).to_pylist()
    if not copies:
        return None
    shown = naming.first_of([*map(naming.printable, sorted(copies))], COPIES_SHOWN)
    what = f"{naming.counted(len(copies), 'image')} of the new dataset {'has' if len(copies) == 1 else 'have'}"
    return f"{what} the bytes of a removed one: {shown}; remove copies with {named('drop')}, too"


def summarise_split(shards: Sequence[FinishedShard], num_classes: int) -> Split:
    """Return the counts and the balance of the shards of a split."""
    least, most = np.full(num_classes, np.iinfo(np.int64).max), np.zeros(num_classes, np.int64)
    total = np.zeros(num_classes, np.int64)
    num_unlabelled = 0
    for shard in shards:
        class_counts = np.zeros(num_classes, np.int64)
        has_label = shard.labels != NO_LABEL
        class_counts[shard.labels[has_label]] = shard.label_counts[has_label]
        num_unlabelled += int(shard.label_counts[~has_label].sum())
        least, most, total = np.minimum(least, class_counts), np.maximum(most, class_counts), total + class_counts
    counts = np.array([shard.shard.num_examples for shard in shards])
    num_bytes = np.array([shard.shard.num_bytes for shard in shards])
    return Split(
        num_examples=int(counts.sum()),
        num_bytes=int(num_bytes.sum()),
        class_counts=total.tolist(),
        num_unlabelled=num_unlabelled,
        balance=Balance(
            count_spread=int(np.ptp(counts)),
            class_spread=int((most - least).max(initial=0)),
            bytes_spread=round(float(max(1, num_bytes.max()) / max(1, num_bytes.min()) - 1), 6),
        ),
        shards=[shard.shard for shard in shards],
    )
