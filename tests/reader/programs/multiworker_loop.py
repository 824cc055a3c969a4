"""A custom loop of one worker under MultiWorkerMirroredStrategy; what this worker was given, as JSON.

multiworker_loop.py DATASET RESULT GLOBAL_BATCH_SIZE NUM_STEPS    (TF_CONFIG says which worker this is)
"""

import hashlib
import json
import sys

import tensorflow as tf

from shardkit import reader

dataset, result, *numbers = sys.argv[1:]
global_batch_size, num_steps = map(int, numbers)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
options = {"global_batch_size": global_batch_size, "images": reader.Images((8, 8), mean=(127,) * 3, std=(127,) * 3)}


def with_key(features, _seed):
    return features["image"], features["label"], features["key"]


def strings(value):
    return [key.decode() for part in strategy.experimental_local_results(value) for key in part.numpy()]


with strategy.scope():
    weights = tf.Variable(tf.zeros([8 * 8 * 3, 4]))
    correct = tf.Variable(
        0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
    )


@tf.function
def train_step(images, labels):
    def step(images, labels):
        with tf.GradientTape() as tape:
            logits = tf.reshape(images, [-1, 8 * 8 * 3]) @ weights
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_sum(losses) / global_batch_size
        gradient = tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, weights))
        weights.assign_sub(0.05 * gradient)
        return loss

    return strategy.reduce("SUM", strategy.run(step, (images, labels)), axis=None)


@tf.function
def evaluate_step(images, labels, example_weights):
    def step(images, labels, example_weights):
        logits = tf.reshape(images, [-1, 8 * 8 * 3]) @ weights
        right = tf.cast(tf.argmax(logits, 1, tf.int32) == labels, tf.float32)
        correct.assign_add(tf.reduce_sum(right * example_weights))
        return tf.reduce_sum(example_weights)

    return strategy.reduce("SUM", strategy.run(step, (images, labels, example_weights)), axis=None)


train_fn = reader.make_dataset_fn(dataset, "train", map_fn=with_key, **options)
batches = iter(strategy.distribute_datasets_from_function(train_fn))
keys, losses, pixels = [], [], []
for _ in range(num_steps):
    images, labels, batch_keys = next(batches)
    keys.append(strings(batch_keys))
    local = strategy.experimental_local_results(images)
    pixels.append([hashlib.sha256(image).hexdigest() for part in local for image in part.numpy()])
    losses.append(float(train_step(images, labels)))

evaluation_fn = reader.make_dataset_fn(dataset, "validation", training=False, map_fn=with_key, **options)
evaluation = strategy.distribute_datasets_from_function(evaluation_fn)
evaluation_keys, num_weighed = [], 0.0
for images, labels, batch_keys, example_weights in evaluation:  # to its end, which every worker must reach together
    evaluation_keys.append(strings(batch_keys))
    num_weighed += float(evaluate_step(images, labels, example_weights))

whole = reader.make_dataset(dataset, "train", map_fn=with_key, **options)
whole_batches = iter(strategy.experimental_distribute_dataset(whole))
whole_keys = [strings(next(whole_batches)[2]) for _ in range(num_steps // 2)]

facts = {
    "keys": keys,
    "pixels": pixels,
    "losses": losses,
    "evaluation_keys": evaluation_keys,
    "num_weighed": num_weighed,
    "num_correct": float(correct.read_value()),
    "whole_keys": whole_keys,
}
with open(result, "w") as file:
    json.dump(facts, file)
