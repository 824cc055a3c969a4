"""The network below the head, for photographs."""

import keras

from shardkit.programs.parts.settings import IMAGE_SIZE

WEIGHTS: str | None = "imagenet"  # to begin with; Keras downloads them. None: random ones


def make_backbone() -> keras.Model:
    """Return EfficientNetV2-B0, from images, 0 to 255, to feature maps of a 32nd of their height and width."""
    return keras.applications.EfficientNetV2B0(include_top=False, weights=WEIGHTS, input_shape=(*IMAGE_SIZE, 3))
