"""The network below the head, for photographs."""

from functools import partial
from typing import Any

from flax import nnx

from shardkit.programs.with_jax.precision import compute_type

DEPTHS = (3, 4, 6, 3)  # blocks with 64, 128, 256 and 512 channels: ResNet-50; (3, 4, 23, 3) is ResNet-101


class Block(nnx.Module):
    """Three convolutions and a way around them."""

    def __init__(self, inputs: int, width: int, strides: int, rngs: nnx.Rngs) -> None:
        """Make the layers; the second convolution has the strides."""
        convolution = partial(nnx.Conv, use_bias=False, dtype=compute_type(), rngs=rngs)
        norm = partial(nnx.BatchNorm, momentum=0.9, dtype=compute_type(), rngs=rngs)
        outputs = 4 * width
        # The last scale begins at 0, so that a block changes nothing at first (Goyal et al., 2017).
        last = norm(outputs, scale_init=nnx.initializers.zeros_init())
        self.layers = nnx.Sequential(
            convolution(inputs, width, (1, 1)),
            norm(width),
            nnx.relu,
            convolution(width, width, (3, 3), strides),
            norm(width),
            nnx.relu,
            convolution(width, outputs, (1, 1)),
            last,
        )
        around = [convolution(inputs, outputs, (1, 1), strides), norm(outputs)] if inputs != outputs else []
        self.around = nnx.Sequential(*around)

    def __call__(self, x: Any) -> Any:
        """Return the result, with a smaller height and width if there are strides."""
        return nnx.relu(self.layers(x) + self.around(x))


class Backbone(nnx.Module):
    """ResNet (He et al., 2015), from images, 0 to 255, to feature maps of a 32nd of their height and width."""

    num_features = 2048

    def __init__(self, rngs: nnx.Rngs) -> None:
        """Make the layers."""
        first = nnx.Conv(3, 64, (7, 7), 2, use_bias=False, dtype=compute_type(), rngs=rngs)
        pool = partial(nnx.max_pool, window_shape=(3, 3), strides=(2, 2), padding="SAME")
        layers = [first, nnx.BatchNorm(64, momentum=0.9, dtype=compute_type(), rngs=rngs), nnx.relu, pool]
        inputs = 64
        for stage, depth in enumerate(DEPTHS):
            width = 64 << stage
            for number in range(depth):
                layers.append(Block(inputs, width, 2 if stage and not number else 1, rngs))
                inputs = 4 * width
        self.layers = nnx.Sequential(*layers)

    def __call__(self, images: Any) -> Any:
        """Return the feature maps."""
        return self.layers(images / 127.5 - 1)
