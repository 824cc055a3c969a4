"""Training orders: functions from positions to examples, as arrays to list keys and as ops to read.

A position is an index into the endless sequence of examples: global batch k of size G holds [k * G, (k + 1) * G).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order import permutation
from shardkit.order.blocks import BlockLayout, block_order
from shardkit.order.keyed_permutations import MAX_STREAMS
from shardkit.order.lanes import check_lanes, lane_positions
from shardkit.order.sampling import ClassSampling, class_balanced, class_weighted, sample
from shardkit.reader.arguments.options import ReadOptions
from shardkit.reader.arguments.values import BlockOrder
from shardkit.reader.orders import blocks as block_ops
from shardkit.reader.orders import permutation as permutation_ops
from shardkit.reader.orders.sampling import Sampler
from shardkit.reader.table.class_weights import unknown_class
from shardkit.reader.table.records import RecordTable

_Ints = npt.NDArray[np.int64]


class TrainingOrder(Protocol):
    """An endless order of examples."""

    @property
    def num_examples(self) -> int:
        """Number of different examples in it."""
        ...

    def ids(self, positions: _Ints) -> _Ints:
        """Return the example at each position, int64[n]."""
        ...

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """Return the example at each position and its epoch, the number of times it came before; ops, int64[n]."""
        ...

    def check_workers(self, num_workers: int) -> None:
        """Check that a number of workers gets the same global batches.

        Raises:
            CallError: It does not; lists the numbers that do.
        """
        ...


class FullTrainingOrder:
    """A permutation of all examples, another one each epoch.

    Attributes:
        num_examples: Number of examples.
    """

    def __init__(self, num_examples: int, seed: int) -> None:
        self.num_examples, self._seed = num_examples, seed

    def ids(self, positions: _Ints) -> _Ints:
        """See TrainingOrder."""
        return permutation.permute(positions, num_examples=self.num_examples, seed=self._seed)

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        return permutation_ops.permute(positions, num_examples=self.num_examples, seed=self._seed)

    def check_workers(self, num_workers: int) -> None:
        """See TrainingOrder; every number does."""


class BlockTrainingOrder:
    """Permuted blocks of records, of which a bounded number are shuffled together: reads stay close to each other.

    Attributes:
        layout: Layout of the blocks.
    """

    def __init__(self, layout: BlockLayout, seed: int, global_batch_size: int) -> None:
        check_lanes(layout.lanes, global_batch_size)
        self.layout, self._seed, self._global_batch_size = layout, seed, global_batch_size

    @property
    def num_examples(self) -> int:
        """See TrainingOrder."""
        return self.layout.num_examples

    def ids(self, positions: _Ints) -> _Ints:
        """See TrainingOrder."""
        layout = self.layout
        return block_order(
            lane_positions(positions, global_batch_size=self._global_batch_size, lanes=layout.lanes),
            starts=layout.starts,
            num_examples=layout.num_examples,
            seed=self._seed,
            block_records=layout.block_records,
            window_blocks=layout.window_blocks,
            lanes=layout.lanes,
        )

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        # The same as lanes.lane_positions.
        lanes, size = self.layout.lanes, self._global_batch_size
        within = positions % size
        moved = positions - within + within % (size // lanes) * lanes + within // (size // lanes)
        return block_ops.block_order(moved, layout=self.layout, seed=self._seed)

    def check_workers(self, num_workers: int) -> None:
        """See TrainingOrder."""
        check_lanes(self.layout.lanes, self._global_batch_size, num_workers)


class SampledTrainingOrder:
    """Classes or datasets in fixed shares, and a separate permutation of each."""

    def __init__(self, sampling: ClassSampling, seed: int) -> None:
        self._sampling, self._seed = sampling, seed
        self._sampler = Sampler(sampling, seed)

    @property
    def num_examples(self) -> int:
        """See TrainingOrder; without the examples of classes without a share."""
        return int(np.diff(self._sampling.starts)[self._sampling.schedule.shares > 0].sum())

    def ids(self, positions: _Ints) -> _Ints:
        """See TrainingOrder."""
        return sample(positions, self._sampling, seed=self._seed)[0]

    def in_graph(self, positions: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        return self._sampler(positions)

    def check_workers(self, num_workers: int) -> None:
        """See TrainingOrder; every number does."""


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
        msg = "a mixture of datasets has its own order; leave out order and sampling"
        raise CallError(msg)
    if not training:
        if sampling != "natural":
            msg = "sampling must be left out of evaluation, which reads every example once"
            raise CallError(msg)
        return None
    if shares is not None:
        numbers, weights = shares
        mixed = class_weighted(numbers, dict(enumerate(weights)), num_classes=len(weights), seed=seed)
        return SampledTrainingOrder(mixed, seed)
    if sampling != "natural":
        if blocks is not None:
            msg = "sampling draws from each class separately, in its own order: leave out order='block'"
            raise CallError(msg)
        return SampledTrainingOrder(_sampling(table, classes, sampling, seed), seed)
    if blocks is not None:
        _check_blocks(global_batch_size, blocks)
        # In a selection, the first example of each shard, without the shards that have none.
        starts = table.starts if table.record is None else np.unique(np.searchsorted(table.record, table.starts))
        layout = BlockLayout(starts, blocks.block_records, blocks.window_blocks, blocks.lanes)
        return BlockTrainingOrder(layout, seed, global_batch_size)
    return FullTrainingOrder(table.num_examples, seed)


def _sampling(
    table: RecordTable, classes: Sequence[str], sampling: str | Mapping[str, float], seed: int
) -> ClassSampling:
    if not table.has_class:
        msg = "sampling by class needs a dataset whose examples have one class each"
        raise CallError(msg)
    if isinstance(sampling, str):
        return class_balanced(table.label, num_classes=len(classes), seed=seed)
    label_of = {name: label for label, name in enumerate(classes)}
    counts = np.bincount(table.label[table.label >= 0], minlength=len(classes))
    for name, weight in sampling.items():
        if name not in label_of:
            raise unknown_class("sampling", name, classes)
        if weight and not counts[label_of[name]]:
            msg = (
                f"sampling gives {name!r} the weight {weight:g}, but none of the {table.num_examples:,} selected "
                f"examples is of this class; leave it out, or give it the weight 0"
            )
            raise CallError(msg)
    if not any(sampling.values()):
        msg = f"sampling must give a class a weight above 0; found {dict(sampling)!r}"
        raise CallError(msg)
    weights = {label_of[name]: weight for name, weight in sampling.items()}
    return class_weighted(table.label, weights, num_classes=len(classes), seed=seed)


def _check_blocks(global_batch_size: int, blocks: BlockOrder) -> None:
    """Check what does not depend on the split, in the words of the arguments; `BlockLayout` checks the rest."""
    lanes = blocks.lanes
    if global_batch_size % lanes:
        fitting = next(
            number for number in range(min(lanes, global_batch_size), 0, -1) if not global_batch_size % number
        )
        below = global_batch_size // lanes * lanes
        batches = f", or a global_batch_size of {below} or {below + lanes}" if below else ""
        msg = (
            f"global_batch_size {global_batch_size} cannot be divided evenly among lanes={lanes}; use lanes={fitting}"
            f"{batches}"
        )
        raise CallError(msg)
    most = MAX_STREAMS // 4 // lanes
    if blocks.window_blocks > most:
        size = f"blocks of {blocks.block_records:,} records"
        msg = f"window_blocks must be at most {most:,} with lanes={lanes}, {size}; found {blocks.window_blocks}"
        raise CallError(msg)
