"""A model that gives each image some numbers, from the means of its feature maps."""

from typing import Any

from flax import nnx

from shardkit.programs.with_jax.small_images import Backbone

DROPOUT = 0.2  # share of the features that a step of training leaves out


class Pooled(nnx.Module):
    """The backbone, and a layer above the mean of its feature maps."""

    def __init__(self, num_outputs: int, rngs: nnx.Rngs) -> None:
        """Make the layers."""
        self.backbone = Backbone(rngs)
        self.dropout = nnx.Dropout(DROPOUT, rngs=rngs)
        self.head = nnx.Linear(self.backbone.num_features, num_outputs, rngs=rngs)

    def __call__(self, images: Any) -> Any:
        """Return float32 [batch, outputs]."""
        x = self.backbone(images).mean((1, 2), dtype="float32")
        return self.head(self.dropout(x))
