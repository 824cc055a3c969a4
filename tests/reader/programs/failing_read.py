"""Read three input functions in turn until one meets a damaged record: its error ends the interpreter.

failing_read.py DATASET ORDER

The others have reads and batches in flight, which must not keep the process alive.
"""

import itertools
import sys

from shardkit import reader

dataset, order = sys.argv[1:]
options = {"global_batch_size": 8, "image_size": (8, 8), "cache": None, "order": order}
batches = [iter(reader.make_dataset_fn(dataset, "train", seed=seed, **options)()) for seed in range(3)]
for one in itertools.cycle(batches):
    next(one)
