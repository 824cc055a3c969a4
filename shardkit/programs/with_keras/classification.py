"""Train a classifier."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.parts.classification import summary
from shardkit.programs.with_keras.pooled import make_pooled
from shardkit.programs.with_reader.images import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a model from images to one logit for each class."""
    return make_pooled(train_fn.num_classes)


def measure(model: keras.Model, images: Any, labels: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images, training=training)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    is_right = tf.argmax(logits, -1, labels.dtype) == labels
    return {"loss": losses, "right": tf.cast(is_right, tf.float32)}
