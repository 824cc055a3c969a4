"""Weights of the classes in training."""

from collections.abc import Mapping, Sequence

import numpy as np

from shardkit.errors import CallError
from shardkit.order.sampling import unknown_class
from shardkit.reader.table.records import RecordTable


def class_weights(
    table: RecordTable, classes: Sequence[str], sample_weight: str | Mapping[str, float]
) -> tuple[float, ...]:
    """Return the weights of the classes in label order.

    Args:
        table: The split's record table.
        classes: Names of the classes in label order.
        sample_weight: "balanced" for N / (number of classes with examples * examples of the class), which is
            scikit-learn's rule: the mean over all examples is 1. Or weights by class name, 1 for other classes.

    Raises:
        CallError: The examples do not have exactly one class each, or a weight is not valid.
        UnknownNameError: The dataset has no such class.
    """
    if not table.has_class:
        msg = "sample_weight needs a dataset whose examples have one class each"
        raise CallError(msg)
    if isinstance(sample_weight, str):
        if sample_weight != "balanced":
            msg = f"sample_weight must be 'balanced' or a mapping of weights by class; found {sample_weight!r}"
            raise CallError(msg)
        counts = np.bincount(table.label, minlength=len(classes))
        present = int(np.count_nonzero(counts))
        return tuple(table.num_examples / (present * count) if count else 0.0 for count in counts.tolist())
    for name, weight in sample_weight.items():
        if name not in classes:
            raise unknown_class("sample_weight", name, classes)
        if not (np.isfinite(weight) and weight >= 0):
            msg = f"sample_weight gives {name!r} {weight!r}; a weight is a finite number of at least 0"
            raise CallError(msg)
    return tuple(float(sample_weight.get(name, 1.0)) for name in classes)
