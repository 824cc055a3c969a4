"""Read two views of each image."""

from typing import Any

import tensorflow as tf

from shardkit.programs.parts.settings import IMAGE_SIZE
from shardkit.programs.parts.unlabelled import JITTER, VIEW_SCALE


def view(image: Any, seed: Any) -> Any:
    """Return a random crop of an image with other colours, float32 [height, width, 3] of 0 to 255."""
    seeds = tf.random.split(seed, 6)
    area = tf.random.stateless_uniform([], seeds[0], *VIEW_SCALE)
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
