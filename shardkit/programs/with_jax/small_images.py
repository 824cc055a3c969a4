"""The network below the head, for small images."""

from typing import Any

from flax import nnx

from shardkit.programs.with_jax.precision import compute_type


class Backbone(nnx.Module):
    """A network from images, 0 to 255, to feature maps of an eighth of their height and width."""

    num_features = 128

    def __init__(self, rngs: nnx.Rngs) -> None:
        """Make the layers."""
        layers, inputs, dtype = list[Any](), 3, compute_type()
        for width in (32, 64, self.num_features):
            for strides in (1, 2):
                layers += [
                    nnx.Conv(inputs, width, (3, 3), strides, use_bias=False, dtype=dtype, rngs=rngs),
                    nnx.BatchNorm(width, momentum=0.9, dtype=dtype, rngs=rngs),
                    nnx.relu,
                ]
                inputs = width
        self.layers = nnx.Sequential(*layers)

    def __call__(self, images: Any) -> Any:
        """Return the feature maps."""
        return self.layers(images / 127.5 - 1)
