"""Train a network without labels: two views of an image shall be alike, and unlike those of others (SimCLR)."""

from typing import Any

import jax.numpy as jnp
import optax
from flax import nnx

from shardkit import reader
from shardkit.programs.parts.settings import SEED
from shardkit.programs.parts.unlabelled import FEATURES, TEMPERATURE, summary
from shardkit.programs.with_jax.small_images import Backbone
from shardkit.programs.with_reader.unlabelled import READING

__all__ = ["READING", "make_model", "measure", "summary"]


class Projector(nnx.Module):
    """The backbone, which is what to keep, and two layers to the features that the loss compares."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        """Make the layers."""
        self.backbone = Backbone(rngs)
        self.hidden = nnx.Linear(self.backbone.num_features, 256, rngs=rngs)
        self.head = nnx.Linear(256, FEATURES, rngs=rngs)

    def __call__(self, images: Any) -> Any:
        """Return float32 [batch, features]."""
        return self.head(nnx.relu(self.hidden(self.backbone(images).mean((1, 2), dtype="float32"))))


def make_model(train_fn: reader.DatasetFn) -> nnx.Module:
    """Return a model from images to the features that the loss compares."""
    del train_fn
    return Projector(nnx.Rngs(SEED))


def measure(model: Any, images: Any, others: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    features = model(jnp.concatenate([images, others]))
    features /= jnp.maximum(1e-6, jnp.linalg.norm(features, axis=-1, keepdims=True))
    number = len(features)
    likeness = features @ features.T / TEMPERATURE
    likeness -= 1e9 * jnp.eye(number)  # an image is not compared with itself
    partners = jnp.roll(jnp.arange(number), number // 2)
    losses = optax.softmax_cross_entropy_with_integer_labels(likeness, partners)
    is_right = jnp.float32(likeness.argmax(-1) == partners)
    return {"loss": losses.reshape(2, -1).mean(0), "right": is_right.reshape(2, -1).mean(0)}
