"""One image: decode only the window, resize, cast, flip; every shape static."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.reader.options import ImageOptions


def decode_window(encoded: Any, window: Any, is_png: Any | None, channels: int) -> Any:
    """The pixels of a window, uint8[window height, window width, channels].

    A JPEG is decoded no further than the window needs; a PNG as a whole, because its format allows no other way.

    Args:
        encoded: bytes of a JPEG or a PNG.
        window: int32[4]: top, left, height, width.
        is_png: bool, or None where all images are JPEG.
        channels: 1 or 3.
    """

    def jpeg() -> Any:
        return tf.raw_ops.DecodeAndCropJpeg(contents=encoded, crop_window=window, channels=channels)

    def png() -> Any:
        pixels = tf.raw_ops.DecodePng(contents=encoded, channels=channels, dtype=tf.uint8)
        return tf.slice(pixels, [window[0], window[1], 0], [window[2], window[3], channels])

    return jpeg() if is_png is None else tf.cond(is_png, png, jpeg)


def finish(pixels: Any, flip: Any | None, options: ImageOptions) -> Any:
    """Resize to the target, cast to the dtype asked for, and flip; [height, width, channels], static.

    Args:
        pixels: uint8[any height, any width, channels].
        flip: bool, whether to mirror left to right, or None for never.
        options: what is wanted.
    """
    height, width = options.size
    resize = _RESIZE[options.method]
    if options.fit == "pad" and not options.training:
        resized = _padded(pixels, options.size, resize)
    else:
        resized = resize(pixels, options.size)
    finished = _cast(resized, options)
    if flip is not None:
        # Last, where a uint8 image has a quarter of the bytes.
        finished = tf.cond(flip, lambda: tf.reverse(finished, [1]), lambda: finished)
    finished.set_shape([height, width, options.channels])
    return finished


def _padded(pixels: Any, size: tuple[int, int], resize: Callable[[Any, Any], Any]) -> Any:
    """The whole image in the middle, black beside it.

    Not tf.image.resize_with_pad: it rounds a side of very long images down to 0 pixels, and fails.
    """
    fitted, before = pad_geometry(tf.shape(pixels)[:2], size)
    edges = tf.stack([before, size - fitted - before], axis=1)
    return tf.pad(resize(pixels, fitted), tf.pad(edges, [[0, 1], [0, 0]]))


def pad_geometry(shape: Any, size: tuple[int, int]) -> tuple[Any, Any]:
    """Size of an image of that shape inside the target, and what is black above and left of it; int32[2] each."""
    shape = tf.cast(shape, tf.int64)
    # Each side as if the other one filled the target, to the nearest pixel; the one that cannot is clipped.
    fitted = (2 * shape * size[::-1] + shape[::-1]) // (2 * shape[::-1])
    fitted = tf.cast(tf.clip_by_value(fitted, 1, size), tf.int32)
    return fitted, (size - fitted) // 2


def _bilinear(pixels: Any, size: Any) -> Any:
    # Cast first: the kernel has a vectorised path for float32 and none for uint8, which costs 100 to 150 us an image.
    return tf.raw_ops.ResizeBilinear(
        images=tf.cast(pixels, tf.float32)[tf.newaxis], size=size, half_pixel_centers=True
    )[0]


def _antialiased(pixels: Any, size: Any) -> Any:
    return tf.image.resize(pixels, size, method="bilinear", antialias=True)


_RESIZE: dict[str, Callable[[Any, Any], Any]] = {"bilinear": _bilinear, "antialias": _antialiased}


def _cast(pixels: Any, options: ImageOptions) -> Any:
    if options.dtype == "uint8":
        # Nothing to clip: both methods average, so that no value leaves 0..255.
        return tf.cast(tf.round(pixels), tf.uint8)
    if options.mean is not None and options.std is not None:
        # Row by row: over a last axis of 3 the same broadcast takes ten times as long (measured: 820 against 85
        # microseconds for 224 x 224, where resizing takes 400).
        height, width = options.size
        mean, std = (np.tile(np.asarray(values, np.float32), width) for values in (options.mean, options.std))
        rows = (tf.reshape(pixels, [height, width * options.channels]) - mean) / std
        pixels = tf.reshape(rows, [height, width, options.channels])
    return tf.cast(pixels, options.dtype)
