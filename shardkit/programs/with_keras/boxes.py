"""Train a detector: each cell of a grid says whether a box has its centre there, of which class and where."""

from typing import Any

import keras
import tensorflow as tf

from shardkit import reader
from shardkit.programs.parts.boxes import BOX_WEIGHT, HEAD_WIDTH, MIN_SCORE, summary
from shardkit.programs.with_keras.small_images import make_backbone
from shardkit.programs.with_reader.boxes import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def make_model(train_fn: reader.DatasetFn) -> keras.Model:
    """Return a model from images to float32 [batch, rows, columns, classes + 4]: logits of classes, and a box."""
    backbone = make_backbone()
    x = backbone.output
    for _ in range(2):
        x = keras.layers.Conv2D(HEAD_WIDTH, 3, padding="same", activation="relu")(x)
    # Most cells are empty: begin with a score of 0.01 everywhere (Lin et al., 2017, Focal loss).
    rarely = keras.initializers.Constant(-4.6)
    scores = keras.layers.Conv2D(train_fn.num_classes, 1, bias_initializer=rarely, dtype="float32")(x)
    places = keras.layers.Conv2D(4, 1, dtype="float32")(x)
    return keras.Model(backbone.input, keras.layers.Concatenate(dtype="float32")([scores, places]))


def boxes_of_cells(places: Any) -> Any:
    """Return (ymin, xmin, ymax, xmax) of each cell, as fractions of the image, from what the model gives."""
    rows, columns = places.shape[1:3]
    grid = tf.stack(tf.meshgrid(tf.range(rows), tf.range(columns), indexing="ij"), -1)
    centres = (tf.cast(grid, tf.float32) + tf.sigmoid(places[..., :2])) / (rows, columns)
    halves = tf.sigmoid(places[..., 2:]) / 2
    return tf.concat([centres - halves, centres + halves], -1)


def overlap(one: Any, other: Any) -> Any:
    """Return the intersection over union of boxes, which are the last axis of both."""
    sides = tf.maximum(0.0, tf.minimum(one[..., 2:], other[..., 2:]) - tf.maximum(one[..., :2], other[..., :2]))
    both = tf.reduce_prod(sides, -1)
    areas = [tf.reduce_prod(boxes[..., 2:] - boxes[..., :2], -1) for boxes in (one, other)]
    return both / tf.maximum(1e-9, areas[0] + areas[1] - both)


def measure(model: keras.Model, images: Any, labels: Any, *, training: bool) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    outputs = model(images, training=training)
    logits, given = outputs[..., :-4], boxes_of_cells(outputs[..., -4:])
    rows, columns = logits.shape[1:3]
    boxes, is_box = labels["boxes"], labels["labels"] >= 0  # [batch, boxes, 4], [batch, boxes]; the rest is padding
    cells = tf.cast((boxes[..., :2] + boxes[..., 2:]) / 2 * (rows, columns), tf.int32)
    cells = tf.clip_by_value(cells, 0, (rows - 1, columns - 1))
    real = tf.cast(is_box, tf.float32)

    # The class of the boxes that have their centre in a cell: 0 or 1, [batch, rows, columns, classes].
    batch = tf.broadcast_to(tf.range(tf.shape(boxes)[0])[:, None], tf.shape(is_box))
    places = tf.concat([batch[..., None], cells, tf.maximum(0, labels["labels"])[..., None]], -1)
    true = tf.minimum(1.0, tf.scatter_nd(places, real, tf.shape(logits)))
    losses = keras.ops.binary_crossentropy(true, logits, from_logits=True)
    scores = tf.sigmoid(logits)
    losses *= tf.where(true > 0, 0.75, 0.25) * tf.square(tf.abs(true - scores))  # focal loss
    num_boxes = tf.reduce_sum(real, -1)
    of_classes = tf.reduce_sum(losses, [1, 2, 3]) / tf.maximum(1.0, num_boxes)

    at_boxes = tf.gather_nd(given, places[..., :3])  # what the model gives where the boxes are
    overlaps = overlap(at_boxes, boxes)
    distances = tf.reduce_mean(tf.abs(at_boxes - boxes), -1) + (1 - overlaps) / BOX_WEIGHT
    of_boxes = tf.reduce_sum(distances * real, -1) / tf.maximum(1.0, num_boxes)

    is_found = is_box & (overlaps >= 0.5) & (tf.gather_nd(scores, places) >= MIN_SCORE)
    return {
        "loss": of_classes + BOX_WEIGHT * of_boxes,
        "boxes": num_boxes,
        "found": tf.reduce_sum(tf.cast(is_found, tf.float32), -1),
        "given": tf.reduce_sum(tf.cast(scores >= MIN_SCORE, tf.float32), [1, 2, 3]),
    }
