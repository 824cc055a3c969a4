"""Decode one image: only its window, then resize, cast and flip it; all shapes are static.

window    int32[4]: top, left, height, width in pixels of the stored image
is_png    bool[]; None or False if all images are JPEGs, True if all are PNGs
flip      bool[], whether to mirror left to right; None for never
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.fetch.fetcher import PIXELS
from shardkit.reader.arguments.images import Images

# Scales at which libjpeg decodes, as divisors of both sides: it inverts 4 x 4, 2 x 2 or 1 of 8 x 8 frequencies.
RATIOS = (1, 2, 4, 8)


def pixels_of_example(columns: dict[str, Any], image: Images) -> Any:
    """Return the finished pixels of one example from the columns of its record, or of its held image."""
    flip = columns.get("flip")
    if PIXELS in columns:
        return finish_held(columns[PIXELS][tf.newaxis], None if flip is None else flip[tf.newaxis], image)[0]
    window = columns["window"]
    return finish(decode(_encoded(columns), window, columns.get("is_png"), image), flip, image, window)


def pixels_of_chunk(columns: dict[str, Any], image: Images, *, have_size: bool) -> Any:
    """Return the finished pixels of several examples, [n, height, width, channels], without scaled decoding.

    The graph has the operations for each image: a loop in the graph takes half as much time again.
    """
    if PIXELS in columns:
        return finish_held(columns[PIXELS], columns.get("flip"), image)
    encoded, is_png = tf.unstack(_encoded(columns)), columns.get("is_png")
    are_png = [is_png] * len(encoded) if is_png is None or isinstance(is_png, bool) else tf.unstack(is_png)
    windows = tf.unstack(columns["window"])
    rows = zip(encoded, windows, are_png, strict=True)
    pixels = [decode_window(data, window, of_one, image.channels) for data, window, of_one in rows]
    shape, flips = [len(pixels), *image.size, image.channels], columns.get("flip")
    if have_size:  # mirrored as uint8
        return _cast(_mirrored(tf.ensure_shape(tf.stack(pixels), shape), flips), image)
    resized = tf.concat([_resized(*one, image) for one in zip(pixels, windows, strict=True)], axis=0)
    return _mirrored(_cast(tf.ensure_shape(resized, shape), image), flips)


def _encoded(columns: dict[str, Any]) -> Any:
    """Return the encoded images: a column, or a part of the records."""
    if "image" in columns:
        return columns["image"]
    return tf.strings.substr(columns["record"], columns["image_start"], columns["image_bytes"])


def decode(encoded: Any, window: Any, is_png: Any | None, image: Images) -> Any:
    """Return the pixels of a window, with scaled decoding if that is wanted; see `decode_window`."""
    return decode_window(
        encoded, window, is_png, image.channels, target_size(window, image) if image.scaled_decoding else None
    )


def decode_window(encoded: Any, window: Any, is_png: Any | None, channels: int, target: Any | None = None) -> Any:
    """Return the pixels of a window, uint8[window height, window width, channels].

    A JPEG is decoded only as far as the window needs; a PNG as a whole, which its format requires. With a target, the
    window of a JPEG is decoded at the largest of RATIOS at which both its sides are at least as long as the target's.
    """

    def jpeg(ratio: int = 1) -> Any:
        at_ratio = scaled_window(window, ratio)
        return tf.raw_ops.DecodeAndCropJpeg(contents=encoded, crop_window=at_ratio, channels=channels, ratio=ratio)

    def scaled() -> Any:
        # The ratio is an attribute of the operation, not an input, so each has its own operation.
        return tf.switch_case(ratio_index(window, target), [partial(jpeg, ratio) for ratio in RATIOS])

    def png() -> Any:
        # Always in color: libpng converts to grayscale in linear light if the file has a gAMA or sRGB chunk, which
        # changes pure red from 76 to 147; the colors do not depend on a chunk (measured with TensorFlow 2.21).
        pixels = tf.raw_ops.DecodePng(contents=encoded, channels=3, dtype=tf.uint8)
        pixels = cropped(pixels, window, 3)
        return pixels if channels == 3 else luma(pixels)

    decode = jpeg if target is None else scaled
    if is_png is None or isinstance(is_png, bool):
        return png() if is_png else decode()
    return tf.cond(is_png, png, decode)


def cropped(pixels: Any, window: Any, channels: int) -> Any:
    """Return the pixels of a window; int32[4], see `decode_window`. It fails if the window is not inside the image.

    By few operations: the graph has them for each image of a chunk, and each takes part of a millisecond to trace and
    as much to optimise before the first batch.
    """
    begin, size = tf.unstack(tf.concat([tf.reshape(window, [2, 2]), [[0], [channels]]], axis=1))
    part = tf.slice(pixels, begin, size)
    part.set_shape([None, None, channels])
    return part


def luma(pixels: Any) -> Any:
    """Return the brightness of RGB pixels as a JPEG stores it, to the nearest integer: uint8[h, w, 3] to [h, w, 1]."""
    red, green, blue = tf.unstack(tf.cast(pixels, tf.int32), axis=-1)
    # ITU-R BT.601 in 2**-16, rounded as libjpeg rounds (jccolor.c): 0.299, 0.587, 0.114, which add to exactly 2**16.
    weighed = 19595 * red + 38470 * green + 7471 * blue
    return tf.cast(tf.bitwise.right_shift(weighed + (1 << 15), 16), tf.uint8)[..., tf.newaxis]


def decoding_error(encoded: bytes, window: Any, *, is_png: bool, image: Images) -> str | None:
    """Return the decoder's error, or None if the window decodes; runs eagerly."""
    with tf.device("CPU:0"):
        try:
            decode(tf.constant(encoded), tf.constant(window), tf.constant(is_png), image)
        except tf.errors.OpError as error:
            # Without the names of the operation that TensorFlow adds before and after it.
            return re.sub(r"\{\{.*?\}\}|\[Op:.*", "", str(error.message)).strip()
    return None


def ratio_index(window: Any, target: Any) -> Any:
    """Return the index into RATIOS of the largest one that keeps the window as large as the target, int32[]."""
    is_enough = tf.reduce_all(window[2:] // np.array(RATIOS[1:], np.int32)[:, np.newaxis] >= target, axis=1)
    return tf.math.count_nonzero(is_enough, dtype=tf.int32)  # what is large enough at 8 is so at 4


def scaled_window(window: Any, ratio: int) -> Any:
    """Return a window in pixels of the image decoded at a ratio, int32[4].

    The sides of the decoded image are ceil(side / ratio), and its pixel i covers [i * ratio, (i + 1) * ratio) of the
    stored one. The window's sides are rounded first and its middle next, so both are within half a decoded pixel of the
    exact ones. A window inside the image stays inside: rounding moves an edge by less than one pixel, and the side of
    the decoded image is rounded up.
    """
    if ratio == 1:
        return window
    sides = tf.maximum((2 * window[2:] + ratio) // (2 * ratio), 1)
    corner = (2 * window[:2] + window[2:] + (1 - sides) * ratio) // (2 * ratio)
    return tf.concat([corner, sides], axis=0)


def target_size(window: Any, options: Images) -> Any:
    """Return the (height, width) that a window is resized to: `options.size`, or less if it is padded."""
    if options.is_padded:
        return pad_geometry(window[2:], options.size)[0]
    return options.size


def finish(pixels: Any, flip: Any | None, options: Images, window: Any) -> Any:
    """Return the pixels of a window resized to the target, cast and flipped; [height, width, channels]."""
    finished = _cast(tf.squeeze(_resized(pixels, window, options), 0), options)
    if flip is not None:
        # Flipped last: a uint8 image has a quarter of the bytes.
        finished = tf.cond(flip, lambda: tf.reverse(finished, [1]), lambda: finished)
    finished.set_shape([*options.size, options.channels])
    return finished


def finish_held(pixels: Any, flips: Any | None, options: Images) -> Any:
    """Return what `finish` returns for images of one size that were held in memory: [n, height, width, channels].

    They are finished if they have the target's dtype; else they are as stored, uint8.
    """
    if tuple(pixels.shape[1:3]) != tuple(options.size):
        return _mirrored(_cast(_RESIZE[options.resize_method](pixels, options.size), options), flips)
    mirrored = _mirrored(pixels, flips)
    return mirrored if pixels.dtype == options.dtype else _cast(mirrored, options)


def _mirrored(images: Any, flips: Any | None) -> Any:
    """Return images, [n, height, width, channels], those mirrored whose flip is true; None for none.

    Reversing has a fast path for up to three dimensions, and copying whole images is faster than choosing pixels: at
    64 x 64 this takes 4 microseconds an image, and tf.where of all images reversed 43.
    """
    if flips is None:
        return images
    reversed_ = tf.reshape(tf.reverse(tf.reshape(images, [-1, *images.shape[2:]]), [1]), [-1, *images.shape[1:]])
    count = tf.shape(flips)[0]
    both = tf.ensure_shape(tf.concat([images, reversed_], axis=0), [None, *images.shape[1:]])
    return tf.gather(both, tf.range(count) + count * tf.cast(flips, tf.int32))


def _resized(pixels: Any, window: Any, options: Images) -> Any:
    """Return the pixels of a window resized to the target, float32[1, height, width, channels]."""
    if options.is_padded:  # by the window's sides: scaled decoding rounds those of the pixels
        return _padded(pixels, window[2:], options)
    return _RESIZE[options.resize_method](tf.expand_dims(pixels, 0), options.size)


def _padded(pixels: Any, shape: Any, options: Images) -> Any:
    """Return the whole image, resized and centred, with a black border.

    tf.image.resize_with_pad is not used: it rounds a side of very long images down to 0 pixels, and fails.
    """
    fitted, before = pad_geometry(shape, options.size)
    edges = tf.stack([before, options.size - fitted - before], axis=1)
    resized = _RESIZE[options.resize_method](tf.expand_dims(pixels, 0), fitted)
    return tf.pad(resized, tf.pad(edges, [[1, 1], [0, 0]]))


def pad_geometry(shape: Any, size: tuple[int, int]) -> tuple[Any, Any]:
    """Return the size of a resized image inside the target, and of its border at the top left; int32[2] each."""
    shape = tf.cast(shape, tf.int64)
    # Each side, to the nearest pixel, as if the other one filled the target; the side that would exceed it is clipped.
    fitted = (2 * shape * size[::-1] + shape[::-1]) // (2 * shape[::-1])
    fitted = tf.cast(tf.clip_by_value(fitted, 1, size), tf.int32)
    return fitted, (size - fitted) // 2


def _bilinear(pixels: Any, size: Any) -> Any:
    # Cast first: the kernel is vectorised for float32 and not for uint8, which takes 100 to 150 us more per image.
    images = tf.cast(pixels, tf.float32)
    return tf.raw_ops.ResizeBilinear(images=images, size=size, half_pixel_centers=True)


def _antialiased(pixels: Any, size: Any) -> Any:
    return tf.image.resize(pixels, size, method="bilinear", antialias=True)


_RESIZE: dict[str, Callable[[Any, Any], Any]] = {"bilinear": _bilinear, "antialias": _antialiased}


def _cast(pixels: Any, options: Images) -> Any:
    if options.dtype == "uint8":
        # No clipping is needed: both methods average, so all values are in 0..255.
        return pixels if pixels.dtype == tf.uint8 else tf.cast(tf.round(pixels), tf.uint8)
    pixels = tf.cast(pixels, tf.float32)
    if options.mean is not None and options.std is not None:
        # By rows: the same broadcast over a last axis of 3 takes ten times as long (measured: 820 instead of 85
        # microseconds for 224 x 224, of which resizing takes 400).
        shape, width = pixels.shape, options.size[1]
        mean, std = (np.tile(np.asarray(values, np.float32), width) for values in (options.mean, options.std))
        rows = (tf.reshape(pixels, [-1, width * options.channels]) - mean) / std
        pixels = tf.reshape(rows, [*(-1 if side is None else side for side in shape[:-3]), *shape[-3:]])
    return tf.cast(pixels, options.dtype)
