"""The network below the head, for small images."""

from typing import Any

from torch import nn


def make_backbone() -> tuple[nn.Module, int]:
    """Return a network from images to feature maps of an eighth of their height and width, and their channels."""
    layers, inputs = list[Any](), 3
    for width in (32, 64, 128):
        for stride in (1, 2):
            layers += [nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            inputs = width
    return nn.Sequential(*layers), inputs
