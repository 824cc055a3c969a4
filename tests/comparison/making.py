"""Write small datasets record by record, in milliseconds."""

import hashlib
from dataclasses import dataclass, field

import pyarrow as pa

from shardkit.dataset import example
from shardkit.dataset.features import ALWAYS, CLASS_LABEL
from shardkit.dataset.index.file import SCHEMA, ShardSummary, key_hashes, serialize_index
from shardkit.dataset.manifest import read_manifest, seal_manifest
from shardkit.dataset.tfrecord import frame
from shardkit.hashing import sha256_hex
from shardkit.naming import ShardName

NOTHING = sha256_hex(b"")
ENCODERS = {"bytes": example.bytes_feature, "int64": example.int64_feature, "float32": example.float_feature}


@dataclass(frozen=True)
class Made:
    """One example.

    Attributes:
        key: Its key.
        label: Class number; or a list of them; None without.
        image: The stored bytes.
        source: The bytes of the source file; None if they are the stored ones.
        changes: How the image was changed.
        group: Its group.
        width: Width of the image.
        values: Values of further features, as lists.
    """

    key: str
    label: int | list[int] | None = 0
    image: bytes = b"an image"
    source: bytes | None = None
    changes: str = ""
    group: str | None = None
    width: int = 4
    values: dict[str, list] = field(default_factory=dict)

    @property
    def labels(self):
        return [self.label] if isinstance(self.label, int) else self.label or []


def write_dataset(folder, splits, *, classes=("cat", "dog"), features=None, shard_size=3, label=CLASS_LABEL):
    """Write a dataset and return its manifest.

    Args:
        folder: A new folder.
        splits: Examples by split.
        classes: Class names.
        features: Further features by name.
        shard_size: Number of examples of a shard.
        label: Feature of the labels; named ``labels`` if it has a shape, left out if None.
    """
    folder.mkdir()
    name = None if label is None else "labels" if label.shape else "label"
    named = {**ALWAYS, **(features or {}), **({} if name is None else {name: label})}
    written = {}
    for split, examples in splits.items():
        parts = [examples[start : start + shard_size] for start in range(0, max(1, len(examples)), shard_size)]
        shards = [
            _write_shard(folder, ShardName(split, i, len(parts)), part, named, classes) for i, part in enumerate(parts)
        ]
        counts = [sum(number in one.labels for one in examples) for number in range(len(classes))]
        written[split] = {
            "num_examples": len(examples),
            "num_bytes": sum(shard["num_bytes"] for shard in shards),
            "class_counts": counts,
            "balance": _balance(shards),
            "shards": shards,
        }
    source = {"fingerprint": NOTHING, "layout": "class-folders", "num_files": 0, "num_bytes": 0, "skipped": {}}
    manifest = seal_manifest(
        {
            "name": "made",
            "features": dict(sorted(named.items())),
            "classes": list(classes),
            "splits": written,
            "source": source | {"groups": None, "duplicates": None},
            "options": {},
            "plan_digest": NOTHING,
            "rejected": {"num_examples": 0, "by_reason": {}},
            "files": [],
            "software": {},
        }
    )
    (folder / "manifest.json").write_bytes(manifest.to_bytes())
    return read_manifest(str(folder))


def _balance(shards):
    counts = [shard["num_examples"] for shard in shards]
    sizes = [max(1, shard["num_bytes"]) for shard in shards]
    return {
        "count_spread": max(counts) - min(counts),
        "class_spread": 0,
        "bytes_spread": round(max(sizes) / min(sizes) - 1, 6),
    }


def _write_shard(folder, name, examples, features, classes):
    framed, rows, offset = [], [], 0
    hashes = key_hashes([one.key for one in examples])
    for one, key_hash in zip(examples, hashes, strict=True):
        values = {"image": [one.image], "key": [one.key.encode()], "height": [4], "width": [one.width], **one.values}
        values |= {label: one.labels for label in ("label", "labels") if label in features and label not in one.values}
        encoded = {name: ENCODERS[features[name].dtype](tuple(values[name])) for name in features}
        data, end = example.encode_located(encoded, "image")
        framed += frame(data)
        is_single = isinstance(one.label, int)
        rows.append(
            {
                "offset": offset,
                "length": len(data),
                "key": one.key,
                "key_hash": int(key_hash),
                "label": one.label if is_single else None,
                "label_name": classes[one.label] if is_single else None,
                "labels": None if is_single or one.label is None else sorted(set(one.label)),
                "height": 4,
                "width": one.width,
                "format": "PNG",
                "image_start": end - len(one.image),
                "image_bytes": len(one.image),
                "group": one.group,
                "source_bytes": 0,
                "content_sha256": hashlib.sha256(one.image if one.source is None else one.source).digest(),
                "changes": one.changes,
            }
        )
        offset += len(data) + 16
    raw = b"".join(framed)
    (folder / name.records).write_bytes(raw)
    summary = ShardSummary(len(rows), len(raw), sha256_hex(raw), NOTHING)
    index = serialize_index(pa.Table.from_pylist(rows, schema=SCHEMA), summary)
    (folder / name.index).write_bytes(index)
    return {
        "path": name.records,
        "num_examples": len(rows),
        "num_bytes": len(raw),
        "sha256": summary.sha256,
        "index": {"path": name.index, "sha256": sha256_hex(index)},
    }
