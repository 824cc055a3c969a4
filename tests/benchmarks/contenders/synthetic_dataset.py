"""A dataset with an index of so many examples, whose shards are one and the same file.

python synthetic_dataset.py OUTPUT NUM_EXAMPLES [--rows-per-shard N]

The indexes have the size and the columns of real ones, keys and hashes included; a key is in every shard once. Shards
with the same number of records are links to one file.
`verify` refuses the dataset, for good reason; the reader can read it.
"""

import argparse
import io
import os

import numpy as np
import pyarrow as pa
from PIL import Image

from shardkit import software
from shardkit.dataset import example, tfrecord
from shardkit.dataset.features import CLASSIFICATION
from shardkit.dataset.index.file import SCHEMA, ShardSummary, key_hashes, serialize_index
from shardkit.dataset.manifest import Balance, Index, Manifest, Rejected, Shard, Source, Split, seal_manifest
from shardkit.hashing import sha256_hex
from shardkit.naming import ShardName

NUM_IMAGES = 64
NUM_CLASSES = 1000
SIDE = 256


def images() -> list[bytes]:
    """NUM_IMAGES photographs-to-be."""
    found = []
    for seed in range(NUM_IMAGES):
        coarse = np.random.default_rng(seed).integers(0, 256, (SIDE // 16, SIDE // 16, 3), np.uint8)
        out = io.BytesIO()
        Image.fromarray(coarse).resize((SIDE, SIDE)).save(out, "JPEG", quality=75)
        found.append(out.getvalue())
    return found


def key_of(row: int) -> str:
    return f"class_{row % NUM_CLASSES:04d}/photo_{row:010d}"


def records(count: int) -> tuple[bytes, dict[str, np.ndarray]]:
    """The bytes of a shard of so many records, and where each lies in it."""
    contents = images()
    framed, rows, offset = [], [], 0
    for row in range(count):
        image = contents[row % NUM_IMAGES]
        features = {
            "height": example.int64_feature((SIDE,)),
            "image": example.bytes_feature([image]),
            "key": example.bytes_feature([key_of(row).encode()]),
            "label": example.int64_feature((row % NUM_CLASSES,)),
            "width": example.int64_feature((SIDE,)),
        }
        data, image_end = example.encode_located(features, "image")
        rows.append((offset, len(data), image_end - len(image), len(image)))
        framed.append(b"".join(tfrecord.frame(data)))
        offset += len(framed[-1])
    names = ("offset", "length", "image_start", "image_bytes")
    return b"".join(framed), dict(zip(names, np.array(rows, np.int64).T, strict=True))


def index_table(places: dict[str, np.ndarray], rng: np.random.Generator) -> pa.Table:
    """The index of one shard; hashes of images are random."""
    count = len(places["offset"])
    labels = np.arange(count) % NUM_CLASSES
    names = pa.DictionaryArray.from_arrays(
        pa.array(labels, pa.int32()), pa.array([f"class_{i:04d}" for i in range(NUM_CLASSES)])
    )
    keys = [key_of(row) for row in range(count)]
    columns = places | {
        "key": keys,
        "key_hash": key_hashes(keys),
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
    rng = np.random.default_rng(0)
    num_shards = -(-num_examples // rows_per_shard)
    shards, counts, first_of = [], [], {}
    for shard_index in range(num_shards):
        name = ShardName("train", shard_index, num_shards)
        count = min(rows_per_shard, num_examples - shard_index * rows_per_shard)
        if count not in first_of:
            raw, places = records(count)
            with open(f"{output}/{name.records}", "wb") as file:
                file.write(raw)
            first_of[count] = name.records, len(raw), sha256_hex(raw), places
        else:
            os.link(f"{output}/{first_of[count][0]}", f"{output}/{name.records}")
        _, num_bytes, sha256, places = first_of[count]
        summary = ShardSummary(num_examples=count, num_bytes=num_bytes, sha256=sha256, plan_digest="0" * 64)
        table = index_table(places, rng)
        counts.append(np.bincount(table["label"].to_numpy(), minlength=NUM_CLASSES))
        index = serialize_index(table, summary)
        with open(f"{output}/{name.index}", "wb") as file:
            file.write(index)
        shards.append(
            Shard(
                path=name.records,
                num_examples=count,
                num_bytes=num_bytes,
                sha256=sha256,
                index=Index(path=name.index, sha256=sha256_hex(index)),
            )
        )
    sizes = np.array([(shard.num_examples, shard.num_bytes) for shard in shards])
    split = Split(
        num_examples=num_examples,
        num_bytes=int(sizes[:, 1].sum()),
        class_counts=np.sum(counts, 0).tolist(),
        balance=Balance(
            count_spread=int(np.ptp(sizes[:, 0])),
            class_spread=int(np.ptp(counts, 0).max()),
            bytes_spread=round(float(sizes[:, 1].max() / sizes[:, 1].min() - 1), 6),
        ),
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
