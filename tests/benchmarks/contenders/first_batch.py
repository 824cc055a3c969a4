"""Seconds from the end of imports to the first batch, and the memory that it took.

python first_batch.py DATASET

Memory is the peak of the resident set until the first batch is there, less the resident set after imports. Both come
from /proc, in MiB: Linux only.
"""

import argparse
import json
import os
import sys
import time

import tensorflow as tf

from shardkit import reader

BATCH_SIZE = 64


def status_mib(name: str) -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    given = parser.parse_args()
    # What TensorFlow takes once in a process, whatever is read: device, eager runtime, threads of tf.data.
    next(iter(tf.data.Dataset.range(2).map(lambda x: x + 1).prefetch(1)))
    imported, cpu, start = status_mib("VmRSS"), time.process_time(), time.perf_counter()
    train_fn = reader.make_dataset_fn(
        given.dataset,
        "train",
        global_batch_size=BATCH_SIZE,
        images=reader.Images((224, 224), augment="imagenet", dtype="uint8"),
    )
    made = time.perf_counter()
    next(iter(train_fn()))
    figures = {
        "made_seconds": made - start,
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "mib": status_mib("VmHWM") - imported,
        "left_mib": status_mib("VmRSS") - imported,
        "imported_mib": imported,
    }
    print(json.dumps(figures))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
