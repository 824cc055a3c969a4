"""A model that gives each image some numbers, from the means of its feature maps."""

from torch import nn

from shardkit.programs.with_torch.small_images import make_backbone

DROPOUT = 0.2  # share of the features that a step of training leaves out


def make_pooled(num_outputs: int) -> nn.Module:
    """Return a model from images to float32 [batch, num_outputs]."""
    backbone, width = make_backbone()
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(DROPOUT)]
    return nn.Sequential(backbone, *pool, nn.Linear(width, num_outputs))
