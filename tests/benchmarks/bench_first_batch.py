"""How long it takes to the first batch at start_step=0 and at 10,000,000: the target is a ratio below 1.1.

    python tests/benchmarks/bench_first_batch.py [DATASET]

Every measurement is a process of its own, turn about. Seconds count from the end of imports until the first batch is
there; CPU seconds are the steadier figure on a busy machine. Without DATASET, sample_data/shapes is converted first.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from timing import REPOSITORY, Contender, figure, median, print_table, run, shardkit, turn_about, work_folder

FAR_STEP = 10_000_000
TARGET = 1.1


def measure(dataset: str, start_step: int) -> None:
    """Print what the first batch of this process took, as JSON."""
    import tensorflow as tf

    from shardkit import reader

    # What TensorFlow takes once in a process, whatever is read: device, eager runtime, threads of tf.data.
    next(iter(tf.data.Dataset.range(2).map(lambda x: x + 1).prefetch(1)))
    start, cpu_start = time.perf_counter(), time.process_time()
    train_fn = reader.make_dataset_fn(
        dataset,
        "train",
        global_batch_size=64,
        images=reader.Images((224, 224), augment="imagenet", dtype="uint8"),
        start_step=start_step,
    )
    next(iter(train_fn()))
    print(json.dumps({"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu_start}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", help="default: sample_data/shapes, converted")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--start-step", type=int, help="measure that one in this process, and nothing else")
    given = parser.parse_args()
    if given.start_step is not None:
        measure(given.dataset, given.start_step)
        return
    with work_folder(None) as work:
        dataset = given.dataset or converted(work)
        contenders = [
            Contender(str(step), [sys.executable, __file__, str(dataset), "--start-step", str(step)])
            for step in (0, FAR_STEP)
        ]
        runs = turn_about(contenders, given.rounds)
    near, far = (runs[contender.name] for contender in contenders)
    rows = [["start_step", "first batch s", "CPU s"]]
    rows += [
        [f"{int(name):,}", *(f"{median(mine, figure(column)):.3f}" for column in ("seconds", "cpu"))]
        for name, mine in runs.items()
    ]
    ratios = {
        column: statistics.median(
            after.figures[column] / before.figures[column] for before, after in zip(near, far, strict=True)
        )
        for column in ("seconds", "cpu")
    }
    # Of the same round, because rounds differ more than contenders do where others use the machine.
    rows.append([f"ratio (target < {TARGET})", *(f"{ratio:.3f}" for ratio in ratios.values())])
    print_table(f"time to the first batch; medians of {given.rounds}", rows)


def converted(work: Path) -> Path:
    """sample_data/shapes as a dataset."""
    dataset = work / "shapes"
    run(Contender("convert", shardkit("convert", REPOSITORY / "sample_data" / "shapes", dataset, "--quiet")))
    return dataset


if __name__ == "__main__":
    main()
