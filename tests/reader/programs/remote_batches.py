"""What training reads of a dataset, local or remote, in each order and through a cache, as JSON.

remote_batches.py DATASET RESULT GLOBAL_BATCH_SIZE NUM_STEPS
"""

import hashlib
import itertools
import json
import sys

from shardkit import reader

dataset, result, *numbers = sys.argv[1:]
global_batch_size, num_steps = map(int, numbers)


def facts(**options):
    train_fn = reader.make_dataset_fn(dataset, "train", global_batch_size=global_batch_size, **options)
    batches = list(itertools.islice(train_fn().as_numpy_iterator(), num_steps))
    return {
        "keys": [[key.decode() for key in batch["key"]] for batch in batches],
        "labels": [batch["label"].tolist() for batch in batches],
        "images": [[hashlib.sha256(image).hexdigest() for image in batch["image"]] for batch in batches],
        "listed": [train_fn.batch_keys(step) for step in range(num_steps)],
    }


found = {order: facts(order=order) for order in ("full", "block")}
found["cached"] = facts(cache=f"{result}-cache")
with open(result, "w") as file:
    json.dump(found, file)
