"""A dataset with an index of so many examples, whose shards are few real records that all rows point at.

python synthetic_dataset.py OUTPUT NUM_EXAMPLES [--rows-per-shard N]

The indexes have the size and the columns of real ones, keys and hashes included. All shards are links to one file.
`verify` refuses the dataset, for good reason; the reader can read it.
"""

import argparse
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from shardkit import software
from shardkit.dataset import example, tfrecord
from shardkit.dataset.features import CLASSIFICATION
from shardkit.dataset.index.file import SCHEMA, ShardSummary, serialize_index
from shardkit.dataset.manifest import Balance, Index, Manifest, Rejected, Shard, Source, Split, seal_manifest
from shardkit.hashing import sha256_hex
from shardkit.naming import ShardName

NUM_RECORDS = 64
NUM_CLASSES = 1000
SIDE = 256
WRITTEN_EARLIER = "records.tfrecord"


def records() -> tuple[bytes, list[dict[str, int]]]:
    """The bytes of a shard of NUM_RECORDS photographs-to-be, and where each lies in it."""
    framed, rows, offset = [], [], 0
    for seed in range(NUM_RECORDS):
        coarse = np.random.default_rng(seed).integers(0, 256, (SIDE // 16, SIDE // 16, 3), np.uint8)
        out = io.BytesIO()
        Image.fromarray(coarse).resize((SIDE, SIDE)).save(out, "JPEG", quality=95)
        image = out.getvalue()
        features = {
            "height": example.int64_feature((SIDE,)),
            "image": example.bytes_feature([image]),
            "key": example.bytes_feature([b"synthetic"]),
            "label": example.int64_feature((0,)),
            "width": example.int64_feature((SIDE,)),
        }
        data, image_end = example.encode_located(features, "image")
        rows.append(
            {
                "offset": offset,
                "length": len(data),
                "image_start": image_end - len(image),
                "image_bytes": len(image),
            }
        )
        framed.append(b"".join(tfrecord.frame(data)))
        offset += len(framed[-1])
    return b"".join(framed), rows


def index_table(first_id: int, count: int, places: dict[str, np.ndarray], rng: np.random.Generator) -> pa.Table:
    """The index of one shard: random labels and hashes, keys in hash order."""
    at = rng.integers(0, NUM_RECORDS, count)
    labels = rng.integers(0, NUM_CLASSES, count)
    numbers = pa.array(rng.permutation(count) + first_id).cast(pa.string())
    names = pa.DictionaryArray.from_arrays(
        pa.array(labels, pa.int32()), pa.array([f"class_{i:04d}" for i in range(NUM_CLASSES)])
    )
    columns = {name: values[at] for name, values in places.items()} | {
        "key": pc.binary_join_element_wise(names.cast(pa.string()), pc.utf8_lpad(numbers, 10, "0"), "/photo_"),
        "key_hash": rng.integers(-(1 << 63), (1 << 63) - 1, count),
        "label": labels,
        "label_name": names,
        "labels": pa.nulls(len(names), SCHEMA.field("labels").type),
        "height": np.full(count, SIDE),
        "width": np.full(count, SIDE),
        "format": ["JPEG"] * count,
        "group": [None] * count,
        "source_bytes": rng.integers(50_000, 200_000, count),
        "content_sha256": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(32), count, [None, pa.py_buffer(rng.bytes(32 * count))]
        ),
        "changes": [""] * count,
    }
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for field, column in ((field, columns[field.name]) for field in SCHEMA)
    ]
    return pa.table(arrays, names=SCHEMA.names)


def make(output: str, num_examples: int, rows_per_shard: int) -> Manifest:
    """Write shards and indexes, and return the manifest."""
    os.makedirs(output)
    raw, rows = records()
    with open(f"{output}/{WRITTEN_EARLIER}", "wb") as file:
        file.write(raw)
    places = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    sha256, rng = sha256_hex(raw), np.random.default_rng(0)
    num_shards = -(-num_examples // rows_per_shard)
    shards = []
    for shard_index in range(num_shards):
        name = ShardName("train", shard_index, num_shards)
        os.link(f"{output}/{WRITTEN_EARLIER}", f"{output}/{name.records}")
        first_id = shard_index * rows_per_shard
        count = min(rows_per_shard, num_examples - first_id)
        summary = ShardSummary(num_examples=count, num_bytes=len(raw), sha256=sha256, plan_digest="0" * 64)
        index = serialize_index(index_table(first_id, count, places, rng), summary)
        with open(f"{output}/{name.index}", "wb") as file:
            file.write(index)
        shards.append(
            Shard(
                path=name.records,
                num_examples=count,
                num_bytes=len(raw),
                sha256=sha256,
                index=Index(path=name.index, sha256=sha256_hex(index)),
            )
        )
    os.remove(f"{output}/{WRITTEN_EARLIER}")
    split = Split(
        num_examples=num_examples,
        num_bytes=num_shards * len(raw),
        class_counts=[0] * NUM_CLASSES,
        balance=Balance(count_spread=0, class_spread=0, bytes_spread=0.0),
        shards=shards,
    )
    return seal_manifest(
        {
            "name": "synthetic",
            "features": CLASSIFICATION,
            "classes": [f"class_{i:04d}" for i in range(NUM_CLASSES)],
            "splits": {"train": split},
            "source": Source(
                fingerprint="0" * 64,
                layout="class_folders",
                num_files=num_examples,
                num_bytes=0,
                skipped={},
                groups=None,
                duplicates=None,
            ),
            "options": {},
            "plan_digest": "0" * 64,
            "rejected": Rejected(num_examples=0, by_reason={}),
            "files": [],
            "software": software.versions(),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("num_examples", type=int)
    parser.add_argument("--rows-per-shard", type=int, default=4096)
    given = parser.parse_args()
    manifest = make(given.output, given.num_examples, given.rows_per_shard)
    with open(f"{given.output}/manifest.json", "wb") as file:
        file.write(manifest.to_bytes())


if __name__ == "__main__":
    main()
