"""Train a classifier."""

from typing import Any

import jax.numpy as jnp
import optax
from flax import nnx

from shardkit import reader
from shardkit.programs.parts.classification import summary
from shardkit.programs.parts.settings import SEED
from shardkit.programs.with_jax.pooled import Pooled
from shardkit.programs.with_reader.images import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def make_model(train_fn: reader.DatasetFn) -> nnx.Module:
    """Return a model from images to one logit for each class."""
    return Pooled(train_fn.num_classes, nnx.Rngs(SEED))


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return {"loss": losses, "right": jnp.float32(logits.argmax(-1) == labels)}
