"""Train a network without labels: two views of an image shall be alike, and unlike the others' (SimCLR)."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.with_keras.settings import IMAGE_SIZE
from shardkit.programs.with_keras.small_images import make_backbone

CROP_SCALE = (0.2, 1.0)  # a view covers this share of an image
JITTER = 0.4  # of brightness, contrast and saturation
TEMPERATURE = 0.2
FEATURES = 64  # that the loss compares


def view(image: Any, seed: Any) -> Any:
    """Return a random crop of an image with other colours, float32 [height, width, 3] of 0 to 255."""
    seeds = tf.random.split(seed, 6)
    area = tf.random.stateless_uniform([], seeds[0], *CROP_SCALE)
    sides = tf.cast(tf.sqrt(area) * tf.cast(tf.shape(image)[:2], tf.float32), tf.int32)
    image = tf.image.stateless_random_crop(image, [*tf.unstack(tf.maximum(1, sides)), 3], seeds[1])
    image = tf.image.resize(image, IMAGE_SIZE) / 255
    image = tf.image.stateless_random_flip_left_right(image, seeds[2])
    image = tf.image.stateless_random_brightness(image, JITTER, seeds[3])
    image = tf.image.stateless_random_contrast(image, 1 - JITTER, 1 + JITTER, seeds[4])
    image = tf.image.stateless_random_saturation(image, 1 - JITTER, 1 + JITTER, seeds[5])
    return 255 * tf.clip_by_value(image, 0, 1)


def two_views(features: dict[str, Any], seed: Any) -> tuple[Any, Any]:
    """Return two views of an example."""
    image = tf.io.decode_image(features["image"], channels=3, expand_animations=False)
    image = tf.ensure_shape(image, [None, None, 3])
    one, other = tf.unstack(tf.random.split(seed, 2))
    return view(image, one), view(image, other)


READING: dict[str, Any] = {"map_fn": two_views}


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


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation: the accuracy is the share of views whose partner is the most alike."""
    return {"loss": total["loss"] / num_examples, "accuracy": total["right"] / num_examples}
