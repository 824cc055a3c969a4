"""One image: decode only the window, resize, cast, flip; every shape static."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.reader.arguments.options import ImageOptions

# By which libjpeg can divide both sides: it inverts 4 x 4, 2 x 2 or 1 of a block's 8 x 8 frequencies.
RATIOS = (1, 2, 4, 8)


def decode_window(encoded: Any, window: Any, is_png: Any | None, channels: int, target: Any | None = None) -> Any:
    """The pixels of a window, uint8[window height, window width, channels].

    A JPEG is decoded no further than the window needs; a PNG as a whole, because its format allows no other way.

    Args:
        encoded: bytes of a JPEG or a PNG.
        window: int32[4]: top, left, height, width.
        is_png: bool, or None where all images are JPEG.
        channels: 1 or 3.
        target: (height, width) that the window is resized to afterwards. A JPEG's window comes smaller by the greatest
            of RATIOS that leaves it as large as the target in both directions. None for never.
    """

    def jpeg(ratio: int = 1) -> Any:
        at_ratio = scaled_window(window, ratio)
        return tf.raw_ops.DecodeAndCropJpeg(contents=encoded, crop_window=at_ratio, channels=channels, ratio=ratio)

    def scaled() -> Any:
        # The ratio is an attribute of the operation, not an input: hence one operation for each.
        return tf.switch_case(ratio_index(window, target), [partial(jpeg, ratio) for ratio in RATIOS])

    def png() -> Any:
        # In color, always: libpng converts to grayscale in linear light if the file has a gAMA or sRGB chunk, which
        # changes pure red from 76 to 147; the colors themselves depend on no chunk (measured with 2.21).
        pixels = tf.raw_ops.DecodePng(contents=encoded, channels=3, dtype=tf.uint8)
        pixels = tf.slice(pixels, [window[0], window[1], 0], [window[2], window[3], 3])
        return pixels if channels == 3 else luma(pixels)

    decode = jpeg if target is None else scaled
    return decode() if is_png is None else tf.cond(is_png, png, decode)


def luma(pixels: Any) -> Any:
    """Return the brightness of RGB pixels as a JPEG stores it, to the nearest integer: uint8[h, w, 3] to [h, w, 1]."""
    red, green, blue = tf.unstack(tf.cast(pixels, tf.int32), axis=-1)
    # ITU-R BT.601 in 2**-16, rounded as libjpeg rounds (jccolor.c): 0.299, 0.587, 0.114, which add to exactly 2**16.
    weighed = 19595 * red + 38470 * green + 7471 * blue
    return tf.cast(tf.bitwise.right_shift(weighed + (1 << 15), 16), tf.uint8)[..., tf.newaxis]


def decoding_error(encoded: bytes, window: Any, *, is_png: bool, image: ImageOptions) -> str | None:
    """What keeps a window from being decoded, outside any graph; None for nothing.

    Args:
        encoded: see decode_window.
        window: see decode_window.
        is_png: see decode_window.
        image: how it is decoded.
    """
    with tf.device("CPU:0"):
        target = target_size(tf.constant(window), image) if image.scaled_decoding else None
        try:
            decode_window(tf.constant(encoded), tf.constant(window), tf.constant(is_png), image.channels, target)
        except tf.errors.OpError as error:
            # Names of the operation stand before the sentence and behind it.
            return re.sub(r"\{\{.*?\}\}|\[Op:.*", "", str(error.message)).strip()
    return None


def ratio_index(window: Any, target: Any) -> Any:
    """Index into RATIOS of the greatest ratio that leaves the window as large as the target, int32[]; 0 if none does.

    Args:
        window: int32[4]: top, left, height, width.
        target: int32[2] or two ints: height, width.
    """
    is_enough = tf.reduce_all(window[2:] // np.array(RATIOS[1:], np.int32)[:, np.newaxis] >= target, axis=1)
    return tf.math.count_nonzero(is_enough, dtype=tf.int32)  # what is enough at 8 is enough at 4


def scaled_window(window: Any, ratio: int) -> Any:
    """A window in pixels of the image decoded at a ratio, whose sides are ceil(side / ratio); int32[4].

    Pixel i there covers [i * ratio, (i + 1) * ratio) here. Sides are rounded, then the middle is, so that sides and
    middle are each within half a pixel there of the exact ones. It never leaves the image, if the window does not: an
    edge that a pixel's rounding moves out by less than one pixel stays below the rounded-up side of the image.

    Args:
        window: int32[4]: top, left, height, width.
        ratio: one of RATIOS.
    """
    if ratio == 1:
        return window
    sides = tf.maximum((2 * window[2:] + ratio) // (2 * ratio), 1)
    corner = (2 * window[:2] + window[2:] + (1 - sides) * ratio) // (2 * ratio)
    return tf.concat([corner, sides], axis=0)


def target_size(window: Any, options: ImageOptions) -> Any:
    """What a window is resized to, (height, width): all of `options.size`, except where black is put beside it."""
    if options.eval_fit == "pad" and not options.training:
        return pad_geometry(window[2:], options.size)[0]
    return options.size


def finish(pixels: Any, flip: Any | None, options: ImageOptions, shape: Any | None = None) -> Any:
    """Resize to the target, cast to the dtype asked for, and flip; [height, width, channels], static.

    Args:
        pixels: uint8[any height, any width, channels].
        flip: bool, whether to mirror left to right, or None for never.
        options: what is wanted.
        shape: int32[2] of the window before scaled decoding rounded it, which decides what is padded; None for that of
            pixels.
    """
    height, width = options.size
    resize = _RESIZE[options.resize_method]
    if options.eval_fit == "pad" and not options.training:
        resized = _padded(pixels, tf.shape(pixels)[:2] if shape is None else shape, options.size, resize)
    else:
        resized = resize(pixels, options.size)
    finished = _cast(resized, options)
    if flip is not None:
        # Last, where a uint8 image has a quarter of the bytes.
        finished = tf.cond(flip, lambda: tf.reverse(finished, [1]), lambda: finished)
    finished.set_shape([height, width, options.channels])
    return finished


def _padded(pixels: Any, shape: Any, size: tuple[int, int], resize: Callable[[Any, Any], Any]) -> Any:
    """The whole image in the middle, black beside it.

    Not tf.image.resize_with_pad: it rounds a side of very long images down to 0 pixels, and fails.
    """
    fitted, before = pad_geometry(shape, size)
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
