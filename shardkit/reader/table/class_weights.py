"""What each class weighs in training."""

from collections.abc import Mapping, Sequence

import numpy as np

from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.errors import CallError, UnknownNameError
from shardkit.reader.table.records import RecordTable


def class_weights(table: RecordTable, classes: Sequence[str], wanted: str | Mapping[str, float]) -> tuple[float, ...]:
    """Weights in label order.

    Args:
        table: of the split, for its counts.
        classes: names in label order.
        wanted: "balanced" for N / (number of classes that occur * examples of the class), scikit-learn's rule, so that
            the mean over all examples is 1; or a weight for each class by name, 1 where none is given.

    Raises:
        CallError: examples have no one class, or the weights cannot be used.
        UnknownNameError: a class that there is not.
    """
    if table.features.get(LABEL) != CLASS_LABEL:
        msg = "sample_weight needs a dataset whose examples have one class each"
        raise CallError(msg)
    if isinstance(wanted, str):
        if wanted != "balanced":
            msg = f"sample_weight must be 'balanced' or a mapping of weights by class; found {wanted!r}"
            raise CallError(msg)
        counts = np.bincount(table.label, minlength=len(classes))
        present = int(np.count_nonzero(counts))
        return tuple(table.num_examples / (present * count) if count else 0.0 for count in counts.tolist())
    for name, weight in wanted.items():
        if name not in classes:
            msg = f"sample_weight names the class {name!r}; the dataset has {', '.join(map(repr, classes[:20]))}"
            raise UnknownNameError(msg)
        if not (np.isfinite(weight) and weight >= 0):
            msg = f"sample_weight gives {name!r} {weight!r}; a weight is a finite number of at least 0"
            raise CallError(msg)
    return tuple(float(wanted.get(name, 1.0)) for name in classes)
