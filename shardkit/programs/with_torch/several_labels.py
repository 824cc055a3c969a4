"""Train a classifier of images that have several labels, or none."""

from typing import Any

import torch
from torch import nn

from shardkit.programs.parts.several_labels import summary
from shardkit.programs.with_torch.images import cropped
from shardkit.programs.with_torch.pooled import make_pooled

__all__ = ["make_model", "measure", "prepare", "summary"]


def prepare(example: Any, *, training: bool) -> Any:
    """Return the image of an example, and 0 or 1 for each class."""
    labels = torch.zeros(len(example.class_names))
    labels[example.labels] = 1
    return cropped(example, training=training), labels


def make_model(num_classes: int) -> nn.Module:
    """Return a model from images to one logit for each class."""
    return make_pooled(num_classes)


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images).float()
    losses = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    given = (logits > 0).float()
    return {
        "loss": losses.mean(-1),
        "given": given.sum(-1),
        "true": labels.sum(-1),
        "both": (given * labels).sum(-1),
    }
