"""The results of a classifier."""

from typing import Any


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation from the sums over its examples."""
    return {"loss": total["loss"] / num_examples, "accuracy": total["right"] / num_examples}
