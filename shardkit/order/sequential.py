"""``sequential`` order, for evaluation: every example exactly once, padded with weight 0 to whole global batches.

One pass has the positions [0, ceil(N / G) * G). The first N are the examples in the order of the shards, with weight 1.
The others repeat the last example with weight 0. The padding repeats the last example and not the first because the
record of the last was read for the same batch: padding then opens no other shard, and cannot fail where the data did
not.

Without padding the last global batch is shorter, see `short_ids`.
"""

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order.batches import BatchLayout
from shardkit.order.permutation import checked_positions


def padded_ids(
    positions: npt.NDArray[np.int64], *, num_examples: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Map positions of one padded pass to example ids and weights.

    Args:
        positions: int64[n], each 0 or more; those from num_examples on are padding.
        num_examples: N, 1 or more.

    Returns:
        int64[n] ids in [0, N), min(position, N - 1), and float32[n] weights, 1 for an example and 0 for padding.

    Raises:
        CallError: num_examples is below 1, or a position is negative.
    """
    if num_examples < 1:
        raise CallError(f"cannot order {num_examples} examples; there must be at least 1")
    positions = checked_positions(positions)
    return np.minimum(positions, num_examples - 1), (positions < num_examples).astype(np.float32)


def short_ids(
    positions: npt.NDArray[np.int64], *, num_examples: int, layout: BatchLayout
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Map positions of a pass without padding to example ids, and return which positions have an example.

    All steps but the last are those of the padded pass. The examples of the last one are divided among the replicas in
    order, in parts that differ by at most one. A part starts with its examples; the rest repeats its last one and is
    cut off.

    Args:
        positions: int64[n], each 0 or more.
        num_examples: N; at the last step there is at least one example for each replica.
        layout: The only worker's part of every global batch: all of it.
    """
    replicas, per_replica = layout.replicas_per_worker, layout.per_replica_batch_size
    slot = positions % layout.global_batch_size
    first = positions - slot
    count = np.minimum(layout.global_batch_size, num_examples - first)
    replica, row = slot // per_replica, slot % per_replica
    start, end = count * replica // replicas, count * (replica + 1) // replicas
    return first + np.minimum(start + row, end - 1), start + row < end


def num_positions(num_examples: int, global_batch_size: int) -> int:
    """Return the positions of one padded pass: num_examples rounded up to whole global batches."""
    return -(-num_examples // global_batch_size) * global_batch_size
