"""Train a U-Net that gives each pixel a class."""

from typing import Any

import torch
from torch import nn
from torchvision import tv_tensors
from torchvision.transforms import v2

from shardkit.programs.parts.masks import BORDER, WIDTHS, summary
from shardkit.programs.parts.settings import IMAGE_SIZE
from shardkit.programs.with_torch.images import image_of, random_crop

__all__ = ["make_model", "measure", "prepare", "summary"]


def prepare(example: Any, *, training: bool) -> Any:
    """Return the image and the mask of an example; an evaluation sees the whole image."""
    image, mask = tv_tensors.Image(image_of(example)), tv_tensors.Mask(torch.from_numpy(example.mask()))
    image, mask = random_crop(image, mask) if training else v2.Resize(IMAGE_SIZE)(image, mask)
    return image.as_subclass(torch.Tensor), mask.as_subclass(torch.Tensor).long()


def convolutions(inputs: int, width: int) -> nn.Module:
    """Return two convolutions."""
    layers = list[Any]()
    for channels in (inputs, width):
        layers += [nn.Conv2d(channels, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """A U-Net (Ronneberger et al., 2015) from images to one logit for each pixel and class."""

    def __init__(self, num_classes: int) -> None:
        """Make the layers."""
        super().__init__()
        pairs = zip((3, *WIDTHS), WIDTHS, strict=False)
        self.down = nn.ModuleList([convolutions(*channels) for channels in pairs])
        back = [(WIDTHS[level + 1] + WIDTHS[level], WIDTHS[level]) for level in reversed(range(len(WIDTHS) - 1))]
        self.up = nn.ModuleList([convolutions(*channels) for channels in back])
        self.head = nn.Conv2d(WIDTHS[0], num_classes, 1)

    def forward(self, x: Any) -> Any:
        """Return [batch, classes, height, width]."""
        skipped = []
        for level, layers in enumerate(self.down):
            x = layers(nn.functional.max_pool2d(x, 2) if level else x)
            skipped.append(x)
        skipped.pop()
        for layers in self.up:
            x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
            x = layers(torch.cat([x, skipped.pop()], 1))
        return self.head(x)


def make_model(num_classes: int) -> nn.Module:
    """Return a U-Net."""
    return UNet(num_classes)


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits = model(images).float()
    losses = nn.functional.cross_entropy(logits, labels, ignore_index=BORDER, reduction="none")
    counts = (labels != BORDER).float()
    num_classes = logits.shape[1]
    is_true = counts[..., None] * nn.functional.one_hot(labels.where(labels != BORDER, 0), num_classes)
    is_given = counts[..., None] * nn.functional.one_hot(logits.argmax(1), num_classes)
    return {
        "loss": losses.sum((1, 2)) / counts.sum((1, 2)).clamp(min=1),
        "both": (is_true * is_given).sum((1, 2)),
        "either": torch.maximum(is_true, is_given).sum((1, 2)),
    }
