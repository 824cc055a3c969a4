"""What every replica gets under OneDeviceStrategy (1 device) or MirroredStrategy (more), as JSON.

strategy_batches.py DATASET RESULT NUM_DEVICES GLOBAL_BATCH_SIZE NUM_STEPS WAY…
"""

import hashlib
import itertools
import json
import sys

import tensorflow as tf
from devices import mirrored

from shardkit import reader

dataset, result, *numbers = sys.argv[1:6]
ways = sys.argv[6:]
num_devices, global_batch_size, num_steps = map(int, numbers)
strategy = tf.distribute.OneDeviceStrategy("CPU:0") if num_devices == 1 else mirrored(num_devices)

IMAGES = reader.Images((24, 24), augment="imagenet")
PER_REPLICA = tf.distribute.InputOptions(
    experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA, experimental_fetch_to_device=False
)


def from_function(*arguments, **options):
    return strategy.distribute_datasets_from_function(
        reader.make_dataset_fn(dataset, *arguments, global_batch_size=global_batch_size, **options)
    )


def per_replica(*arguments, **options):
    return strategy.distribute_datasets_from_function(
        reader.make_dataset_fn(dataset, *arguments, global_batch_size=global_batch_size, **options), PER_REPLICA
    )


def whole_batches(*arguments, **options):
    return strategy.experimental_distribute_dataset(
        reader.make_dataset(dataset, *arguments, global_batch_size=global_batch_size, **options)
    )


def after_per_replica(*arguments, **options):
    """A strategy that has once been asked for PER_REPLICA keeps one input pipeline a replica, whatever it is asked."""
    return whole_batches(*arguments, **options)


def with_key(features, _seed):
    return features["image"], features["label"], features["key"]


def replicas(value):
    return [part.numpy() for part in strategy.experimental_local_results(value)]


def strings(value):
    return [[item.decode() for item in part] for part in replicas(value)]


def numbers_of(value):
    return [part.tolist() for part in replicas(value)]


def digest(images):
    return hashlib.sha256(b"".join(part.tobytes() for part in replicas(images))).hexdigest()


def facts(distribute):
    training = distribute("train", images=IMAGES, map_fn=with_key)
    evaluation = distribute("validation", training=False, images=IMAGES, map_fn=with_key)
    seen = list(itertools.islice(training, num_steps))
    evaluated = list(evaluation)
    plain = distribute("validation", training=False, images=IMAGES)
    return {
        "keys": [strings(batch[2]) for batch in seen],
        "pixels": [digest(batch[0]) for batch in seen],
        "labels": [numbers_of(batch[1]) for batch in seen],
        "evaluation_keys": [strings(batch[2]) for batch in evaluated],
        "evaluation_pixels": [digest(batch[0]) for batch in evaluated],
        "weights": [numbers_of(batch[3]) for batch in evaluated],
        "second_pass": [strings(batch[2]) for batch in evaluation],
        "cardinalities": [int(training.cardinality), int(evaluation.cardinality)],
        "specs": [
            [str(tuple(spec.shape)), spec.dtype.name]
            for spec in tf.nest.flatten(plain.element_spec, expand_composites=True)
        ],
    }


def refusal():
    try:
        strategy.distribute_datasets_from_function(
            reader.make_dataset_fn(dataset, "train", global_batch_size=global_batch_size + 1)
        )
    except ValueError as error:
        return str(error)
    return None


WAYS = {way.__name__: way for way in (from_function, per_replica, whole_batches, after_per_replica)}
found = {name: facts(WAYS[name]) for name in ways} | {"refusal": refusal()}
with open(result, "w") as file:
    json.dump(found, file)
