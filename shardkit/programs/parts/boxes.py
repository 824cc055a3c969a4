"""The numbers of a detector, and its results."""

from typing import Any

FLIP = True  # mirror half of the images; False if left and right matter, as in text
HEAD_WIDTH = 128  # channels
BOX_WEIGHT = 5.0  # of the boxes' places in the loss; their classes weigh 1
MIN_SCORE = 0.3  # of a box that is given


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation: a box is found if its cell gives its class and overlaps it by half."""
    return {
        "loss": total["loss"] / num_examples,
        "recall": total["found"] / max(1, total["boxes"]),
        "precision": min(1.0, total["found"] / max(1, total["given"])),
    }
