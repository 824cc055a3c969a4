"""Train a network without labels: two views of an image shall be alike, and unlike those of others (SimCLR)."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.parts.unlabelled import FEATURES, TEMPERATURE, summary
from shardkit.programs.with_keras.small_images import make_backbone
from shardkit.programs.with_reader.unlabelled import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a model from images to the features that the loss compares; keep the backbone, its first part."""
    del train_fn
    backbone = make_backbone()
    x = keras.layers.GlobalAveragePooling2D()(backbone.output)
    x = keras.layers.Dense(256, activation="relu")(x)
    return keras.Model(backbone.input, keras.layers.Dense(FEATURES, dtype="float32")(x))


def measure(model: keras.Model, images: Any, others: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    features = tf.math.l2_normalize(model(tf.concat([images, others], 0), training=training), -1)
    number = tf.shape(features)[0]
    likeness = tf.matmul(features, features, transpose_b=True) / TEMPERATURE
    likeness -= 1e9 * tf.eye(number)  # an image is not compared with itself
    partners = tf.roll(tf.range(number), number // 2, 0)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(partners, likeness)
    is_right = tf.cast(tf.argmax(likeness, -1, tf.int32) == partners, tf.float32)
    halves = [tf.reshape(values, [2, -1]) for values in (losses, is_right)]
    return {"loss": tf.reduce_mean(halves[0], 0), "right": tf.reduce_mean(halves[1], 0)}
