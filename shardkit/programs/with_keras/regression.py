"""Train a model that predicts a number for each image."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.parts.regression import DEVIATIONS, MEANS, summary
from shardkit.programs.with_keras.pooled import make_pooled
from shardkit.programs.with_reader.images import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a model from images to the numbers of a label."""
    del train_fn
    return make_pooled(len(MEANS))


def measure(model: keras.Model, images: Any, labels: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    predictions = model(images, training=training)
    labels = tf.reshape(labels, tf.shape(predictions))
    errors = predictions - (labels - MEANS) / DEVIATIONS
    return {
        "loss": tf.reduce_mean(tf.square(errors), -1),
        "error": tf.reduce_mean(tf.abs(errors * DEVIATIONS), -1),
    }
