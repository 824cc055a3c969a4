"""Training orders: functions from positions to examples, for a whole split or a selection of it.

A position is an index into the endless sequence of examples: global batch k of size G holds [k * G, (k + 1) * G).
"""

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
import numpy.typing as npt

from shardkit.arguments.checks import normalise_fields, whole_number
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.order import permutation
from shardkit.order.batches import check_divisible, check_enough
from shardkit.order.blocks import (
    BLOCK_RECORDS,
    LANES,
    WINDOW_BLOCKS,
    BlockLayout,
    block_order,
    window_ids,
    window_starts,
)
from shardkit.order.keyed_permutations import MAX_STREAMS
from shardkit.order.sampling import ClassSampling, sample

_Ints = npt.NDArray[np.int64]
MAX_BLOCK_RECORDS = 1 << 40  # the largest number of examples that an order takes


@suggest_arguments(example="reader.BlockOrder(block_records=64)")
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOrder:
    """Training order that reads blocks of consecutive records and shuffles a bounded number of them.

    A worker holds at most 2 * block_records * window_blocks * lanes / num_workers records: those that it returns and
    those that it reads meanwhile.

    Attributes:
        block_records: Records of a block, which a worker reads with one request.
        window_blocks: Blocks of a lane that are shuffled together.
        lanes: Parts of the data that are read in parallel. The number of workers must divide it, and it must divide the
            global batch size.

    Raises:
        CallError: A value is not a whole number of at least 1.
    """

    block_records: Annotated[int, whole_number(1, MAX_BLOCK_RECORDS)] = BLOCK_RECORDS
    window_blocks: Annotated[int, whole_number(1)] = WINDOW_BLOCKS
    lanes: Annotated[int, whole_number(1)] = LANES

    def __post_init__(self) -> None:
        normalise_fields(self)

    def layout(self, starts: _Ints) -> BlockLayout:
        """Return the layout of the blocks of some shards.

        Args:
            starts: int64[S + 1]; shard s has the examples [starts[s], starts[s + 1]), at least one.
        """
        return BlockLayout(starts, self.block_records, self.window_blocks, self.lanes)


class Order(Protocol):
    """An endless order of examples."""

    @property
    def num_examples(self) -> int:
        """Number of different examples in it."""
        ...

    def ids(self, positions: _Ints) -> _Ints:
        """Return the example at each position, int64[n]."""
        ...

    def draw(self, positions: _Ints) -> tuple[_Ints, _Ints]:
        """Return the example at each position, and its epoch: the number of times that it came before; int64[n]."""
        ...

    def check_workers(self, num_workers: int) -> None:
        """Check that a number of workers gets the same global batches.

        Raises:
            CallError: It does not; lists the numbers that do.
        """
        ...


class FullOrder:
    """A permutation of all examples, another one each epoch.

    Attributes:
        num_examples: Number of examples.
        seed: Seed of the order.
    """

    def __init__(self, num_examples: int, seed: int) -> None:
        self.num_examples, self.seed = num_examples, seed

    def ids(self, positions: _Ints) -> _Ints:
        """See Order."""
        return permutation.permute(positions, num_examples=self.num_examples, seed=self.seed)

    def draw(self, positions: _Ints) -> tuple[_Ints, _Ints]:
        """See Order."""
        return self.ids(positions), positions // self.num_examples

    def check_workers(self, num_workers: int) -> None:
        """See Order; every number does."""


class BlockwiseOrder:
    """Permuted blocks of records, of which a bounded number are shuffled together: reads stay close to each other.

    Attributes:
        layout: Layout of the blocks.
        seed: Seed of the order.
        global_batch_size: Examples of a step over all workers.
    """

    def __init__(self, layout: BlockLayout, seed: int, global_batch_size: int) -> None:
        check_lanes(layout.lanes, global_batch_size)
        self.layout, self.seed, self.global_batch_size = layout, seed, global_batch_size

    @property
    def num_examples(self) -> int:
        """See Order."""
        return self.layout.num_examples

    def ids(self, positions: _Ints) -> _Ints:
        """See Order."""
        return self.draw(positions)[0]

    def draw(self, positions: _Ints) -> tuple[_Ints, _Ints]:
        """See Order."""
        layout, moved = self.layout, self.moved(positions)
        ids = block_order(
            moved,
            starts=layout.starts,
            num_examples=layout.num_examples,
            seed=self.seed,
            block_records=layout.block_records,
            window_blocks=layout.window_blocks,
            lanes=layout.lanes,
        )
        return ids, moved // layout.num_examples

    def window_starts(self, slots: _Ints) -> _Ints:
        """Return a name for the window of each slot of the global batches, int64[n]; see `window`."""
        return window_starts(self.layout, self.seed, self.moved(slots))

    def window(self, start: int) -> tuple[_Ints, int]:
        """Return the examples of a window, int64[m], and the name of its lane's next one."""
        return window_ids(self.layout, self.seed, start)

    def moved(self, slots: _Ints) -> _Ints:
        """Return the position in the lanes of each slot of the global batches; see `lane_positions`."""
        return lane_positions(slots, global_batch_size=self.global_batch_size, lanes=self.layout.lanes)

    def check_workers(self, num_workers: int) -> None:
        """See Order."""
        check_lanes(self.layout.lanes, self.global_batch_size, num_workers)


class SampledOrder:
    """Classes or datasets in fixed shares, and a separate permutation of each."""

    def __init__(self, sampling: ClassSampling, seed: int) -> None:
        self.sampling, self.seed = sampling, seed

    @property
    def num_examples(self) -> int:
        """See Order; without the examples of classes without a share."""
        return int(np.diff(self.sampling.starts)[self.sampling.schedule.shares > 0].sum())

    def ids(self, positions: _Ints) -> _Ints:
        """See Order."""
        return self.draw(positions)[0]

    def draw(self, positions: _Ints) -> tuple[_Ints, _Ints]:
        """See Order."""
        return sample(positions, self.sampling, seed=self.seed)

    def check_workers(self, num_workers: int) -> None:
        """See Order; every number does."""


def check_order(
    order: Order, num_examples: int, global_batch_size: int, *, is_selected: bool, otherwise: str = ""
) -> None:
    """Check that an order has as many examples as a global batch; see `batches.check_enough`.

    Args:
        order: The order.
        num_examples: Number of examples that it was made for, of which sampling may leave some out.
        global_batch_size: Examples of a step over all workers and replicas.
        is_selected: Whether they are a part of a split.
        otherwise: Another remedy, for the message.

    Raises:
        CallError: There are fewer.
    """
    source = "the part of the split that is selected has" if is_selected else "the split has"
    if order.num_examples < num_examples:
        source = "the classes that sampling draws have"
    check_enough(order.num_examples, global_batch_size, source=source, otherwise=otherwise)


def no_class_to_sample() -> CallError:
    """Return the error for sampling of a dataset whose examples do not have one class each."""
    return CallError("sampling by class needs a dataset whose examples have one class each")


def sampling_in_blocks() -> CallError:
    """Return the error for sampling together with block order."""
    return CallError("sampling draws from each class separately, in its own order: leave out order='block'")


def check_blocks(global_batch_size: int, blocks: BlockOrder) -> None:
    """Check what does not depend on the split, in the words of the arguments; `BlockLayout` checks the rest."""
    lanes = blocks.lanes
    if global_batch_size % lanes:
        fitting = next(
            number for number in range(min(lanes, global_batch_size), 0, -1) if not global_batch_size % number
        )
        below = global_batch_size // lanes * lanes
        batches = f", or a global_batch_size of {below} or {below + lanes}" if below else ""
        raise CallError(
            f"global_batch_size {global_batch_size} cannot be divided evenly among lanes={lanes}; use lanes={fitting}"
            f"{batches}"
        )
    most = MAX_STREAMS // 4 // lanes
    if blocks.window_blocks > most:
        size = f"blocks of {blocks.block_records:,} records"
        msg = f"window_blocks must be at most {most:,} with lanes={lanes}, {size}; found {blocks.window_blocks}"
        raise CallError(msg)


def lane_positions(slots: _Ints, *, global_batch_size: int, lanes: int) -> _Ints:
    """Return the position of the ``block`` order at each slot of the global batches.

    Each worker reads its own lanes and no others, so every number of workers that divides the lanes makes the same
    global batches, and every record is read by one worker only.

    Slot j of batch k is k * G + j. A worker takes a contiguous part of each batch (`shardkit.order.batches`), and that
    part must be made of whole lanes. So a batch lists its positions lane by lane: slot j = lane * (G / L) + i holds
    position k * G + i * L + lane.

    Args:
        slots: int64[n], 0 or more.
        global_batch_size: G, a multiple of lanes.
        lanes: L.

    Raises:
        CallError: global_batch_size is not a multiple of lanes.
    """
    check_lanes(lanes, global_batch_size)
    steps, within = slots // global_batch_size, slots % global_batch_size
    per_lane = global_batch_size // lanes
    return np.asarray(steps * global_batch_size + within % per_lane * lanes + within // per_lane, np.int64)


def check_lanes(lanes: int, global_batch_size: int, num_workers: int = 1) -> None:
    """Check that the lanes divide the batch, and the workers divide the lanes.

    Raises:
        CallError: They do not; the message has the numbers and the nearest that work.
    """
    check_divisible(global_batch_size, lanes, "lanes")
    if lanes % num_workers:
        raise CallError(
            f"{num_workers} workers cannot share {lanes} lanes; use a number of workers that divides {lanes}, or "
            f"lanes={-(-lanes // num_workers) * num_workers} (which changes the batches)"
        )
