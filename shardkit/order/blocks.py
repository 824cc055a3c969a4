r"""``block`` order, for storage where random access is slow: whole blocks are read, and a bounded number is shuffled.

Memory and reads, for G examples a batch, blocks of R records, windows of W blocks and L lanes:

* at most W blocks of a lane are needed at any position: W * R records a lane, L * W * R over all workers
  (64 * 8 * 8 = 4,096 records, 410 MB of 100 kB each; a worker of 8 holds 51 MB). A reader that fetches the next
  window of a lane meanwhile holds up to twice that;
* every record is read once an epoch. Where two lanes meet, each reads its own part of the block that they share; a
  reader that takes whole blocks instead reads at most L - 1 blocks twice an epoch.

The definition, for epoch e of N records in shards of n_s records:

1. Blocks. Shard s is cut into ceil(n_s / R) blocks of R records; its last one holds what is left. Block b, of B in all,
   counts shard by shard.
2. Blocks permuted. :math:`\pi_e` is the keyed permutation of [0, B) (`permutation.permute`). c_j is the number of
   records of the blocks :math:`\pi_e(0), …, \pi_e(j - 1)`. Rank r in [0, N) is record r - c_j of block
   :math:`\pi_e(j)`, where c_j <= r < c_{j + 1}.
3. Lanes. Place p = t mod N of the epoch belongs to lane q = p mod L, and there it is number i = p // L. Lane q has the
   ranks [o_q, o_{q + 1}), where o_q = q * (N // L) + min(q, N mod L): as many as it has places.
4. Windows. Let lane q begin in block j_q (c_{j_q} <= o_q). Its window v holds the blocks
   j_q - h_q + [v * W, (v + 1) * W), as far as they have ranks of the lane; h_q = q * W // L makes the first window
   shorter, so that the lanes come to their next windows one after the other and not all at once.
5. Records shuffled. The window's ranks are [a, a + m). Number i of the lane is rank r = o_q + i of some window, and its
   example is that of rank a + S(r - a), where S is the keyed permutation of [0, m) of (e, v * L + q).

    place        0 1 2 3 4 5 6 7 …           L = 4; lanes 0 1 2 3 0 1 2 3 …
    ranks        |--- lane 0 ---|--- lane 1 ---|--- lane 2 ---|--- lane 3 ---|
    blocks       |--|--|-|--|--|--|--|-|--|--|--|--|--|--|-|--|--|--|--|--|--|   in the order of the epoch
    windows      |-----|----|--------|--|-------| …                              W = 2

So lanes are cut by records, not dealt block by block: dealt blocks would give lanes of unequal length, of which some
end before the epoch does. Position t has slot t mod L; an epoch's lane has one slot, and the workers divide the slots.

How it is found: c_j = j * R less what short blocks before j lack. There is one a shard at most, so an epoch needs the
places of these alone, K of them by the inverse permutation: O(K log K) to begin anywhere, O(log K) a position, and no
table of blocks. (Windows that do not overlap shuffle less well at their borders than a rolling buffer, which is no
function of the position: to know its content is to replay it.)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.order import permutation
from shardkit.order.own_permutation import MAX_STREAMS, derived_seed, permute_each

_Ints = npt.NDArray[np.int64]

# For records of 100 kB: a request moves 6.4 MB, longer than a store takes to answer, and all lanes hold 410 MB, with
# the windows to come 820 MB, what a shuffle buffer of 8,192 records does.
BLOCK_RECORDS, WINDOW_BLOCKS, LANES = 64, 8, 8

BLOCKS_PURPOSE, WINDOWS_PURPOSE = "order/block", "order/window"


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """What block order needs to know of a split, and the numbers that were chosen. See the module's text.

    Attributes:
        starts: int64[S + 1]; shard s holds the ids [starts[s], starts[s + 1]), at least one.
        block_records: R.
        window_blocks: W.
        lanes: L.

    Raises:
        CallError: a number is below 1, or a shard is empty.
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
            raise CallError("block order needs shards of at least one record each; leave out those that are empty")
        if self.num_blocks + 2 * self.lanes * self.window_blocks >= MAX_STREAMS:
            raise CallError(f"{self.num_blocks:,} blocks are too many; choose block_records above {self.block_records}")

    @property
    def num_examples(self) -> int:
        """N."""
        return int(self.starts[-1])

    @property
    def first_block(self) -> _Ints:
        """int64[S + 1]; shard s has the blocks [first_block[s], first_block[s + 1])."""
        return np.concatenate(([0], np.cumsum(-(-np.diff(self.starts) // self.block_records))))

    @property
    def num_blocks(self) -> int:
        """B."""
        return int(self.first_block[-1])

    @property
    def short_blocks(self) -> tuple[_Ints, _Ints]:
        """int64[K] blocks of fewer than R records, and int64[K] of how many each lacks."""
        lacking = -np.diff(self.starts) % self.block_records
        short = np.flatnonzero(lacking)
        return self.first_block[1:][short] - 1, lacking[short]

    @property
    def max_window_records(self) -> int:
        """Most records of a lane that are needed at one time."""
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
        starts: int64[S + 1]; shard s holds the ids [starts[s], starts[s + 1]).
        num_examples: N, which is starts[-1].
        seed: 0 to 2**63 - 1.
        block_records: R.
        window_blocks: W.
        lanes: L.

    Returns:
        int64[n] of ids in [0, N). Over the positions [e * N, (e + 1) * N) of any epoch e every id occurs exactly once.

    Raises:
        CallError: a number is out of range, or num_examples is not what the shards hold.
    """
    layout = BlockLayout(np.asarray(starts, np.int64), block_records, window_blocks, lanes)
    if num_examples != layout.num_examples:
        raise CallError(f"num_examples is {num_examples}, but the shards hold {layout.num_examples}")
    positions = _checked(positions)
    epochs = Epochs.over(layout, positions // num_examples, seed)
    window = windows_of(layout, epochs, positions)
    rounds = permutation.num_rounds(layout.max_window_records)
    shuffled = permute_each(
        window.rank - window.start,
        window.stop - window.start,
        positions // num_examples,
        window.number * lanes + window.lane,
        seed=derived_seed(seed, WINDOWS_PURPOSE),
        rounds=rounds,
    )
    return epochs.ids(window.row, window.start + shuffled)


def _checked(positions: _Ints) -> _Ints:
    positions = np.asarray(positions, dtype=np.int64)
    if positions.size and positions.min() < 0:
        raise CallError(f"position {positions.min()} is negative; positions count from 0")
    return positions


@dataclass(frozen=True, slots=True)
class Epochs:
    """The short blocks of some epochs; `rows` below say which of these epochs is meant.

    All epochs lie in one sorted array, each raised above the last, so that one search serves them all.

    Attributes:
        layout: what it is made from.
        epochs: int64[E], ascending.
        seed: of the permutation of blocks.
        places: int64[E * K], row * B + where the permutation puts each short block, ascending.
        ends: int64[E * K], row * N + the rank behind each of them.
        lacking: int64[E, K + 1], what the first i of them lack together.
    """

    layout: BlockLayout
    epochs: _Ints
    seed: int
    places: _Ints
    ends: _Ints
    lacking: _Ints

    @classmethod
    def over(cls, layout: BlockLayout, epochs: _Ints, seed: int) -> "Epochs":
        """Prepare the epochs in int64[n], which may repeat; O(K log K) for each one."""
        distinct, seed = np.unique(epochs), derived_seed(seed, BLOCKS_PURPOSE)
        short, lacks = layout.short_blocks
        shape = (len(distinct), len(short))
        ids, of = np.broadcast_to(short, shape).ravel(), np.repeat(distinct, len(short))
        places = permutation.invert(ids, of, num_examples=layout.num_blocks, seed=seed).reshape(shape)
        by_place = np.argsort(places, axis=1)
        places = np.take_along_axis(places, by_place, axis=1)
        lacking = np.concatenate([np.zeros((shape[0], 1), np.int64), np.cumsum(lacks[by_place], axis=1)], axis=1)
        ends = (places + 1) * layout.block_records - lacking[:, 1:]
        rows = np.arange(shape[0])[:, None]
        return cls(
            layout,
            distinct,
            seed,
            (places + rows * layout.num_blocks).ravel(),
            (ends + rows * layout.num_examples).ravel(),
            lacking,
        )

    def row(self, epochs: _Ints) -> _Ints:
        """Which of them each epoch is."""
        return np.searchsorted(self.epochs, epochs)

    def block_of(self, rows: _Ints, ranks: _Ints) -> _Ints:
        """J with c_j <= rank < c_{j + 1}."""
        behind = np.searchsorted(self.ends, rows * self.layout.num_examples + ranks, side="right")
        behind -= rows * (self.lacking.shape[1] - 1)
        return (ranks + self.lacking[rows, behind]) // self.layout.block_records

    def records_before(self, rows: _Ints, blocks: _Ints) -> _Ints:
        """c_j."""
        short = np.searchsorted(self.places, rows * self.layout.num_blocks + blocks)
        short -= rows * (self.lacking.shape[1] - 1)
        return blocks * self.layout.block_records - self.lacking[rows, short]

    def ids(self, rows: _Ints, ranks: _Ints) -> _Ints:
        """The example of each rank, before records are shuffled."""
        layout = self.layout
        blocks = self.block_of(rows, ranks)
        places = self.epochs[rows] * layout.num_blocks + blocks
        numbers = permutation.permute(places, num_examples=layout.num_blocks, seed=self.seed)
        first_block = layout.first_block
        shards = np.searchsorted(first_block, numbers, side="right") - 1
        starts = layout.starts[shards] + (numbers - first_block[shards]) * layout.block_records
        return starts + ranks - self.records_before(rows, blocks)


class Windows(NamedTuple):
    """For every position, int64[n] each: its rank before shuffling, and the window it lies in."""

    row: _Ints
    lane: _Ints
    rank: _Ints
    number: _Ints
    first_block: _Ints
    stop_block: _Ints
    start: _Ints
    stop: _Ints


def windows_of(layout: BlockLayout, epochs: Epochs, positions: _Ints) -> Windows:
    """The windows of int64[n] positions, in the epochs prepared; steps 3 and 4 of the module's text."""
    size, lanes = layout.window_blocks, layout.lanes
    row, place = epochs.row(positions // layout.num_examples), positions % layout.num_examples
    lane = place % lanes
    share, extra = divmod(layout.num_examples, lanes)
    lane_start = lane * share + np.minimum(lane, extra)
    lane_stop = lane_start + share + (lane < extra)
    rank = lane_start + place // lanes
    first, shift = epochs.block_of(row, lane_start), lane * size // lanes
    number = (epochs.block_of(row, rank) - first + shift) // size
    first_block = first - shift + number * size
    stop_block = np.minimum(first_block + size, epochs.block_of(row, lane_stop - 1) + 1)
    first_block = np.maximum(first_block, first)
    start = np.maximum(epochs.records_before(row, first_block), lane_start)
    stop = np.minimum(epochs.records_before(row, stop_block), lane_stop)
    return Windows(row, lane, rank, number, first_block, stop_block, start, stop)
