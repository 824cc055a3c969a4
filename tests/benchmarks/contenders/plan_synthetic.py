"""Plan a synthetic inventory of so many files, and say what the plan alone took.

python plan_synthetic.py NUM_FILES [--classes N] [--check decode|header] [--dedupe group|identical]

Perceptual hashes are random bits, so none are near.
"""

import argparse
import json
import resource
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA
from shardkit.conversion.inventory.parts import BLOCK_ROWS, Inventory
from shardkit.conversion.inventory.table import compact, concat_sorted, release_unused
from shardkit.conversion.planning.plan import make_plan
from shardkit.options.groups import ConvertOptions

KIB_IN_MIB = 1 << 10


def inventory(num_files: int, num_classes: int, *, checked: bool) -> pa.Table:
    """An inventory as `read_parts` gives it, of photographs of log-normal sizes in classes of unequal size."""
    rng = np.random.default_rng(0)
    shares = 1 / np.sqrt(np.arange(1, num_classes + 1))
    labels = np.sort(rng.choice(num_classes, num_files, p=shares / shares.sum()).astype(np.int32))
    names = pa.array([f"class_{i:05d}" for i in range(num_classes)])
    blocks = [
        _block(_part(start, labels[start : start + BLOCK_ROWS], names, rng, checked=checked))
        for start in range(0, num_files, BLOCK_ROWS)
    ]
    return concat_sorted(blocks)


def _block(part: pa.Table) -> pa.Table:
    """Return a block as `read_parts` makes it: in Arrow's memory, where numpy's would stay with the process."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, part.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(part, max_chunksize=len(part) // 2 + 1)
    stored = sink.getvalue()
    block = compact(pa.ipc.open_file(stored).read_all().combine_chunks())
    release_unused()
    return block


def _part(start: int, labels: np.ndarray, names: pa.Array, rng: np.random.Generator, *, checked: bool) -> pa.Table:
    count = len(labels)
    numbers = pa.array(np.arange(start, start + count)).cast(pa.string())
    folders = names.take(pa.array(labels))
    columns = {
        "key": pc.binary_join_element_wise(folders, pc.utf8_lpad(numbers, 10, "0"), "/photo_"),
        "label_name": folders,
        "source_bytes": pa.array(np.exp(rng.normal(11.4, 0.6, count)).astype(np.int64)),
    }
    if checked:
        columns |= {
            "format": pa.array(["JPEG"] * count),
            "width": pa.array(np.full(count, 500, np.int32)),
            "height": pa.array(np.full(count, 375, np.int32)),
            "orientation": pa.array(np.ones(count, np.int8)),
            "changes": pa.array([""] * count),
            "content_sha256": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(32), count, [None, pa.py_buffer(rng.bytes(32 * count))]
            ),
            "content_crc32c": pa.array(rng.integers(0, 1 << 32, count)),
            "perceptual_hash": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(16), count, [None, pa.py_buffer(rng.bytes(16 * count))]
            ),
        }
    return pa.table(
        {field.name: columns.get(field.name, pa.nulls(count)) for field in INVENTORY_SCHEMA if field.name != "mtime_ns"}
    )


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_IN_MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("num_files", type=int)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--check", choices=["decode", "header"], default="decode")
    parser.add_argument("--dedupe", choices=["group", "identical"], default="group")
    given = parser.parse_args()
    table = inventory(given.num_files, given.classes, checked=given.check == "decode")
    options = ConvertOptions(check=given.check, dedupe=given.dedupe)
    before, cpu, start = peak_mib(), time.process_time(), time.perf_counter()
    plan = make_plan(Inventory(table, "class_folders", {}), options)
    (split,) = plan.splits
    figures = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "mib": peak_mib() - before,
        "num_shards": plan.num_shards,
        "count_spread": split.balance.count_spread,
        "class_spread": split.balance.class_spread,
        "bytes_percent": 100 * split.balance.bytes_spread,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
