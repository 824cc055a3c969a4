"""What each stage of the reader gives alone, in examples a second: which of them would hold a big host back.

    python tests/benchmarks/bench_stages.py --dataset FOLDER [--threads 1 2 4 …]

One thread: these stages run on one core however many there are, so each must give more than the host decodes.
The others run on as many threads as are given: the table tells how they scale. `whole` is the reader as users have it.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from timing import print_table

from shardkit.order import BatchLayout
from shardkit.reader import Images, make_dataset_fn, pipeline
from shardkit.reader.pipeline_spec import BLOCK_EXAMPLES, PipelineSpec
from shardkit.reader.records.instructions import ReadInstructions
from shardkit.reader.records.recovery import RecordRecovery

BATCH_SIZE = 256
SECONDS = 3.0
TARGET = 100_000
ORDERS: dict[str, dict[str, Any]] = {
    "full": {},
    "block": {"order": "block"},
    "class_balanced": {"sampling": "class_balanced"},
}


def rate(dataset: Any, examples: int) -> float:
    """Examples a second, of elements that hold so many."""
    iterator = iter(dataset)
    next(iterator)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        next(iterator)
        count += 1
    return count * examples / (time.perf_counter() - start)


def on_threads(dataset: Any, threads: int) -> Any:
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.autotune.enabled = False
    return dataset.with_options(options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True, help="of JPEGs, one class each")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    layout, block = BatchLayout(BATCH_SIZE, 1, 0), BLOCK_EXAMPLES
    steps = tf.data.Dataset.range(0, 1 << 40, block // BATCH_SIZE)

    def made(**options: Any) -> Any:
        return make_dataset_fn(str(given.dataset), "train", global_batch_size=BATCH_SIZE, **options)

    def instructions(fn: Any) -> Any:
        spec = PipelineSpec(fn._table, layout, fn._options, fn._order, 0)
        return ReadInstructions(spec, RecordRecovery(fn._table, None, 0))

    rows = [["on one thread", "examples/s", "over 100,000"]]

    def add(name: str, found: float) -> None:
        rows.append([name, f"{found:,.0f}", "" if "batched" in name else "yes" if found > TARGET else "NO"])

    positions = tf.range(block, dtype=tf.int64)
    for name, options in ORDERS.items():
        fn = made(images=Images((224, 224), augment="imagenet"), **options)
        add(f"order {name}", rate(steps.map(lambda step, fn=fn: fn._order.in_graph(step * block + positions)), block))
        instructed = steps.map(instructions(fn))
        add("  and lookup, crop windows, flips", rate(instructed, block))
        add("  and handed on one by one", rate(instructed.prefetch(1).unbatch().batch(block), block))
    for dtype in (tf.uint8, tf.bfloat16, tf.float32):
        image = tf.data.Dataset.from_tensors(tf.zeros([224, 224, 3], dtype)).repeat()
        add(f"{dtype.name} of 224 x 224 batched", rate(image.batch(BATCH_SIZE), BATCH_SIZE))
    print_table(f"examples a second; blocks of {block}", rows)

    raw, pixels = made(), made(images=Images((224, 224), augment="imagenet", dtype="uint8"))
    rows = [["on threads", *map(str, given.threads)]]
    stages = {
        "read and CRC, full": lambda n: rate(on_threads(raw_records(raw), n), BATCH_SIZE),
        "whole, full": lambda n: rate(on_threads(pixels(), n), BATCH_SIZE),
        "whole, block": lambda n: rate(
            on_threads(made(images=Images((224, 224), augment="imagenet", dtype="uint8"), order="block")(), n),
            BATCH_SIZE,
        ),
    }
    for name, stage in stages.items():
        rows.append([name, *(f"{stage(threads):,.0f}" for threads in given.threads)])
    print_table(f"examples a second by threads; {os.cpu_count()} cores", rows)


def raw_records(fn: Any) -> Any:
    """Records in the chunks in which they are decoded, without the columns of their instructions."""
    spec = PipelineSpec(fn._table, BatchLayout(BATCH_SIZE, 1, 0), fn._options, fn._order, 0)
    recovery = RecordRecovery(fn._table, None, 0)
    chunks = pipeline.record_chunks(spec, ReadInstructions(spec, recovery), recovery)(tf.constant(0, tf.int64))
    return chunks.map(lambda columns: columns["record"])


if __name__ == "__main__":
    main()
