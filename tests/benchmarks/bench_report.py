"""Time and memory of `shardkit report` on a dataset with a million examples and many classes.

    python tests/benchmarks/bench_report.py

The records are those of one shard of 1,000 made images, which all shards share; the indexes are all different. So the
dataset takes little space, and the report reads as many index rows and as many pictures as on a real one.
"""

import argparse
import io
import sys
from pathlib import Path

import numpy as np
from timing import Contender, print_table, run, shardkit, work_folder

PER_SHARD = 1000
TARGET_SECONDS, TARGET_MIB, TARGET_PAGE = 30, 1 << 10, 5_000_000
SIZES = ((500, 375), (375, 500), (640, 480), (333, 500))


def make_images(folder):
    from PIL import Image

    random = np.random.default_rng(0)
    for number in range(PER_SHARD):
        width, height = SIZES[number % len(SIZES)]
        small = Image.fromarray(random.integers(0, 256, (12, 16, 3), np.uint8))
        out = io.BytesIO()
        small.resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", quality=85)
        path = folder / f"class_{number % 10}" / f"{number:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(out.getvalue())


def prepared_dataset(folder, num_examples, num_classes):
    """Return a dataset in a folder, which keeps it for the next call."""
    if not (folder / "dataset" / "manifest.json").exists():
        make_images(folder / "images")
        options = ("--shards", 1, "--check", "header", "--quiet")
        run(Contender("one shard", shardkit("convert", folder / "images", folder / "one", *options)))
        make_dataset(folder, num_examples, num_classes)
    return folder / "dataset"


def make_dataset(folder, num_examples, num_classes):
    """Write a dataset whose shards are links to one file."""
    import pyarrow as pa

    from shardkit.dataset.index.file import ShardSummary, key_hashes, serialize_index
    from shardkit.dataset.index.shards import read_columns
    from shardkit.dataset.manifest import Index, Shard, digest_of, read_manifest
    from shardkit.hashing import sha256_hex
    from shardkit.naming import ShardName

    one = read_manifest(str(folder / "one"))
    (shard,) = one.splits["train"].shards
    base = read_columns(one.root, shard)
    dataset = folder / "dataset"
    dataset.mkdir()
    random = np.random.default_rng(1)
    num_shards = num_examples // PER_SHARD
    # Few large classes and many small ones, as in photographs of animals.
    shares = 1 / np.arange(1, num_classes + 1) ** 0.8
    classes = [f"class {number:05d} of the long tail" for number in range(num_classes)]
    splits = {"train": range(num_shards * 9 // 10), "validation": range(num_shards - num_shards * 9 // 10)}
    made = {}
    for split, numbers in splits.items():
        shards, counts = [], np.zeros(num_classes, np.int64)
        for number in numbers:
            name = ShardName(split, number, len(numbers))
            (dataset / name.records).hardlink_to(folder / "one" / shard.path)
            labels = random.choice(num_classes, PER_SHARD, p=shares / shares.sum())
            counts += np.bincount(labels, minlength=num_classes)
            keys = [f"{split}/{number:05d}/{row:04d}.jpg" for row in range(PER_SHARD)]
            columns = {
                "key": pa.array(keys),
                "key_hash": pa.array(key_hashes(keys)),
                "label": pa.array(labels, pa.int32()),
                "label_name": pa.array([classes[label] for label in labels]).dictionary_encode(),
                "perceptual_hash": pa.array([random.bytes(16) for _ in keys], pa.binary(16)),
                "content_sha256": pa.array([random.bytes(32) for _ in keys], pa.binary(32)),
            }
            table = base
            for column, values in columns.items():
                table = table.set_column(table.column_names.index(column), column, values)
            raw = serialize_index(table, ShardSummary(PER_SHARD, shard.num_bytes, shard.sha256, one.plan_digest))
            (dataset / name.index).write_bytes(raw)
            index = Index(path=name.index, sha256=sha256_hex(raw))
            shards.append(shard.model_copy(update={"path": name.records, "index": index}))
        balance = one.splits["train"].balance
        made[split] = one.splits["train"].model_copy(
            update={
                "num_examples": len(shards) * PER_SHARD,
                "num_bytes": len(shards) * shard.num_bytes,
                "class_counts": counts.tolist(),
                "shards": [*map(Shard.model_validate, shards)],
                "balance": balance,
            }
        )
    manifest = one.model_copy(update={"splits": made, "classes": classes})
    manifest = manifest.model_copy(update={"digest": digest_of(manifest)})
    (dataset / "manifest.json").write_bytes(manifest.to_bytes())
    (dataset / "rejected.parquet").write_bytes((folder / "one" / "rejected.parquet").read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=20_000)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with work_folder(options.work) as folder:
        dataset = prepared_dataset(folder, options.examples, options.classes)
        page = folder / "report.html"
        found = run(Contender("report", shardkit("report", dataset, "-o", page)))
        num_bytes = page.stat().st_size
        rows = [
            ["", "found", "target"],
            ["seconds", f"{found.seconds:.1f}", f"below {TARGET_SECONDS}"],
            ["CPU seconds", f"{found.cpu_seconds:.1f}", ""],
            ["peak memory, MiB", f"{found.peak_mib:,.0f}", f"below {TARGET_MIB:,}"],
            ["page, MB", f"{num_bytes / 1e6:.2f}", f"below {TARGET_PAGE // 10**6}"],
        ]
        print_table(f"{options.examples:,} examples, {options.classes:,} classes", rows)
        sys.exit(found.seconds > TARGET_SECONDS or found.peak_mib > TARGET_MIB or num_bytes > TARGET_PAGE)


if __name__ == "__main__":
    main()
