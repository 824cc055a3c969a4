"""From the places of endless training to examples: each order as arrays, for listing, and in the graph, for reading.

A place is a number of the sequence that global batches are cut from: batch k holds [k * G, (k + 1) * G).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.errors import CallError, UnknownNameError
from shardkit.order import permutation
from shardkit.order.blocks import BlockLayout, block_order
from shardkit.order.keyed_permutations import MAX_STREAMS
from shardkit.order.lanes import check_lanes, lane_positions
from shardkit.order.sampling import ClassSampling, class_balanced, class_weighted, sample
from shardkit.reader.orders import blocks as graph_blocks
from shardkit.reader.orders import permutation as graph_order
from shardkit.reader.orders.sampling import Sampler
from shardkit.reader.table.records import RecordTable

_Ints = npt.NDArray[np.int64]


class TrainingOrder(Protocol):
    """An endless order of examples."""

    @property
    def num_examples(self) -> int:
        """How many of them ever come."""
        ...

    def ids(self, places: _Ints) -> _Ints:
        """The example at each place."""
        ...

    def in_graph(self, places: Any) -> tuple[Any, Any]:
        """The example at each place, and how often it came before, which augmentation takes for the epoch."""
        ...

    def check_workers(self, num_workers: int) -> None:
        """Refuse a number of workers that would not get the same global batches.

        Raises:
            CallError: with the numbers that would do.
        """
        ...


class FullOrder:
    """A permutation of all examples, another one each epoch.

    Attributes:
        num_examples: N.
    """

    def __init__(self, num_examples: int, seed: int) -> None:
        self.num_examples, self._seed = num_examples, seed

    def ids(self, places: _Ints) -> _Ints:
        """See TrainingOrder."""
        return permutation.permute(places, num_examples=self.num_examples, seed=self._seed)

    def in_graph(self, places: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        ids, epochs = graph_order.permute(places, num_examples=self.num_examples, seed=self._seed)
        return ids, epochs

    def check_workers(self, num_workers: int) -> None:
        """See TrainingOrder; any number will do."""


class BlockOrder:
    """Blocks of records permuted, a bounded number of them shuffled: reads stay near each other.

    Attributes:
        layout: of the blocks.
    """

    def __init__(self, layout: BlockLayout, seed: int, global_batch_size: int) -> None:
        check_lanes(layout.lanes, global_batch_size)
        self.layout, self._seed, self._global_batch_size = layout, seed, global_batch_size

    @property
    def num_examples(self) -> int:
        """See TrainingOrder."""
        return self.layout.num_examples

    def ids(self, places: _Ints) -> _Ints:
        """See TrainingOrder."""
        layout = self.layout
        return block_order(
            lane_positions(places, global_batch_size=self._global_batch_size, lanes=layout.lanes),
            starts=layout.starts,
            num_examples=layout.num_examples,
            seed=self._seed,
            block_records=layout.block_records,
            window_blocks=layout.window_blocks,
            lanes=layout.lanes,
        )

    def in_graph(self, places: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        # lanes.lane_positions, on tensors.
        lanes, size = self.layout.lanes, self._global_batch_size
        within = places % size
        positions = places - within + within % (size // lanes) * lanes + within // (size // lanes)
        ids, epochs = graph_blocks.block_order(positions, layout=self.layout, seed=self._seed)
        return ids, epochs

    def check_workers(self, num_workers: int) -> None:
        """See TrainingOrder."""
        check_lanes(self.layout.lanes, self._global_batch_size, num_workers)


class SampledOrder:
    """Classes, or datasets, in fixed shares, and within each its own permutation."""

    def __init__(self, sampling: ClassSampling, seed: int) -> None:
        self._sampling, self._seed = sampling, seed
        self._sampler = Sampler(sampling, seed)

    @property
    def num_examples(self) -> int:
        """See TrainingOrder; those of classes without a share do not come."""
        return int(np.diff(self._sampling.starts)[self._sampling.schedule.shares > 0].sum())

    def ids(self, places: _Ints) -> _Ints:
        """See TrainingOrder."""
        return sample(places, self._sampling, seed=self._seed)[0]

    def in_graph(self, places: Any) -> tuple[Any, Any]:
        """See TrainingOrder."""
        return self._sampler(places)

    def check_workers(self, num_workers: int) -> None:
        """See TrainingOrder; any number will do."""


def make_order(
    table: RecordTable,
    classes: Sequence[str],
    *,
    training: bool,
    shares: tuple[_Ints, Sequence[float]] | None,
    order: str,
    sampling: str | Mapping[str, float],
    seed: int,
    global_batch_size: int,
    blocks: tuple[int, int, int],
) -> TrainingOrder | None:
    """The order of training that was asked for; None for evaluation, which goes in file order.

    Args:
        table: of the split.
        classes: names in label order.
        training: or evaluation.
        shares: of a mixture, the number of each example's dataset, and the weights of the datasets.
        order: "full" or "block"; nothing else comes past `arguments`.
        sampling: "natural", "class_balanced", or weights of classes by name.
        seed: 0 to 2**63 - 1.
        global_batch_size: examples a step.
        blocks: block_records, window_blocks and lanes, for "block".

    Raises:
        CallError: what does not go together, or a batch that the lanes do not divide.
        UnknownNameError: a class that there is not.
    """
    if shares is not None and (order != "full" or sampling != "natural"):
        msg = "a mixture has an order of its own; leave out order and sampling"
        raise CallError(msg)
    if not training:
        if sampling != "natural":
            msg = "sampling must be left out of evaluation, which reads every example once"
            raise CallError(msg)
        return None
    if shares is not None:
        numbers, weights = shares
        mixed = class_weighted(numbers, dict(enumerate(weights)), num_classes=len(weights), seed=seed)
        return SampledOrder(mixed, seed)
    if sampling != "natural":
        if order != "full":
            msg = "sampling draws each class by itself, in an order of its own: leave out order='block'"
            raise CallError(msg)
        return SampledOrder(_sampling(table, classes, sampling, seed), seed)
    if order == "block":
        _check_blocks(global_batch_size, *blocks)
        records = table.record
        # Of a selection, the examples of each shard; shards without any are left out.
        starts = table.starts if records is None else np.unique(np.searchsorted(records, table.starts))
        return BlockOrder(BlockLayout(starts, *blocks), seed, global_batch_size)
    return FullOrder(table.num_examples, seed)


def _sampling(
    table: RecordTable, classes: Sequence[str], sampling: str | Mapping[str, float], seed: int
) -> ClassSampling:
    if table.features.get(LABEL) != CLASS_LABEL:
        msg = "sampling by class needs a dataset whose examples have one class each"
        raise CallError(msg)
    if isinstance(sampling, str):
        return class_balanced(table.label, num_classes=len(classes), seed=seed)
    label_of = {name: label for label, name in enumerate(classes)}
    counts = np.bincount(table.label[table.label >= 0], minlength=len(classes))
    for name, weight in sampling.items():
        if name not in label_of:
            msg = f"sampling names the class {name!r}; the dataset has {', '.join(map(repr, classes[:20]))}"
            raise UnknownNameError(msg)
        if weight and not counts[label_of[name]]:
            msg = (
                f"sampling gives {name!r} the weight {weight:g}, but none of the {table.num_examples:,} examples to be "
                f"read is of this class; leave it out, or weigh it 0"
            )
            raise CallError(msg)
    if not any(sampling.values()):
        msg = f"sampling must give a class a weight above 0; found {dict(sampling)!r}"
        raise CallError(msg)
    weights = {label_of[name]: weight for name, weight in sampling.items()}
    return class_weighted(table.label, weights, num_classes=len(classes), seed=seed)


def _check_blocks(global_batch_size: int, block_records: int, window_blocks: int, lanes: int) -> None:
    """Say which of the three numbers is at fault, as far as it does not depend on the split: `BlockLayout` cannot."""
    if global_batch_size % lanes:
        fitting = next(lanes for lanes in range(min(lanes, global_batch_size), 0, -1) if not global_batch_size % lanes)
        below = global_batch_size // lanes * lanes
        batches = f", or a global_batch_size of {below} or {below + lanes}" if below else ""
        msg = (
            f"global_batch_size {global_batch_size} cannot be divided evenly among lanes={lanes}; use lanes={fitting}"
            f"{batches}"
        )
        raise CallError(msg)
    most = MAX_STREAMS // 4 // lanes
    if window_blocks > most:
        blocks = f"blocks of {block_records:,} records"
        msg = f"window_blocks must be at most {most:,} with lanes={lanes}, {blocks}; found {window_blocks}"
        raise CallError(msg)
