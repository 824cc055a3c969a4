"""Training orders: functions from positions to examples, as arrays to list keys and as ops to read.

A position is an index into the endless sequence of examples: global batch k of size G holds [k * G, (k + 1) * G).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order.sampling import ClassSampling, class_weighted, sampling_by_name
from shardkit.order.training import (
    BlockOrder,
    BlockwiseOrder,
    FullOrder,
    Order,
    SampledOrder,
    check_blocks,
    no_class_to_sample,
    sampling_in_blocks,
)
from shardkit.reader.arguments.options import ReadOptions
from shardkit.reader.orders import blocks as block_ops
from shardkit.reader.orders import permutation as permutation_ops
from shardkit.reader.orders.sampling import Sampler
from shardkit.reader.table.records import RecordTable

_Ints = npt.NDArray[np.int64]


class TrainingOrder(Order, Protocol):
    """An endless order of examples, also as ops."""

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """Return the example at each position and its epoch, the number of times it came before; ops, int64[n]."""
        ...


class FullTrainingOrder(FullOrder):
    """A permutation of all examples, another one each epoch."""

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        return permutation_ops.permute(positions, num_examples=self.num_examples, seed=self.seed)


class BlockTrainingOrder(BlockwiseOrder):
    """Permuted blocks of records, of which a bounded number are shuffled together: reads stay close to each other."""

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        # The same as lane_positions.
        lanes, size = self.layout.lanes, self.global_batch_size
        within = positions % size
        moved = positions - within + within % (size // lanes) * lanes + within // (size // lanes)
        return block_ops.block_order(moved, layout=self.layout, seed=self.seed)


class SampledTrainingOrder(SampledOrder):
    """Classes or datasets in fixed shares, and a separate permutation of each."""

    def __init__(self, sampling: ClassSampling, seed: int) -> None:
        super().__init__(sampling, seed)
        self._sampler = Sampler(sampling, seed)

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        return self._sampler(positions)


def make_order(
    table: RecordTable,
    classes: Sequence[str],
    options: ReadOptions,
    *,
    shares: tuple[_Ints, Sequence[float]] | None,
    blocks: BlockOrder | None,
    sampling: str | Mapping[str, float],
) -> TrainingOrder | None:
    """Return the order of training; None for evaluation, which reads in file order.

    Args:
        table: The split's record table.
        classes: Names of the classes in label order.
        options: Options of the reader.
        shares: For a mixture, the number of each example's dataset and the weights of the datasets.
        blocks: The block order; None for the full order.
        sampling: "natural", "class_balanced", or weights by class name.

    Raises:
        CallError: Arguments that cannot be combined, or a batch size that the lanes do not divide.
        UnknownNameError: The dataset has no such class.
    """
    training, seed, global_batch_size = options.training, options.seed, options.global_batch_size
    if shares is not None and (blocks is not None or sampling != "natural"):
        raise CallError("a mixture of datasets has its own order; leave out order and sampling")
    if not training:
        if sampling != "natural":
            raise CallError("sampling must be left out of evaluation, which reads every example once")
        return None
    if shares is not None:
        numbers, weights = shares
        mixed = class_weighted(numbers, dict(enumerate(weights)), num_classes=len(weights), seed=seed)
        return SampledTrainingOrder(mixed, seed)
    if sampling != "natural":
        if blocks is not None:
            raise sampling_in_blocks()
        if not table.has_class:
            raise no_class_to_sample()
        return SampledTrainingOrder(sampling_by_name(table.label, classes, sampling, seed), seed)
    if blocks is not None:
        check_blocks(global_batch_size, blocks)
        # In a selection, the first example of each shard, without the shards that have none.
        starts = table.starts if table.record is None else np.unique(np.searchsorted(table.record, table.starts))
        return BlockTrainingOrder(blocks.layout(starts), seed, global_batch_size)
    return FullTrainingOrder(table.num_examples, seed)
