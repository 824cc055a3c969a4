"""The order of examples: pure functions from positions to example ids, one file per order.

`shardkit.fetch` calls these, and `shardkit.reader.operations` makes the operations of other processes' graphs of them.
Golden files guarantee that the order of a seed never changes.
"""

from shardkit.order import permutation, sequential
from shardkit.order.batches import BatchLayout, steps_per_epoch
from shardkit.order.training import BlockOrder

__all__ = [
    "BatchLayout",
    "BlockOrder",
    "permutation",
    "sequential",
    "steps_per_epoch",
]
