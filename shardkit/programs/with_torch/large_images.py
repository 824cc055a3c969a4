"""The network below the head, for photographs."""

import torchvision
from torch import nn

WEIGHTS: str | None = "DEFAULT"  # to begin with; torchvision downloads them. None: random ones


def make_backbone() -> tuple[nn.Module, int]:
    """Return ResNet-50, from images to feature maps of a 32nd of their height and width, and their channels."""
    network = torchvision.models.resnet50(weights=WEIGHTS)
    return nn.Sequential(*list(network.children())[:-2]), network.fc.in_features  # without pooling and classes
