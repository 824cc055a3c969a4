"""Count the labels of each class in a table, and weight the classes in training."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.dataset.features import LABEL, LABELS, NO_LABEL, OBJECT_LABELS
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
        labels = table.label[table.label != NO_LABEL]
        return np.bincount(labels, minlength=table.num_classes).astype(np.int64)
    counts = np.zeros(table.num_classes, np.int64)
    for labels in _labels_of_shards(table):
        counts += np.bincount(labels[labels != NO_LABEL], minlength=len(counts))
    return counts


def count_unlabelled(table: RecordTable) -> int:
    """Return the number of images without a label on purpose; the indexes of lists of labels are read for this."""
    if not table.has_unlabelled:
        return 0
    if table.has_class:
        return int(np.count_nonzero(table.label == NO_LABEL))
    return sum(int(np.count_nonzero(labels == NO_LABEL)) for labels in _labels_of_shards(table))


def _labels_of_shards(table: RecordTable) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the labels of the examples of each shard end to end; none if examples have no lists of labels."""
    if not {LABELS, OBJECT_LABELS} & set(table.features):
        return
    records = table.records
    bounds = np.searchsorted(records, table.starts)
    for shard_index, shard in enumerate(table.shards):
        rows = records[bounds[shard_index] : bounds[shard_index + 1]] - table.starts[shard_index]
        if not len(rows):
            continue
        column = read_columns(table.roots[shard_index], shard, ["labels"])["labels"].take(rows)
        labels = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        if table.relabelling is not None:
            renamed = table.relabelling[table.dataset[shard_index], labels]
            labels = np.where(labels == NO_LABEL, labels, renamed)
        yield labels


def class_weights(
    table: RecordTable, classes: Sequence[str], sample_weight: str | Mapping[str, float]
) -> tuple[float, ...]:
    """Return the weights of the classes in label order."""
    if not table.has_class:
        raise CallError("sample_weight needs a dataset whose examples have one class each")
    if (table.label == NO_LABEL).any():
        raise CallError("sample_weight weights classes, and the selected examples have no label: leave it out")
    if isinstance(sample_weight, str):
        counts = np.bincount(table.label, minlength=len(classes))
        present = int(np.count_nonzero(counts))
        return tuple(table.num_examples / (present * count) if count else 0.0 for count in counts.tolist())
    for name in sample_weight:
        if name not in classes:
            raise unknown_class("sample_weight", name, classes)
    return tuple(float(sample_weight.get(name, 1.0)) for name in classes)
