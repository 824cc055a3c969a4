r"""``block`` order, for storage with slow random access: whole blocks are read, and a bounded number is shuffled.

Memory and reads, for batches of G examples, blocks of R records, windows of W blocks and L lanes:

* At any position, at most W blocks of a lane are needed: W * R records per lane, L * W * R over all workers
  (64 * 8 * 8 = 4,096 records, 410 MB at 100 kB each; each of 8 workers holds 51 MB). A reader that prefetches the next
  window of each lane holds up to twice that.
* Every record is read once per epoch. At the border of two lanes, each reads its own part of the block that they share.
  A reader of whole blocks instead reads at most L - 1 blocks twice per epoch.

The definition, for epoch e of N records in shards of n_s records:

1. Blocks. Shard s is divided into ceil(n_s / R) blocks of R records; its last block may be shorter. The B blocks are
   numbered shard by shard.
2. Permutation of blocks. :math:`\pi_e` is the keyed permutation of [0, B) (`permutation.permute`). c_j is the number of
   records of the blocks :math:`\pi_e(0), …, \pi_e(j - 1)`. Rank r in [0, N) is record r - c_j of block
   :math:`\pi_e(j)`, where c_j <= r < c_{j + 1}.
3. Lanes. Position p = t mod N of the epoch belongs to lane q = p mod L and is number i = p // L of that lane. Lane q
   has the ranks [o_q, o_{q + 1}), where o_q = q * (N // L) + min(q, N mod L): as many ranks as positions.
4. Windows. Let lane q begin in block j_q (c_{j_q} <= o_q). Its window v has the blocks
   j_q - h_q + [v * W, (v + 1) * W), restricted to the ranks of the lane. h_q = q * W // L makes the first window
   shorter, so that the lanes do not all start a new window at the same step.
5. Shuffle of records. The window's ranks are [a, a + m). Number i of the lane has rank r = o_q + i, and its example is
   the record of rank a + S(r - a), where S is the keyed permutation of [0, m) with the key (e, v * L + q).

    position     0 1 2 3 4 5 6 7 …           L = 4; lanes 0 1 2 3 0 1 2 3 …
    ranks        |--- lane 0 ---|--- lane 1 ---|--- lane 2 ---|--- lane 3 ---|
    blocks       |--|--|-|--|--|--|--|-|--|--|--|--|--|--|-|--|--|--|--|--|--|   in the order of the epoch
    windows      |-----|----|--------|--|-------| …                              W = 2

Lanes are ranges of records and not of blocks, because lanes of whole blocks would have unequal lengths, and some would
end before the epoch does. The workers divide the lanes among themselves.

Cost: c_j is j * R minus the records that the short blocks before j lack. A shard has at most one short block, so an
epoch needs only the permuted positions of these K blocks, from the inverse permutation: O(K log K) to start anywhere,
O(log K) per position, and no table of blocks. (Windows that do not overlap shuffle less at their borders than a rolling
buffer does. But the content of a rolling buffer is not a function of the position; it can only be replayed.)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order import permutation
from shardkit.order.keyed_permutations import MAX_STREAMS, derived_seed, permute_ranges

_Ints = npt.NDArray[np.int64]

# With records of 100 kB, a request of 6.4 MB takes longer than a store's latency, and all lanes hold 410 MB, or 820 MB
# with prefetched windows, as a shuffle buffer of 8,192 records does.
BLOCK_RECORDS, WINDOW_BLOCKS, LANES = 64, 8, 8

BLOCKS_PURPOSE, WINDOWS_PURPOSE = "order/block", "order/window"


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The shards of a split and the parameters of block order; the module's docstring defines R, W and L.

    Attributes:
        starts: int64[S + 1]; shard s has the ids [starts[s], starts[s + 1]), at least one.
        block_records: R, records per block.
        window_blocks: W, blocks per window.
        lanes: L.

    Raises:
        CallError: A number is below 1, or a shard is empty.
    """

    starts: _Ints
    block_records: int = BLOCK_RECORDS
    window_blocks: int = WINDOW_BLOCKS
    lanes: int = LANES

    def __post_init__(self) -> None:
        for name in ("block_records", "window_blocks", "lanes"):
            if getattr(self, name) < 1:
                raise CallError(f"{name} is {getattr(self, name)}; it must be at least 1")
        counts = np.diff(self.starts)
        if not counts.size or self.starts[0] != 0 or counts.min() < 1:
            raise CallError("block order needs at least one record in each shard; remove empty shards")
        if self.num_blocks + 2 * self.lanes * self.window_blocks >= MAX_STREAMS:
            raise CallError(f"{self.num_blocks:,} blocks are too many; choose block_records above {self.block_records}")

    @property
    def num_examples(self) -> int:
        """N, the number of examples."""
        return int(self.starts[-1])

    @property
    def first_block(self) -> _Ints:
        """First block of each shard, int64[S + 1]; shard s has the blocks [first_block[s], first_block[s + 1])."""
        return np.concatenate(([0], np.cumsum(-(-np.diff(self.starts) // self.block_records))))

    @property
    def num_blocks(self) -> int:
        """B, the number of blocks."""
        return int(self.first_block[-1])

    @property
    def short_blocks(self) -> tuple[_Ints, _Ints]:
        """Blocks of fewer than R records, int64[K], and the number of records that each lacks, int64[K]."""
        lacking = -np.diff(self.starts) % self.block_records
        short = np.flatnonzero(lacking)
        return self.first_block[1:][short] - 1, lacking[short]

    @property
    def max_window_records(self) -> int:
        """Maximum number of records of a lane that are needed at one time."""
        return self.window_blocks * self.block_records


def block_order(
    positions: _Ints,
    *,
    starts: _Ints,
    num_examples: int,
    seed: int,
    block_records: int = BLOCK_RECORDS,
    window_blocks: int = WINDOW_BLOCKS,
    lanes: int = LANES,
) -> _Ints:
    """Map positions of endless training to example ids.

    Args:
        positions: int64[n], each 0 or more and below 2**62, in any order.
        starts: int64[S + 1]; shard s has the ids [starts[s], starts[s + 1]).
        num_examples: N, equal to starts[-1].
        seed: 0 to 2**63 - 1.
        block_records: R, records per block.
        window_blocks: W, blocks per window.
        lanes: L.

    Returns:
        int64[n] ids in [0, N). Over the positions [e * N, (e + 1) * N) of any epoch e every id occurs exactly once.

    Raises:
        CallError: A number is out of range, or num_examples is not the number of records in the shards.
    """
    layout = BlockLayout(np.asarray(starts, np.int64), block_records, window_blocks, lanes)
    if num_examples != layout.num_examples:
        raise CallError(f"num_examples is {num_examples}, but the shards have {layout.num_examples} records")
    positions = permutation.checked_positions(positions)
    epochs = Epochs.over(layout, positions // num_examples, seed)
    window = windows_of(layout, epochs, positions)
    rounds = permutation.num_rounds(layout.max_window_records)
    shuffled = permute_ranges(
        window.rank - window.start,
        window.stop - window.start,
        positions // num_examples,
        window.number * lanes + window.lane,
        seed=derived_seed(seed, WINDOWS_PURPOSE),
        rounds=rounds,
    )
    return epochs.ids(window.row, window.start + shuffled)


@dataclass(frozen=True, slots=True)
class Epochs:
    """The short blocks of some epochs. Methods select an epoch by its row in `epochs`.

    The values of all epochs are in one sorted array, each epoch offset from the last, so one search serves all epochs.

    Attributes:
        layout: Layout of the split.
        epochs: int64[E], ascending.
        seed: Seed of the permutation of blocks.
        positions: int64[E * K], row * B + the permuted position of each short block, ascending.
        ends: int64[E * K], row * N + the rank after each short block.
        lacking: int64[E, K + 1], the records that the first i short blocks lack together.
    """

    layout: BlockLayout
    epochs: _Ints
    seed: int
    positions: _Ints
    ends: _Ints
    lacking: _Ints

    @classmethod
    def over(cls, layout: BlockLayout, epochs: _Ints, seed: int) -> "Epochs":
        """Prepare the given epochs, int64[n], which may repeat; O(K log K) per epoch."""
        distinct, seed = np.unique(epochs), derived_seed(seed, BLOCKS_PURPOSE)
        short, lacks = layout.short_blocks
        shape = (len(distinct), len(short))
        ids, of = np.broadcast_to(short, shape).ravel(), np.repeat(distinct, len(short))
        positions = permutation.invert(ids, of, num_examples=layout.num_blocks, seed=seed).reshape(shape)
        by_position = np.argsort(positions, axis=1)
        positions = np.take_along_axis(positions, by_position, axis=1)
        lacking = np.concatenate([np.zeros((shape[0], 1), np.int64), np.cumsum(lacks[by_position], axis=1)], axis=1)
        ends = (positions + 1) * layout.block_records - lacking[:, 1:]
        rows = np.arange(shape[0])[:, None]
        return cls(
            layout,
            distinct,
            seed,
            (positions + rows * layout.num_blocks).ravel(),
            (ends + rows * layout.num_examples).ravel(),
            lacking,
        )

    def row(self, epochs: _Ints) -> _Ints:
        """Return the row of each epoch."""
        return np.searchsorted(self.epochs, epochs)

    def block_of(self, rows: _Ints, ranks: _Ints) -> _Ints:
        """Return j with c_j <= rank < c_{j + 1}."""
        behind = np.searchsorted(self.ends, rows * self.layout.num_examples + ranks, side="right")
        behind -= rows * (self.lacking.shape[1] - 1)
        return (ranks + self.lacking[rows, behind]) // self.layout.block_records

    def records_before(self, rows: _Ints, blocks: _Ints) -> _Ints:
        """Return c_j, the number of records before block j of the epoch."""
        short = np.searchsorted(self.positions, rows * self.layout.num_blocks + blocks)
        short -= rows * (self.lacking.shape[1] - 1)
        return blocks * self.layout.block_records - self.lacking[rows, short]

    def ids(self, rows: _Ints, ranks: _Ints) -> _Ints:
        """Return the example of each rank, before the shuffle of records."""
        layout = self.layout
        blocks = self.block_of(rows, ranks)
        positions = self.epochs[rows] * layout.num_blocks + blocks
        numbers = permutation.permute(positions, num_examples=layout.num_blocks, seed=self.seed)
        first_block = layout.first_block
        shards = np.searchsorted(first_block, numbers, side="right") - 1
        starts = layout.starts[shards] + (numbers - first_block[shards]) * layout.block_records
        return starts + ranks - self.records_before(rows, blocks)


class Windows(NamedTuple):
    """The window of each position and its rank before the shuffle, int64[n] each."""

    row: _Ints
    lane: _Ints
    rank: _Ints
    number: _Ints
    first_block: _Ints
    stop_block: _Ints
    start: _Ints
    stop: _Ints


def windows_of(layout: BlockLayout, epochs: Epochs, positions: _Ints) -> Windows:
    """Return the windows of int64[n] positions in prepared epochs: steps 3 and 4 of the definition above."""
    size, lanes = layout.window_blocks, layout.lanes
    row, position = epochs.row(positions // layout.num_examples), positions % layout.num_examples
    lane = position % lanes
    lane_start, lane_stop = _lane_starts(layout, lane), _lane_starts(layout, lane + 1)
    rank = lane_start + position // lanes
    first, shift = epochs.block_of(row, lane_start), lane * size // lanes
    number = (epochs.block_of(row, rank) - first + shift) // size
    first_block = first - shift + number * size
    stop_block = np.minimum(first_block + size, epochs.block_of(row, lane_stop - 1) + 1)
    first_block = np.maximum(first_block, first)
    start = np.maximum(epochs.records_before(row, first_block), lane_start)
    stop = np.minimum(epochs.records_before(row, stop_block), lane_stop)
    return Windows(row, lane, rank, number, first_block, stop_block, start, stop)


def window_starts(layout: BlockLayout, seed: int, positions: _Ints) -> _Ints:
    """Return the position at which the window of each position begins, int64[n]: a name of the window.

    Args:
        layout: Layout of the split.
        seed: Seed of the order.
        positions: int64[n], positions in the lanes.
    """
    epochs = Epochs.over(layout, positions // layout.num_examples, seed)
    window = windows_of(layout, epochs, positions)
    first = positions - positions % layout.num_examples
    return first + (window.start - _lane_starts(layout, window.lane)) * layout.lanes + window.lane


def window_ids(layout: BlockLayout, seed: int, start: int) -> tuple[_Ints, int]:
    """Return the examples of a window, int64[m], and the position at which the lane's next window begins.

    Args:
        layout: Layout of the split.
        seed: Seed of the order.
        start: Position at which the window begins.
    """
    epoch, num_examples = start // layout.num_examples, layout.num_examples
    epochs = Epochs.over(layout, np.array([epoch]), seed)
    window = windows_of(layout, epochs, np.array([start]))
    lane, stop = int(window.lane[0]), int(window.stop[0])
    lane_start, lane_stop = _lane_starts(layout, np.array([lane, lane + 1])).tolist()
    ranks = np.arange(int(window.start[0]), stop)
    following = epoch * num_examples + (stop - lane_start) * layout.lanes + lane
    if stop == lane_stop:
        following = (epoch + 1) * num_examples + lane
    return epochs.ids(np.zeros_like(ranks), ranks), following


def _lane_starts(layout: BlockLayout, lanes: _Ints) -> _Ints:
    """Return o_q of each lane."""
    share, extra = divmod(layout.num_examples, layout.lanes)
    return lanes * share + np.minimum(lanes, extra)
