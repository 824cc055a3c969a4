"""Train a classifier."""

from typing import Any

from torch import nn

from shardkit.programs.parts.classification import summary
from shardkit.programs.with_torch.images import cropped
from shardkit.programs.with_torch.pooled import make_pooled

__all__ = ["make_model", "measure", "prepare", "summary"]


def prepare(example: Any, *, training: bool) -> Any:
    """Return the image and the label of an example."""
    return cropped(example, training=training), example["label"]


def make_model(num_classes: int) -> nn.Module:
    """Return a model from images to one logit for each class."""
    return make_pooled(num_classes)


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images).float()
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    return {"loss": losses, "right": (logits.argmax(-1) == labels).float()}
