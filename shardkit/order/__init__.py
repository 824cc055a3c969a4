"""The order of examples: pure functions from positions to example ids, one file per order.

Nothing here imports TensorFlow: the reader's graph is held against these functions.
"""

from shardkit.order import permutation, sequential
from shardkit.order.batches import BatchLayout, steps_per_epoch, worker_part

__all__ = [
    "BatchLayout",
    "permutation",
    "sequential",
    "steps_per_epoch",
    "worker_part",
]
