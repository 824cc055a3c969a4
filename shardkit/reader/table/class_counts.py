"""Count the labels of each class in a table."""

import numpy as np
import numpy.typing as npt

from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.dataset.shard_indexes import read_columns
from shardkit.reader.table.records import RecordTable


def count_classes(table: RecordTable) -> npt.NDArray[np.int64]:
    """Return the number of labels of each class, in label order: int64[num_classes].

    An example with several labels or objects counts once for each of them. The indexes of such datasets are read for
    this. The classes of masks are in their pixels; they are not counted.

    Raises:
        DataError: An index is missing or damaged.
        MachineError: An index cannot be read.
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
