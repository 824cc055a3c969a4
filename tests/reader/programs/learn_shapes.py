"""A small network learns sample_data/shapes on 2 logical devices; its accuracy on validation as JSON.

learn_shapes.py DATASET RESULT fit|loop
"""

import json
import sys

import keras
import tensorflow as tf
from devices import mirrored

from shardkit import reader

dataset, result, way = sys.argv[1:]
EPOCHS = 22
keras.utils.set_random_seed(1)
strategy = mirrored(2)
# Smaller crops would cut off the corners of squares.
crops = {"crop_scale": (0.7, 1.0), "eval_crop_fraction": 1.0}
options = {"global_batch_size": 32, "images": reader.Images((48, 48), mean=(127.5,) * 3, std=(127.5,) * 3, **crops)}
train_fn = reader.make_dataset_fn(dataset, "train", **options)
validation_fn = reader.make_dataset_fn(dataset, "validation", training=False, **options)
train = strategy.distribute_datasets_from_function(train_fn)
validation = strategy.distribute_datasets_from_function(validation_fn)

with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input([48, 48, 3]),
            *(keras.layers.Conv2D(width, 3, 2, activation="relu") for width in (16, 32, 64)),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(4),
        ]
    )
    optimizer = keras.optimizers.Adam(3e-3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def fit():
    model.compile(optimizer, loss, weighted_metrics=["accuracy"])
    model.fit(train, steps_per_epoch=train_fn.steps_per_epoch, epochs=EPOCHS, shuffle=False, verbose=0)
    return model.evaluate(validation, return_dict=True, verbose=0)["accuracy"]


def loop():
    with strategy.scope():
        optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(batch):
        def step(images, labels):
            with tf.GradientTape() as tape:
                # Each replica's share of the mean over the global batch; apply_gradients adds the shares up.
                value = loss(labels, model(images, training=True)) / strategy.num_replicas_in_sync
            gradients = tape.gradient(value, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        strategy.run(step, batch)

    @tf.function
    def evaluate_step(batch):
        def step(images, labels, weights):
            right = tf.cast(tf.argmax(model(images), 1, tf.int32) == labels, tf.float32)
            return tf.stack([tf.reduce_sum(right * weights), tf.reduce_sum(weights)])

        return strategy.reduce("SUM", strategy.run(step, batch), axis=None)

    batches = iter(train)
    for _ in range(EPOCHS * train_fn.steps_per_epoch):
        train_step(next(batches))
    num_right, num_examples = sum(evaluate_step(batch) for batch in validation).numpy().tolist()
    assert num_examples == validation_fn.num_examples
    return num_right / num_examples


with open(result, "w") as file:
    json.dump({"accuracy": {"fit": fit, "loop": loop}[way]()}, file)
