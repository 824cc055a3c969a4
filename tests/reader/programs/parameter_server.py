"""One task of a cluster under ParameterServerStrategy, as TF_CONFIG says; the coordinator writes facts as JSON.

parameter_server.py DATASET RESULT GLOBAL_BATCH_SIZE
"""

import collections
import json
import sys

import tensorflow as tf

from shardkit import reader
from shardkit.reader.iterators.start_steps import RandomStart

dataset, result, batch = sys.argv[1:]
global_batch_size = int(batch)
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in {"worker", "ps"}:
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
    )
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
tf.random.set_seed(7)  # a seed of the coordinator's must not make the workers alike


def with_key(features, _seed):
    return features["image"], features["label"], features["key"]


def per_worker(train_fn):
    return coordinator.create_per_worker_dataset(lambda: strategy.distribute_datasets_from_function(train_fn))


def make(**options):
    return reader.make_dataset_fn(
        dataset, "train", global_batch_size=global_batch_size, image_size=(8, 8), map_fn=with_key, **options
    )


try:
    per_worker(make())
    refusal = None
except Exception as error:  # noqa: BLE001 - AutoGraph puts an error of its own around ours
    refusal = str(error)

with strategy.scope():
    weights = tf.Variable(tf.zeros([8 * 8 * 3, 1]))
    taken = tf.Variable(0, dtype=tf.int64)


@tf.function
def read(names, iterator):
    return next(names), next(iterator)[2]


@tf.function
def train(iterator):
    pixels = tf.reshape(next(iterator)[0], [-1, 8 * 8 * 3]) / 255
    brightness = tf.reduce_mean(pixels, axis=1, keepdims=True)  # what a linear model can learn in 120 steps
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((pixels @ weights - brightness) ** 2)
    weights.assign_sub(0.002 * tape.gradient(loss, weights))
    taken.assign_add(1)
    return loss


def name_of_worker(_context):
    """A number that each worker keeps: a scheduled step goes to whichever is free, and cannot ask which it is."""
    drawn = tf.data.Dataset.from_tensors(0).map(lambda _: RandomStart(1, 1).read_value())
    return drawn.cache().repeat()


train_fn = make(independent_workers=True)
names, iterator = iter(per_worker(name_of_worker)), iter(per_worker(train_fn))
streams = collections.defaultdict(list)
while len(streams) < 2 or min(map(len, streams.values())) < 2 * train_fn.steps_per_epoch:
    scheduled = [coordinator.schedule(read, args=(names, iterator)) for _ in range(20)]
    for name, keys in coordinator.fetch(scheduled):
        streams[int(name)].append([key.decode() for key in keys])

losses = [coordinator.schedule(train, args=(iterator,)) for _ in range(120)]
coordinator.join()
losses = [float(loss.fetch()) for loss in losses]
with open(result, "w") as file:
    json.dump({"refusal": refusal, "streams": list(streams.values()), "losses": losses, "taken": int(taken)}, file)
