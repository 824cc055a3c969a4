"""TensorFlow ops of `shardkit.fetch.windows`, with its names."""

from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.fetch.windows import ATTEMPTS, RATIO_BITS, WHOLE, aspects


def random_windows(
    uniforms: Any, height: Any, width: Any, *, scale: tuple[float, float], ratio: tuple[float, float]
) -> Any:
    """See the definition."""
    if tuple(scale) == WHOLE:
        return whole_windows(height, width)
    height, width = tf.cast(height, tf.float32), tf.cast(width, tf.float32)
    # All attempts of all examples at once, float32[ATTEMPTS, n]: a graph with few nodes starts sooner.
    share, draw = uniforms[: 2 * ATTEMPTS : 2], uniforms[1 : 2 * ATTEMPTS : 2]
    aspect = tf.gather(aspects(tuple(ratio)), tf.cast(draw * np.float32(1 << RATIO_BITS), tf.int32))
    area = height * width * (np.float32(scale[0]) + np.float32(scale[1] - scale[0]) * share)
    tall, wide = tf.round(tf.sqrt(area / aspect)), tf.round(tf.sqrt(area * aspect))
    fits = (tall >= 1) & (tall <= height) & (wide >= 1) & (wide <= width)
    found = tf.reduce_any(fits, axis=0)
    first = tf.argmax(tf.cast(fits, tf.int8), axis=0, output_type=tf.int32)
    drawn = tf.stack([first, tf.range(tf.size(first))], axis=1)
    centre_height, centre_width = _centre(height, width, ratio)
    window_height = tf.where(found, tf.gather_nd(tall, drawn), centre_height)
    window_width = tf.where(found, tf.gather_nd(wide, drawn), centre_width)
    # A drawn window has a random position.
    room_down, room_right = height - window_height, width - window_width
    top = tf.floor(tf.where(found, uniforms[-2] * (room_down + 1), room_down / 2))
    left = tf.floor(tf.where(found, uniforms[-1] * (room_right + 1), room_right / 2))
    return tf.cast(tf.stack([top, left, window_height, window_width], axis=1), tf.int32)


def _centre(height: Any, width: Any, ratio: tuple[float, float]) -> tuple[Any, Any]:
    low, high = (np.float32(value) for value in ratio)
    aspect = width / height
    tall = tf.where(aspect < low, tf.maximum(tf.round(width / low), 1), height)
    wide = tf.where(aspect > high, tf.maximum(tf.round(height * high), 1), width)
    return tf.minimum(tall, height), tf.minimum(wide, width)


def centre_windows(height: Any, width: Any, *, size: tuple[int, int], fraction: float) -> Any:
    """See the definition."""
    height, width = tf.cast(height, tf.float32), tf.cast(width, tf.float32)
    unit = tf.minimum(height / np.float32(size[0]), width / np.float32(size[1])) * np.float32(fraction)
    tall = tf.clip_by_value(tf.round(unit * np.float32(size[0])), 1, height)
    wide = tf.clip_by_value(tf.round(unit * np.float32(size[1])), 1, width)
    top, left = tf.floor((height - tall) / 2), tf.floor((width - wide) / 2)
    return tf.cast(tf.stack([top, left, tall, wide], axis=1), tf.int32)


def whole_windows(height: Any, width: Any) -> Any:
    """See the definition."""
    zero = tf.zeros_like(height)
    return tf.stack([zero, zero, height, width], axis=1)
