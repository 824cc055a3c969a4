"""Train a U-Net that gives each pixel a class."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from shardkit import reader
from shardkit.programs.parts.masks import BORDER, WIDTHS, summary
from shardkit.programs.parts.settings import SEED
from shardkit.programs.with_jax.precision import compute_type
from shardkit.programs.with_reader.masks import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def convolutions(inputs: int, width: int, rngs: nnx.Rngs) -> nnx.Sequential:
    """Return two convolutions."""
    layers = list[Any]()
    for channels in (inputs, width):
        layers += [
            nnx.Conv(channels, width, (3, 3), use_bias=False, dtype=compute_type(), rngs=rngs),
            nnx.BatchNorm(width, momentum=0.9, dtype=compute_type(), rngs=rngs),
            nnx.relu,
        ]
    return nnx.Sequential(*layers)


class UNet(nnx.Module):
    """A U-Net (Ronneberger et al., 2015) from images to one logit for each pixel and class."""

    def __init__(self, num_classes: int, rngs: nnx.Rngs) -> None:
        """Make the layers."""
        inputs = (3, *WIDTHS)
        self.down = nnx.List([convolutions(*channels, rngs) for channels in zip(inputs, WIDTHS, strict=False)])
        pairs = [(WIDTHS[level + 1] + WIDTHS[level], WIDTHS[level]) for level in reversed(range(len(WIDTHS) - 1))]
        self.up = nnx.List([convolutions(*channels, rngs) for channels in pairs])
        self.head = nnx.Conv(WIDTHS[0], num_classes, (1, 1), rngs=rngs)

    def __call__(self, images: Any) -> Any:
        """Return float32 [batch, height, width, classes]."""
        x, skipped = images / 127.5 - 1, []
        for level, layers in enumerate(self.down):
            x = layers(nnx.max_pool(x, (2, 2), (2, 2)) if level else x)
            skipped.append(x)
        skipped.pop()
        for layers in self.up:
            before = skipped.pop()
            x = jax.image.resize(x, (*before.shape[:3], x.shape[-1]), "bilinear")
            x = layers(jnp.concatenate([x, before], -1))
        return self.head(jnp.float32(x))


def make_model(train_fn: reader.DatasetFn) -> nnx.Module:
    """Return a U-Net."""
    return UNet(train_fn.num_classes, nnx.Rngs(SEED))


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images)
    counts = jnp.float32(labels != BORDER)
    labels = jnp.where(labels == BORDER, 0, labels)
    losses = counts * optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    num_classes = logits.shape[-1]
    is_true = counts[..., None] * jax.nn.one_hot(labels, num_classes)
    is_given = counts[..., None] * jax.nn.one_hot(logits.argmax(-1), num_classes)
    return {
        "loss": losses.sum((1, 2)) / jnp.maximum(1, counts.sum((1, 2))),
        "both": (is_true * is_given).sum((1, 2)),
        "either": jnp.maximum(is_true, is_given).sum((1, 2)),
    }
