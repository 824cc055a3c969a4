"""A model that gives each image some numbers, from the means of its feature maps."""

import keras

from shardkit.programs.with_keras.small_images import make_backbone

DROPOUT = 0.2  # share of the features that a step of training leaves out


def make_pooled(num_outputs: int) -> keras.Model:
    """Return a model from images to float32 [batch, num_outputs]."""
    backbone = make_backbone()
    x = keras.layers.GlobalAveragePooling2D()(backbone.output)
    x = keras.layers.Dropout(DROPOUT, seed=0)(x)
    return keras.Model(backbone.input, keras.layers.Dense(num_outputs, dtype="float32")(x))
