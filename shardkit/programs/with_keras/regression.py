"""Train a model that predicts a number for each image."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.with_keras.settings import IMAGE_SIZE
from shardkit.programs.with_keras.small_images import CROP_SCALE, make_backbone

MEANS = (0.0,)  # of each number of a label
DEVIATIONS = (1.0,)  # the model predicts (label - mean) / deviation
FLIP = True  # mirror half of the images; False if left and right matter, as in text

READING: dict[str, Any] = {"images": reader.Images(IMAGE_SIZE, crop_scale=CROP_SCALE, flip=FLIP)}


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a model from images to the numbers of a label."""
    del train_fn
    backbone = make_backbone()
    x = keras.layers.GlobalAveragePooling2D()(backbone.output)
    return keras.Model(backbone.input, keras.layers.Dense(len(MEANS), dtype="float32")(x))


def measure(model: keras.Model, images: Any, labels: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    predictions = model(images, training=training)
    labels = tf.reshape(labels, tf.shape(predictions))
    errors = predictions - (labels - MEANS) / DEVIATIONS
    return {
        "loss": tf.reduce_mean(tf.square(errors), -1),
        "error": tf.reduce_mean(tf.abs(errors * DEVIATIONS), -1),
    }


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation from the sums over its examples."""
    return {"loss": total["loss"] / num_examples, "mean absolute error": total["error"] / num_examples}
