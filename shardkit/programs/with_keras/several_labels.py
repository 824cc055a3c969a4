"""Train a classifier of images that have several labels, or none."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.with_keras.settings import IMAGE_SIZE
from shardkit.programs.with_keras.small_images import CROP_SCALE, make_backbone

FLIP = True  # mirror half of the images; False if left and right matter, as in text
DROPOUT = 0.2

READING: dict[str, Any] = {"images": reader.Images(IMAGE_SIZE, crop_scale=CROP_SCALE, flip=FLIP)}


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a model from images to one logit for each class."""
    backbone = make_backbone()
    x = keras.layers.GlobalAveragePooling2D()(backbone.output)
    x = keras.layers.Dropout(DROPOUT, seed=0)(x)
    return keras.Model(backbone.input, keras.layers.Dense(train_fn.num_classes, dtype="float32")(x))


def measure(model: keras.Model, images: Any, labels: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images, training=training)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
    given = tf.cast(logits > 0, tf.float32)
    return {
        "loss": tf.reduce_mean(losses, -1),
        "given": tf.reduce_sum(given, -1),
        "true": tf.reduce_sum(labels, -1),
        "both": tf.reduce_sum(given * labels, -1),
    }


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation from the sums over its examples."""
    return {
        "loss": total["loss"] / num_examples,
        "precision": total["both"] / max(1, total["given"]),
        "recall": total["both"] / max(1, total["true"]),
    }
