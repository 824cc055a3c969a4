"""The network below the head, for small images."""

import keras

from shardkit.programs.parts.settings import IMAGE_SIZE


def make_backbone() -> keras.Model:
    """Return a network from images, 0 to 255, to feature maps of an eighth of their height and width."""
    inputs = x = keras.Input((*IMAGE_SIZE, 3))
    x = keras.layers.Rescaling(1 / 127.5, -1)(x)
    for width in (32, 64, 128):
        for strides in (1, 2):
            x = keras.layers.Conv2D(width, 3, strides, padding="same", use_bias=False)(x)
            x = keras.layers.BatchNormalization(momentum=0.9)(x)
            x = keras.layers.ReLU()(x)
    return keras.Model(inputs, x)
