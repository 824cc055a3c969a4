"""Train a network without labels: two views of an image shall be alike, and unlike those of others (SimCLR)."""

from typing import Any

import torch
from torch import nn
from torchvision.transforms import v2

from shardkit.programs.parts.settings import IMAGE_SIZE
from shardkit.programs.parts.unlabelled import FEATURES, JITTER, TEMPERATURE, VIEW_SCALE, summary
from shardkit.programs.with_torch.images import image_of
from shardkit.programs.with_torch.small_images import make_backbone

__all__ = ["make_model", "measure", "prepare", "summary"]


def prepare(example: Any, *, training: bool) -> Any:
    """Return two random crops of an image with other colours, in an evaluation too."""
    del training
    crop = v2.RandomResizedCrop(IMAGE_SIZE, VIEW_SCALE, antialias=True)
    view = v2.Compose([crop, v2.RandomHorizontalFlip(), v2.ColorJitter(JITTER, JITTER, JITTER)])
    image = image_of(example)
    return view(image), view(image)


def make_model(num_classes: int) -> nn.Module:
    """Return a model from images to the features that the loss compares; keep the backbone, its first part."""
    del num_classes
    backbone, width = make_backbone()
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(backbone, *pool, nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, FEATURES))


def measure(model: Any, images: Any, others: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    features = nn.functional.normalize(model(torch.cat([images, others])).float(), dim=-1)
    number = len(features)
    likeness = features @ features.T / TEMPERATURE
    likeness = likeness - 1e9 * torch.eye(number, device=likeness.device)  # an image is not compared with itself
    partners = torch.arange(number, device=likeness.device).roll(number // 2)
    losses = nn.functional.cross_entropy(likeness, partners, reduction="none")
    is_right = (likeness.argmax(-1) == partners).float()
    return {"loss": losses.reshape(2, -1).mean(0), "right": is_right.reshape(2, -1).mean(0)}
