"""Train a model that predicts a number for each image."""

from typing import Any

import torch
from torch import nn

from shardkit.programs.parts.regression import DEVIATIONS, MEANS, summary
from shardkit.programs.with_torch.images import cropped
from shardkit.programs.with_torch.pooled import make_pooled

__all__ = ["make_model", "measure", "prepare", "summary"]


def prepare(example: Any, *, training: bool) -> Any:
    """Return the image of an example and its numbers."""
    return cropped(example, training=training), torch.tensor(example.targets)


def make_model(num_classes: int) -> nn.Module:
    """Return a model from images to the numbers of a label; there are no classes."""
    del num_classes
    return make_pooled(len(MEANS))


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    predictions = model(images).float()
    deviations = predictions.new_tensor(DEVIATIONS)
    errors = predictions - (labels - labels.new_tensor(MEANS)) / deviations
    return {"loss": errors.square().mean(-1), "error": (errors * deviations).abs().mean(-1)}
