"""Count the labels of each class in a table, and weight the classes in training."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.dataset.index.shards import read_columns
from shardkit.errors import CallError
from shardkit.fetch.table.records import RecordTable
from shardkit.order.sampling import unknown_class


def count_classes(table: RecordTable) -> npt.NDArray[np.int64]:
    """Return the number of labels of each class, in label order: int64[num_classes].

    An example with several labels or objects counts once for each of them. The indexes of such datasets are read for
    this. The classes of masks are in their pixels; they are not counted.
    """
    if LABEL in table.features and table.num_classes:
        return np.bincount(table.label, minlength=table.num_classes).astype(np.int64)
    counts = np.zeros(table.num_classes, np.int64)
    if not {LABELS, OBJECT_LABELS} & set(table.features):
        return counts
    records = table.records
    bounds = np.searchsorted(records, table.starts)
    for shard_index, shard in enumerate(table.shards):
        rows = records[bounds[shard_index] : bounds[shard_index + 1]] - table.starts[shard_index]
        if not len(rows):
            continue
        column = read_columns(table.roots[shard_index], shard, ["labels"])["labels"].take(rows)
        labels = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        if table.relabelling is not None:
            labels = table.relabelling[table.dataset[shard_index], labels]
        counts += np.bincount(labels, minlength=len(counts))
    return counts


def class_weights(
    table: RecordTable, classes: Sequence[str], sample_weight: str | Mapping[str, float]
) -> tuple[float, ...]:
    """Return the weights of the classes in label order."""
    if not table.has_class:
        raise CallError("sample_weight needs a dataset whose examples have one class each")
    if isinstance(sample_weight, str):
        counts = np.bincount(table.label, minlength=len(classes))
        present = int(np.count_nonzero(counts))
        return tuple(table.num_examples / (present * count) if count else 0.0 for count in counts.tolist())
    for name in sample_weight:
        if name not in classes:
            raise unknown_class("sample_weight", name, classes)
    return tuple(float(sample_weight.get(name, 1.0)) for name in classes)
