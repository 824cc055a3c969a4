"""One image: decode only the window, resize, flip, cast; every shape static."""

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
    """Resize to the target, flip, and cast to the dtype asked for; [height, width, channels], static."""
    height, width = options.size
    if options.fit == "pad":
        resized = tf.image.resize_with_pad(pixels, height, width, method=options.method)
    else:
        resized = _RESIZE[options.method](pixels, options.size)
    if flip is not None:
        resized = tf.cond(flip, lambda: tf.reverse(resized, [1]), lambda: resized)
    resized.set_shape([height, width, options.channels])
    return _cast(resized, options)


def _bilinear(pixels: Any, size: tuple[int, int]) -> Any:
    # The kernel takes uint8 as it is: tf.image.resize would convert and squeeze, each an op more for every image.
    return tf.raw_ops.ResizeBilinear(images=pixels[tf.newaxis], size=size, half_pixel_centers=True)[0]


def _antialiased(pixels: Any, size: tuple[int, int]) -> Any:
    return tf.image.resize(pixels, size, method="bilinear", antialias=True)


_RESIZE: dict[str, Callable[[Any, tuple[int, int]], Any]] = {"bilinear": _bilinear, "antialias": _antialiased}


def _cast(pixels: Any, options: ImageOptions) -> Any:
    if options.dtype == "uint8":
        return tf.cast(tf.round(tf.clip_by_value(pixels, 0, 255)), tf.uint8)
    if options.mean is not None and options.std is not None:
        pixels = (pixels - np.asarray(options.mean, np.float32)) / np.asarray(options.std, np.float32)
    return tf.cast(pixels, options.dtype)
