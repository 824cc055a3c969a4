"""The order of an evaluation as ops, with padding or without; the same as `shardkit.order.sequential`."""

from typing import Any

import tensorflow as tf

from shardkit.order import BatchLayout


def padded(positions: Any, num_examples: int) -> tuple[Any, Any]:
    """Return the id at each position, int64[n], and whether it is an example and not padding, bool[n].

    Args:
        positions: int64[n].
        num_examples: Number of examples of the evaluation.
    """
    return tf.minimum(positions, num_examples - 1), positions < num_examples


def short(positions: Any, num_examples: int, layout: BatchLayout) -> tuple[Any, Any]:
    """Return what `padded` does, with the examples of the last step divided evenly among the replicas.

    The part of each replica starts with its examples. The rest repeats its last example, and must be cut off.

    Args:
        positions: int64[n], the places of whole parts.
        num_examples: Number of examples of the evaluation; at the last step at least one for each replica.
        layout: The only input pipeline's part of every global batch: all of it.
    """
    replicas, per_replica = layout.replicas_per_worker, layout.per_replica_batch_size
    slot = positions % layout.global_batch_size
    first = positions - slot
    count = tf.minimum(tf.constant(layout.global_batch_size, tf.int64), num_examples - first)
    replica, row = slot // per_replica, slot % per_replica
    start, end = count * replica // replicas, count * (replica + 1) // replicas
    return first + tf.minimum(start + row, end - 1), start + row < end
