"""The results of a classifier of images that have several labels, or none."""

from typing import Any


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation from the sums over its examples."""
    return {
        "loss": total["loss"] / num_examples,
        "precision": total["both"] / max(1, total["given"]),
        "recall": total["both"] / max(1, total["true"]),
    }
