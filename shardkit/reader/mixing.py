"""MixUp and CutMix: every image of a batch with another one of it, and the labels in the same proportion."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.errors import CallError

BatchMap = Callable[[Any, Any], Any]


def mixup(num_classes: int, *, alpha: float = 0.2) -> BatchMap:
    """For `batch_map_fn`: images blended with others of their batch (Zhang et al., ICLR 2018, arXiv 1710.09412).

    Args:
        num_classes: labels become float32[batch, num_classes]; labels that are so already are taken as they are.
        alpha: of the Beta(alpha, alpha) distribution that each image's share is drawn from; above 0.
    """
    _check(num_classes, alpha)

    def mix(element: Any, seed: Any) -> Any:
        images, labels = _pair(element)
        share = _beta(seed, tf.shape(images)[0], alpha)
        weight = tf.cast(share, images.dtype)[:, tf.newaxis, tf.newaxis, tf.newaxis]
        # Beside its mirror in the batch: a partner for each without a second draw, as timm does it.
        mixed = images * weight + tf.reverse(images, [0]) * (1 - weight)
        return mixed, _mixed_labels(labels, share, num_classes)

    return mix


def cutmix(num_classes: int, *, alpha: float = 1.0) -> BatchMap:
    """For `batch_map_fn`: a window of another image of the batch in each (Yun et al., ICCV 2019, arXiv 1905.04899).

    Labels go by the area that is left, not by the share drawn: a window at the edge is cut off.

    Args:
        num_classes: see mixup.
        alpha: of the Beta(alpha, alpha) distribution that the share of the area is drawn from; above 0.
    """
    _check(num_classes, alpha)

    def mix(element: Any, seed: Any) -> Any:
        images, labels = _pair(element)
        count, height, width = tf.shape(images)[0], images.shape[1], images.shape[2]
        side = tf.sqrt(1 - _beta(seed, count, alpha))
        middle = tf.random.stateless_uniform([2, count], seed + tf.constant([0, 2]))
        rows, columns = tf.range(height, dtype=tf.float32), tf.range(width, dtype=tf.float32)
        inside_rows = _span(rows, middle[0] * height, side * height)
        inside_columns = _span(columns, middle[1] * width, side * width)
        inside = inside_rows[:, :, tf.newaxis] & inside_columns[:, tf.newaxis, :]
        mixed = tf.where(inside[..., tf.newaxis], tf.reverse(images, [0]), images)
        share = 1 - tf.reduce_mean(tf.cast(inside, tf.float32), axis=[1, 2])
        return mixed, _mixed_labels(labels, share, num_classes)

    return mix


def _check(num_classes: int, alpha: float) -> None:
    if num_classes < 1 or not alpha > 0:
        msg = f"mixing needs num_classes of at least 1 and alpha above 0; found {num_classes!r} and {alpha!r}"
        raise CallError(msg)


def _pair(element: Any) -> tuple[Any, Any]:
    if not isinstance(element, tuple) or len(element) != 2 or isinstance(element[1], dict):
        msg = "mixing takes training batches of (images, labels); set image_size, and leave evaluation as it is"
        raise CallError(msg)
    return element


def _span(places: Any, middle: Any, length: Any) -> Any:
    """bool[n, size]: which places lie within half a length of each middle."""
    return tf.abs(places + 0.5 - middle[:, tf.newaxis]) < length[:, tf.newaxis] / 2


def _beta(seed: Any, count: Any, alpha: float) -> Any:
    draws = [
        tf.random.stateless_gamma([count], seed + tf.constant([0, i]), alpha=alpha) + tf.constant(1e-30) for i in (0, 1)
    ]
    return draws[0] / (draws[0] + draws[1])


def _mixed_labels(labels: Any, share: Any, num_classes: int) -> Any:
    rows = tf.one_hot(labels, num_classes, dtype=tf.float32) if labels.dtype.is_integer else labels
    return rows * share[:, tf.newaxis] + tf.reverse(rows, [0]) * (1 - share)[:, tf.newaxis]
