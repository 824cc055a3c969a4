"""Take so many batches, and tell the resident memory after each tenth of them, in MiB (Linux).

python many_steps.py DATASET PIPELINE STEPS
"""

import argparse
import itertools
import json
import os
import sys
import time

from shardkit import reader

BATCH_SIZE = 8
PARTS = 10
PIPELINES = {
    "decoded": {"images": reader.Images((16, 16), dtype="uint8")},
    "decoded-files": {"images": reader.Images((16, 16), dtype="uint8"), "cache": None},
    "encoded": {},
    "encoded-files": {"cache": None},
    "encoded-block": {"cache": None, "order": "block"},
}


def resident_mib() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("pipeline", choices=PIPELINES)
    parser.add_argument("steps", type=int)
    given = parser.parse_args()
    batches = iter(
        reader.make_dataset(given.dataset, "train", global_batch_size=BATCH_SIZE, **PIPELINES[given.pipeline])
    )
    start, figures = time.perf_counter(), {}
    for part in range(PARTS):
        for _ in itertools.islice(batches, given.steps // PARTS):
            pass
        figures[str(part)] = resident_mib()
    print(json.dumps(figures | {"seconds": time.perf_counter() - start}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
