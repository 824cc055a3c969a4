"""Train a U-Net that gives each pixel a class."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.parts.masks import BORDER, WIDTHS, summary
from shardkit.programs.parts.settings import IMAGE_SIZE
from shardkit.programs.with_reader.masks import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def convolve(x: Any, width: int) -> Any:
    """Return the result of two convolutions."""
    for _ in range(2):
        x = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization(momentum=0.9)(x)
        x = keras.layers.ReLU()(x)
    return x


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a U-Net (Ronneberger et al., 2015) from images to one logit for each pixel and class."""
    inputs = keras.Input((*IMAGE_SIZE, 3))
    x = keras.layers.Rescaling(1 / 127.5, -1)(inputs)
    skipped = []
    for width in WIDTHS[:-1]:
        x = convolve(x, width)
        skipped.append(x)
        x = keras.layers.MaxPooling2D()(x)
    x = convolve(x, WIDTHS[-1])
    for width in reversed(WIDTHS[:-1]):
        x = keras.layers.UpSampling2D(interpolation="bilinear")(x)
        x = keras.layers.Concatenate()([x, skipped.pop()])
        x = convolve(x, width)
    return keras.Model(inputs, keras.layers.Conv2D(train_fn.num_classes, 1, dtype="float32")(x))


def measure(model: keras.Model, images: Any, labels: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images, training=training)
    counts = tf.cast(labels != BORDER, tf.float32)
    num_classes = logits.shape[-1]
    labels = tf.where(labels == BORDER, 0, labels)
    losses = counts * tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    is_true = counts[..., None] * tf.one_hot(labels, num_classes)
    is_given = counts[..., None] * tf.one_hot(tf.argmax(logits, -1), num_classes)
    return {
        "loss": tf.reduce_sum(losses, [1, 2]) / tf.maximum(1.0, tf.reduce_sum(counts, [1, 2])),
        "both": tf.reduce_sum(is_true * is_given, [1, 2]),
        "either": tf.reduce_sum(tf.maximum(is_true, is_given), [1, 2]),
    }
