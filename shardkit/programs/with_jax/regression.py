"""Train a model that predicts a number for each image."""

from typing import Any

import jax.numpy as jnp
from flax import nnx

from shardkit import reader
from shardkit.programs.parts.regression import DEVIATIONS, MEANS, summary
from shardkit.programs.parts.settings import SEED
from shardkit.programs.with_jax.pooled import Pooled
from shardkit.programs.with_reader.images import READING

__all__ = ["READING", "make_model", "measure", "summary"]


def make_model(train_fn: reader.DatasetFn) -> nnx.Module:
    """Return a model from images to the numbers of a label."""
    del train_fn
    return Pooled(len(MEANS), nnx.Rngs(SEED))


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    predictions = model(images)
    deviations = jnp.array(DEVIATIONS)
    errors = predictions - (labels.reshape(predictions.shape) - jnp.array(MEANS)) / deviations
    return {"loss": (errors**2).mean(-1), "error": abs(errors * deviations).mean(-1)}
