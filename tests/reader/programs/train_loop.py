"""A custom training loop with tf.train.Checkpoint; one of several workers; the starting process reduces.

train_loop.py DATASET CHECKPOINTS GLOBAL_BATCH_SIZE SAVE_EVERY

Says `ready` once all is imported, is told `NUM_WORKERS WORKER_INDEX`. Of each step it says what it has read, is told
the sum over all workers, and takes the step: the sums, in their order, are what the model learns. Told `stop`, it says
what it has learnt, and ends.
"""

import json
import sys
import zlib

import tensorflow as tf

from shardkit import reader

dataset, folder, *numbers = sys.argv[1:]
global_batch_size, save_every = map(int, numbers)


def say(value):
    print(json.dumps(value), flush=True)  # noqa: T201 - the starting process reads it


def with_key(features, _seed):
    return features["image"], features["label"], features["key"]


say("ready")
num_workers, worker_index = map(int, sys.stdin.readline().split())
step, model = tf.Variable(0, dtype=tf.int64), tf.Variable(0, dtype=tf.int64)
checkpoint = tf.train.Checkpoint(step=step, model=model)
manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
checkpoint.restore(manager.latest_checkpoint)
batches = reader.make_dataset(
    dataset,
    "train",
    global_batch_size=global_batch_size,
    num_workers=num_workers,
    worker_index=worker_index,
    start_step=int(step),
    images=reader.Images((16, 16), dtype="uint8"),
    map_fn=with_key,
)
for images, _, keys in batches.as_numpy_iterator():
    read = [zlib.crc32(image.tobytes()) for image in images]
    say({"step": int(step), "keys": [key.decode() for key in keys], "pixels": read})
    told = sys.stdin.readline()
    if told == "stop\n":
        break
    model.assign((model * 31 + int(told)) % (1 << 31))  # another order of the same sums gives another model
    step.assign_add(1)
    if worker_index == 0 and int(step) % save_every == 0:
        manager.save()
say({"step": int(step), "model": int(model)})
