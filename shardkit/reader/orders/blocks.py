"""TensorFlow ops of `shardkit.order.blocks`, with the names of that reference."""

from typing import Any, NamedTuple

import tensorflow as tf

from shardkit.order import permutation
from shardkit.order.blocks import BLOCKS_PURPOSE, WINDOWS_PURPOSE, BlockLayout
from shardkit.order.keyed_permutations import derived_seed
from shardkit.reader.orders.keyed_permutations import invert, permute_ranges
from shardkit.reader.orders.permutation import permute


def block_order(positions: Any, *, layout: BlockLayout, seed: int) -> tuple[Any, Any]:
    """Return ids and epochs, int64[n], of int64[n] positions close to each other, at least one.

    The short blocks are located once for every epoch between the first and the last position, which is as much work as
    permuting one position for each of them.
    """
    epochs, tables, window = _windows(positions, layout, seed)
    return tables.ids(window.row, _shuffled(window.rank, epochs, window, layout, seed)), epochs


def rest_of_window(position: Any, *, layout: BlockLayout, seed: int) -> tuple[Any, Any]:
    """Return the ids of a lane from an int64 position to the end of its window, int64[n], and their epoch, int64[1].

    The positions p, p + lanes, … of a window have its epoch and its place in common, which are computed once for all.
    """
    epoch, tables, window = _windows(position[tf.newaxis], layout, seed)
    rank = tf.range(window.rank[0], window.stop[0])
    return tables.ids(window.row, _shuffled(rank, epoch, window, layout, seed)), epoch


def _shuffled(rank: Any, epochs: Any, window: "_Windows", layout: BlockLayout, seed: int) -> Any:
    """Return the rank that each rank has after the records of its window were permuted."""
    return window.start + permute_ranges(
        rank - window.start,
        window.stop - window.start,
        epochs,
        window.number * layout.lanes + window.lane,
        seed=derived_seed(seed, WINDOWS_PURPOSE),
        rounds=permutation.num_rounds(layout.max_window_records),
    )


class _Windows(NamedTuple):
    """See blocks.Windows."""

    row: Any
    lane: Any
    rank: Any
    number: Any
    start: Any
    stop: Any


def _windows(positions: Any, layout: BlockLayout, seed: int) -> tuple[Any, "_Epochs", _Windows]:
    size, lanes, num_examples = layout.window_blocks, layout.lanes, layout.num_examples
    epochs, within_epoch = positions // num_examples, positions % num_examples
    tables = _Epochs(layout, tf.range(tf.reduce_min(epochs), tf.reduce_max(epochs) + 1), seed)
    row, lane = epochs - tables.epochs[0], within_epoch % lanes
    share, extra = divmod(num_examples, lanes)
    lane_start = lane * share + tf.minimum(lane, extra)
    lane_stop = lane_start + share + tf.cast(lane < extra, tf.int64)
    rank = lane_start + within_epoch // lanes
    first, shift = tables.block_of(row, lane_start), lane * size // lanes
    number = (tables.block_of(row, rank) - first + shift) // size
    first_block = first - shift + number * size
    stop_block = tf.minimum(first_block + size, tables.block_of(row, lane_stop - 1) + 1)
    start = tf.maximum(tables.records_before(row, tf.maximum(first_block, first)), lane_start)
    stop = tf.minimum(tables.records_before(row, stop_block), lane_stop)
    return epochs, tables, _Windows(row, lane, rank, number, start, stop)


class _Epochs:
    """See blocks.Epochs."""

    def __init__(self, layout: BlockLayout, epochs: Any, seed: int) -> None:
        self._layout, self.epochs, self._seed = layout, epochs, derived_seed(seed, BLOCKS_PURPOSE)
        short, lacks = layout.short_blocks
        self._num_short, num_epochs = len(short), tf.size(epochs)
        ids = tf.tile(tf.constant(short, tf.int64), [num_epochs])
        positions = invert(ids, tf.repeat(epochs, self._num_short), num_examples=layout.num_blocks, seed=self._seed)
        positions = tf.reshape(positions, [num_epochs, self._num_short])
        by_position = tf.argsort(positions, axis=1)
        positions = tf.gather(positions, by_position, batch_dims=1)
        lacking = tf.cumsum(tf.gather(tf.constant(lacks, tf.int64), by_position), axis=1)
        ends = (positions + 1) * layout.block_records - lacking
        rows = tf.range(tf.cast(num_epochs, tf.int64))[:, tf.newaxis]
        # A sentinel after all others: tf.searchsorted fails on an empty array, if no block is short.
        sentinel = tf.constant([tf.int64.max], tf.int64)
        self._positions = tf.concat([tf.reshape(positions + rows * layout.num_blocks, [-1]), sentinel], axis=0)
        self._ends = tf.concat([tf.reshape(ends + rows * layout.num_examples, [-1]), sentinel], axis=0)
        self._lacking = tf.reshape(tf.pad(lacking, [[0, 0], [1, 0]]), [-1])

    def block_of(self, row: Any, rank: Any) -> Any:
        found = tf.searchsorted(self._ends, row * self._layout.num_examples + rank, side="right", out_type=tf.int64)
        # A row of `lacking` is one longer than a row of `ends`: hence + row, where the reference drops a row.
        return (rank + tf.gather(self._lacking, found + row)) // self._layout.block_records

    def records_before(self, row: Any, block: Any) -> Any:
        found = tf.searchsorted(self._positions, row * self._layout.num_blocks + block, out_type=tf.int64)
        return block * self._layout.block_records - tf.gather(self._lacking, found + row)

    def ids(self, row: Any, rank: Any) -> Any:
        layout = self._layout
        block = self.block_of(row, rank)
        positions = (row + self.epochs[0]) * layout.num_blocks + block
        number, _ = permute(positions, num_examples=layout.num_blocks, seed=self._seed)
        first_block = tf.constant(layout.first_block, tf.int64)
        shard = tf.searchsorted(first_block, number, side="right", out_type=tf.int64) - 1
        start = tf.gather(tf.constant(layout.starts, tf.int64), shard)
        start += (number - tf.gather(first_block, shard)) * layout.block_records
        return start + rank - self.records_before(row, block)
