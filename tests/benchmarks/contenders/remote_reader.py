"""Read encoded records of a dataset from wherever it lies, and say what came when.

    python remote_reader.py URL block|full|tfdata --warm-up-bytes N --bytes N

Prints a JSON line once the warm-up is over, and one at the end; each with the bytes of images read until then.
"""

import argparse
import json
import time

import tensorflow as tf

from shardkit import read_manifest
from shardkit.reader import make_dataset_fn

BATCH_SIZE = 64
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("order", choices=["block", "full", "tfdata"])
    parser.add_argument("--warm-up-bytes", type=int, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    given = parser.parse_args()
    if given.order == "tfdata":
        paths = [f"{given.url}/{shard.path}" for shard in read_manifest(given.url).splits["train"].shards]
        dataset = (
            tf.data.Dataset.from_tensor_slices(paths)
            .repeat()
            .interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=8, deterministic=False)
            .batch(BATCH_SIZE)
            .map(lambda records: tf.io.parse_example(records, FEATURES))
        )
    else:
        dataset = make_dataset_fn(given.url, "train", global_batch_size=BATCH_SIZE, order=given.order, cache=None)()
    start = time.perf_counter()
    num_bytes, is_warm = 0, False
    for batch in dataset:
        if not num_bytes:
            first = time.perf_counter() - start
        num_bytes += int(tf.reduce_sum(tf.strings.length(batch["image"])))
        is_over = num_bytes >= given.bytes
        if is_over or (not is_warm and num_bytes >= given.warm_up_bytes):
            print(json.dumps({"bytes": num_bytes, "at": time.perf_counter(), "first": first}), flush=True)
            is_warm = True
        if is_over:
            break


if __name__ == "__main__":
    main()
