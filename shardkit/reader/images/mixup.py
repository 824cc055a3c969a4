"""MixUp and CutMix: mix every image of a batch with another one of it, and the labels in the same proportion."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.arguments.checks import real_number, whole_number
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError

BatchMap = Callable[[Any, Any], Any]

_CHECKS = {
    "num_classes": whole_number(1, (1 << 31) - 1),
    "alpha": real_number("a finite number above 0", lambda alpha: math.isfinite(alpha) and alpha > 0),
}


@suggest_arguments(example="reader.mixup(train_fn.num_classes)")
def mixup(num_classes: int, *, alpha: float = 0.2) -> BatchMap:
    """Return a `batch_map_fn` that blends images of a batch (Zhang et al., ICLR 2018, arXiv 1710.09412).

    Images keep their dtype: integers are blended as float32 and rounded to nearest. A label outside of [0, num_classes)
    stops the iteration with `tf.errors.InvalidArgumentError`.

    Args:
        num_classes: Number of classes of the dataset; labels become float32[batch, num_classes] if they are not.
        alpha: Parameter of the Beta(alpha, alpha) distribution of each image's share, above 0.

    Raises:
        CallError: An argument is out of range; or, when the dataset is made, its elements are not (images, labels):
            weights, boxes, masks and regression cannot be mixed.
    """
    _check(num_classes, alpha)

    def mix(element: Any, seed: Any) -> Any:
        images, labels = _pair(element, num_classes)
        share = _beta(seed, tf.shape(images)[0], alpha)
        weight = share[:, tf.newaxis, tf.newaxis, tf.newaxis]
        # Always in float32: as an integer a share would be 0, and in bfloat16 it has three digits.
        values = tf.cast(images, tf.float32)
        # The reversed batch gives each image a partner without a second draw, as in timm.
        mixed = values * weight + tf.reverse(values, [0]) * (1 - weight)
        mixed = tf.cast(tf.round(mixed) if images.dtype.is_integer else mixed, images.dtype)
        return mixed, _mixed_labels(labels, share, num_classes)

    return mix


@suggest_arguments(example="reader.cutmix(train_fn.num_classes)")
def cutmix(num_classes: int, *, alpha: float = 1.0) -> BatchMap:
    """Return a `batch_map_fn` that pastes windows of other images (Yun et al., ICCV 2019, arXiv 1905.04899).

    Labels are weighted by the remaining area, not by the drawn share: a window at the edge is clipped.

    Args:
        num_classes: Number of classes of the dataset; labels become float32[batch, num_classes] if they are not.
        alpha: Parameter of the Beta(alpha, alpha) distribution of the share of the area, above 0.

    Raises:
        CallError: See mixup.
    """
    _check(num_classes, alpha)

    def mix(element: Any, seed: Any) -> Any:
        images, labels = _pair(element, num_classes)
        count, height, width = (tf.shape(images)[axis] for axis in range(3))
        side = tf.sqrt(1 - _beta(seed, count, alpha))
        middle = tf.random.stateless_uniform([2, count], seed + tf.constant([0, 2]))
        inside_rows = _span(middle[0], side, height)
        inside_columns = _span(middle[1], side, width)
        inside = inside_rows[:, :, tf.newaxis] & inside_columns[:, tf.newaxis, :]
        mixed = tf.where(inside[..., tf.newaxis], tf.reverse(images, [0]), images)
        share = 1 - tf.reduce_mean(tf.cast(inside, tf.float32), axis=[1, 2])
        return mixed, _mixed_labels(labels, share, num_classes)

    return mix


def _check(num_classes: int, alpha: float) -> None:
    for name, found in (("num_classes", num_classes), ("alpha", alpha)):
        _CHECKS[name](name, found)


def _pair(element: Any, num_classes: int) -> tuple[Any, Any]:
    """Return images and labels after checking that they can be mixed."""
    if isinstance(element, tuple) and len(element) == 3:
        raise _refused(
            "mixing takes training batches of (images, labels), and these have weights: leave batch_map_fn out of "
            "evaluation, and sample_weight out of training (sampling='class_balanced' balances without weights)"
        )
    if not isinstance(element, tuple) or len(element) != 2:
        raise _refused(
            "mixing takes training batches of (images, labels): give it as batch_map_fn=, and set image_size or make "
            "such pairs in map_fn"
        )
    images, labels = element
    if not isinstance(images, tf.Tensor) or images.dtype == tf.string or images.shape.rank not in {4, None}:
        raise _refused(f"mixing takes images as numbers [batch, height, width, channels]; found {_shown(images)}")
    rows = f"one class number for each image, or float rows of num_classes={num_classes}"
    if isinstance(labels, dict):
        raise _refused(f"mixing takes {rows} as labels; a dict, as of boxes, cannot be mixed")
    is_tensor = isinstance(labels, tf.Tensor)
    expected = [None] if is_tensor and labels.dtype.is_integer else [None, num_classes]
    is_number = is_tensor and (labels.dtype.is_integer or labels.dtype.is_floating)
    if not (is_number and labels.shape.is_compatible_with(expected)):
        raise _refused(f"mixing takes {rows} as labels, no masks and no regression; found {_shown(labels)}")
    return images, labels


def _refused(message: str) -> CallError:
    error = CallError(message)
    # AutoGraph converts errors to a StagingError, except those with this attribute.
    error.ag_pass_through = True  # type: ignore[attr-defined]
    return error


def _shown(value: Any) -> str:
    return f"{value.dtype.name} {value.shape}" if isinstance(value, tf.Tensor) else type(value).__name__


def _span(middle: Any, side: Any, size: Any) -> Any:
    """Return bool[n, size], the pixels within half a side of each middle; both are shares of the size."""
    pixels, whole = tf.range(size), tf.cast(size, tf.float32)
    distance = tf.abs(tf.cast(pixels, tf.float32) + 0.5 - middle[:, tf.newaxis] * whole)
    return distance < side[:, tf.newaxis] * whole / 2


def _beta(seed: Any, count: Any, alpha: float) -> Any:
    """Draw float32[n] shares from Beta(alpha, alpha).

    This is X / (X + Y) of two Gamma(alpha) variates, computed from their logarithms because variates of a small alpha
    are too small for a float. If G has the distribution Gamma(alpha + 1) and U is uniform, G * U ** (1 / alpha) has the
    distribution Gamma(alpha) (Marsaglia and Tsang, ACM Transactions on Mathematical Software 26, 2000, section 6).
    """
    gamma = tf.random.stateless_gamma([2, count], seed, alpha=alpha + 1, dtype=tf.float64)
    uniform = tf.random.stateless_uniform([2, count], seed + tf.constant([0, 1]), dtype=tf.float64)
    of_gamma, of_power = tf.math.log(gamma), tf.math.log1p(-uniform)
    # Divided after subtracting: the difference of two infinities is not a number.
    log_ratio = of_gamma[0] - of_gamma[1] + (of_power[0] - of_power[1]) / alpha
    return tf.cast(tf.sigmoid(log_ratio), tf.float32)


def _mixed_labels(labels: Any, share: Any, num_classes: int) -> Any:
    rows = tf.cast(labels, tf.float32)
    if labels.dtype.is_integer:
        # one_hot would return a row of zeros for another class, and training would silently use it.
        message = f"mixing has num_classes={num_classes}, but a label is not in this range; give the dataset's number"
        numbers = tf.cast(labels, tf.int64)
        known = tf.debugging.Assert(tf.reduce_all((numbers >= 0) & (numbers < num_classes)), [message, labels])
        with tf.control_dependencies([] if known is None else [known]):
            rows = tf.one_hot(numbers, num_classes, dtype=tf.float32)
    return rows * share[:, tf.newaxis] + tf.reverse(rows, [0]) * (1 - share)[:, tf.newaxis]
