"""The scales of the numbers that a model predicts, and its results."""

from typing import Any

MEANS = (0.0,)  # of each number of a label
DEVIATIONS = (1.0,)  # the model predicts (label - mean) / deviation


def summary(total: dict[str, Any], num_examples: float) -> dict[str, float]:
    """Return the results of an evaluation from the sums over its examples."""
    return {"loss": total["loss"] / num_examples, "mean absolute error": total["error"] / num_examples}
