"""Train a detector: each cell of a grid says whether a box has its centre there, of which class and where."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from shardkit import reader
from shardkit.programs.parts.boxes import BOX_WEIGHT, HEAD_WIDTH, MIN_SCORE, summary
from shardkit.programs.parts.settings import SEED
from shardkit.programs.with_jax.precision import compute_type
from shardkit.programs.with_jax.small_images import Backbone
from shardkit.programs.with_reader.boxes import READING

__all__ = ["READING", "make_model", "measure", "summary"]


class Detector(nnx.Module):
    """The backbone, and a head that gives each cell of its feature maps logits of classes, and a box."""

    def __init__(self, num_classes: int, rngs: nnx.Rngs) -> None:
        """Make the layers."""
        self.backbone = Backbone(rngs)
        self.head = nnx.Sequential(
            nnx.Conv(self.backbone.num_features, HEAD_WIDTH, (3, 3), dtype=compute_type(), rngs=rngs),
            nnx.relu,
            nnx.Conv(HEAD_WIDTH, HEAD_WIDTH, (3, 3), dtype=compute_type(), rngs=rngs),
            nnx.relu,
        )
        # Most cells are empty: begin with a score of 0.01 everywhere (Lin et al., 2017, Focal loss).
        rarely = nnx.initializers.constant(-4.6)
        self.scores = nnx.Conv(HEAD_WIDTH, num_classes, (1, 1), bias_init=rarely, rngs=rngs)
        self.places = nnx.Conv(HEAD_WIDTH, 4, (1, 1), rngs=rngs)

    def __call__(self, images: Any) -> Any:
        """Return float32 [batch, rows, columns, classes] and [batch, rows, columns, 4]."""
        x = jnp.float32(self.head(self.backbone(images)))
        return self.scores(x), self.places(x)


def make_model(train_fn: reader.DatasetFn) -> nnx.Module:
    """Return a model from images to logits and places."""
    return Detector(train_fn.num_classes, nnx.Rngs(SEED))


def boxes_of_cells(places: Any) -> Any:
    """Return (ymin, xmin, ymax, xmax) of each cell, as fractions of the image, from what the model gives."""
    rows, columns = places.shape[1:3]
    grid = jnp.stack(jnp.meshgrid(jnp.arange(rows), jnp.arange(columns), indexing="ij"), -1)
    centres = (grid + jax.nn.sigmoid(places[..., :2])) / jnp.array([rows, columns])
    halves = jax.nn.sigmoid(places[..., 2:]) / 2
    return jnp.concatenate([centres - halves, centres + halves], -1)


def overlap(one: Any, other: Any) -> Any:
    """Return the intersection over union of boxes, which are the last axis of both."""
    sides = jnp.minimum(one[..., 2:], other[..., 2:]) - jnp.maximum(one[..., :2], other[..., :2])
    both = jnp.maximum(0, sides).prod(-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(-1) for boxes in (one, other)]
    return both / jnp.maximum(1e-9, areas[0] + areas[1] - both)


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits, places = model(images)
    given, scores = boxes_of_cells(places), jax.nn.sigmoid(logits)
    boxes, is_box = labels["boxes"], labels["labels"] >= 0  # [batch, boxes, 4], [batch, boxes]; the rest is padding
    size = jnp.array(logits.shape[1:3])
    cells = jnp.clip(((boxes[..., :2] + boxes[..., 2:]) / 2 * size).astype(int), 0, size - 1)
    at = (jnp.arange(len(boxes))[:, None], cells[..., 0], cells[..., 1])  # the cells with the centres
    at_classes = (*at, jnp.maximum(0, labels["labels"]))

    # The class of the boxes that have their centre in a cell: 0 or 1, [batch, rows, columns, classes].
    true = jnp.zeros_like(logits).at[at_classes].max(jnp.float32(is_box))
    losses = optax.sigmoid_focal_loss(logits, true, alpha=0.75, gamma=2.0)
    num_boxes = is_box.sum(-1)
    of_classes = losses.sum((1, 2, 3)) / jnp.maximum(1, num_boxes)

    at_boxes = given[at]  # what the model gives where the boxes are
    overlaps = overlap(at_boxes, boxes)
    distances = abs(at_boxes - boxes).mean(-1) + (1 - overlaps) / BOX_WEIGHT
    of_boxes = (distances * is_box).sum(-1) / jnp.maximum(1, num_boxes)

    is_found = is_box & (overlaps >= 0.5) & (scores[at_classes] >= MIN_SCORE)
    return {
        "loss": of_classes + BOX_WEIGHT * of_boxes,
        "boxes": num_boxes,
        "found": is_found.sum(-1),
        "given": (scores >= MIN_SCORE).sum((1, 2, 3)),
    }
