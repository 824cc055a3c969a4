"""Crop, resize and flip boxes and masks together with their image."""

from typing import Any

import tensorflow as tf

from shardkit.dataset import features
from shardkit.reader.arguments.images import Images
from shardkit.reader.images.decoding import cropped, pad_geometry

_PNG_DEPTH = 24  # offset of the byte of a PNG file with the bits per sample


def move_annotations(parsed: dict[str, Any], window: Any, flip: Any | None, options: Images) -> dict[str, Any]:
    """Return the features of an example, with the boxes and the mask of the decoded image instead of the stored one."""
    moved = dict(parsed)
    if features.MASK in moved:
        moved[features.MASK] = _mask(moved[features.MASK], window, flip, options)
    name = f"{features.OBJECTS}bbox"
    if name not in moved:
        return moved
    boxes, kept = _boxes(moved[name], parsed["height"], parsed["width"], window, flip, options)
    moved[name] = boxes
    for field in [field for field in moved if field.startswith(features.OBJECTS)]:
        moved[field] = tf.gather(moved[field], kept)
    return moved


def _boxes(boxes: Any, height: Any, width: Any, window: Any, flip: Any | None, options: Images) -> tuple[Any, Any]:
    """Return boxes as shares of the decoded image, clipped at its edges, and the int64[k] numbers of the visible ones.

    Numbers, not bool[n]: tf.boolean_mask makes 25 operations of each field, for each image of a chunk.
    """
    sides = tf.cast(tf.stack([height, width, height, width]), tf.float32)
    corner, extent = tf.split(tf.cast(window, tf.float32), 2)
    moved = (boxes * sides - tf.tile(corner, [2])) / tf.tile(extent, [2])
    clipped = tf.clip_by_value(moved, 0.0, 1.0)
    visible = _area(clipped)
    kept = tf.squeeze(tf.where((visible > 0) & (visible >= options.min_visible * _area(moved))), 1)
    if options.is_padded:
        fitted, before = pad_geometry(window[2:], options.size)
        size = tf.constant(options.size, tf.float32)
        fitted, before = tf.cast(fitted, tf.float32), tf.cast(before, tf.float32)
        clipped = (clipped * tf.tile(fitted, [2]) + tf.tile(before, [2])) / tf.tile(size, [2])
    if flip is not None:
        ymin, xmin, ymax, xmax = tf.unstack(clipped, axis=1)
        unflipped = clipped
        clipped = tf.cond(flip, lambda: tf.stack([ymin, 1 - xmax, ymax, 1 - xmin], axis=1), lambda: unflipped)
    return clipped, kept


def _area(boxes: Any) -> Any:
    ymin, xmin, ymax, xmax = tf.unstack(boxes, axis=1)
    return (ymax - ymin) * (xmax - xmin)


def _mask(encoded: Any, window: Any, flip: Any | None, options: Images) -> Any:
    """Return the classes of the decoded image's pixels, by nearest neighbour: int32[height, width], static shape."""
    # Decoding as 16 bits would scale samples of 8 bits.
    is_wide = tf.equal(tf.strings.substr(encoded, _PNG_DEPTH, 1), tf.constant(b"\x10"))
    pixels = tf.cond(
        is_wide,
        lambda: tf.cast(tf.io.decode_png(encoded, channels=1, dtype=tf.uint16), tf.int32),
        lambda: tf.cast(tf.io.decode_png(encoded, channels=1), tf.int32),
    )
    pixels = cropped(pixels, window, 1)
    if options.is_padded:
        fitted, before = pad_geometry(window[2:], options.size)
        edges = tf.stack([before, options.size - fitted - before], axis=1)
        resized = tf.pad(_nearest(pixels, fitted)[..., 0], edges, constant_values=options.mask_padding)
    else:
        resized = _nearest(pixels, options.size)[..., 0]
    if flip is not None:
        resized = tf.cond(flip, lambda: tf.reverse(resized, [1]), lambda: resized)
    resized.set_shape(options.size)
    return resized


def _nearest(pixels: Any, size: Any) -> Any:
    return tf.raw_ops.ResizeNearestNeighbor(images=pixels[tf.newaxis], size=size, half_pixel_centers=True)[0]


def targets(moved: dict[str, Any], max_boxes: int) -> Any:
    """Return the label of the decoded image: its mask, or its first boxes with their labels, padded with 0 and -1."""
    if features.MASK in moved:
        return moved[features.MASK]
    boxes, labels = moved[f"{features.OBJECTS}bbox"][:max_boxes], moved[features.OBJECT_LABELS][:max_boxes]
    missing = max_boxes - tf.shape(labels)[0]
    padded = tf.pad(boxes, [[0, missing], [0, 0]])
    labels = tf.pad(labels, [[0, missing]], constant_values=-1)
    padded.set_shape([max_boxes, 4])
    labels.set_shape([max_boxes])
    return {"boxes": padded, "labels": labels}
