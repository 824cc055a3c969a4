"""The numbers of two views of an image, and the results."""

from typing import Any

VIEW_SCALE = (0.2, 1.0)  # a view covers this share of an image
JITTER = 0.4  # of brightness, contrast and saturation
TEMPERATURE = 0.2
FEATURES = 64  # that the loss compares


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation: the accuracy is the share of views whose partner is the most alike."""
    return {"loss": total["loss"] / num_examples, "accuracy": total["right"] / num_examples}
