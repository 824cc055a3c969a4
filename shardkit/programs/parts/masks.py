"""The numbers of a U-Net, and its results."""

from typing import Any

import numpy as np

WIDTHS = (32, 64, 128, 256)  # channels at each depth; sides of images are multiples of 2 ** (their number - 1)
BORDER = 255  # value in masks of pixels that do not count


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation from the sums over its examples: IoU is the mean over the classes."""
    occurs = total["either"] > 0
    return {
        "loss": total["loss"] / num_examples,
        "mean IoU": np.mean(total["both"][occurs] / total["either"][occurs]),
    }
