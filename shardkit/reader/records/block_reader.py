"""Read the records of ``block`` order ahead, window by window.

    window of a lane ─► its ids ─► one request for each block, several at a time ─► training's order ─► one by one

While a lane gives the records of one window, it reads the next one, so it holds at most two windows.
"""

from typing import Any

import tensorflow as tf

from shardkit.order import BatchLayout
from shardkit.order.blocks import BlockLayout
from shardkit.reader.autograph import without_autograph
from shardkit.reader.orders import blocks as block_ops
from shardkit.reader.records.range_reader import RangeReader
from shardkit.reader.table.records import RecordTable


class BlockReader:
    """Reads the records of one worker, in its order."""

    def __init__(self, table: RecordTable, blocks: BlockLayout, layout: BatchLayout, seed: int) -> None:
        """Make a reader.

        Args:
            table: The split's record table, with frame_bytes.
            blocks: Blocks of the order.
            layout: The worker's part of every global batch; the workers divide the lanes among them.
            seed: Seed of the order.
        """
        self._blocks, self._layout, self._seed = blocks, layout, seed
        self._read = RangeReader(table)

    def records(self, start_step: Any) -> Any:
        """Return an endless dataset of the records' data from a step on; empty where one cannot be read.

        Args:
            start_step: int64[].
        """
        lanes, layout = self._blocks.lanes, self._layout
        num_slots = lanes // layout.num_workers
        first_slot = layout.worker_index * num_slots
        start = tf.cast(start_step, tf.int64) * layout.global_batch_size
        return tf.data.Dataset.range(first_slot, first_slot + num_slots).interleave(
            lambda slot: self._lane(start + slot),
            cycle_length=num_slots,
            block_length=layout.global_batch_size // lanes,
            num_parallel_calls=num_slots,
            deterministic=True,
        )

    def _lane(self, start: Any) -> Any:
        """Return the records of a lane, from its first position on."""
        # Only the length of the range matters: each window begins where the last one ended.
        windows = tf.data.Dataset.range(tf.int64.max).scan(start, self._next_window)
        return windows.map(self._window, num_parallel_calls=1, deterministic=True).unbatch()

    @without_autograph
    def _next_window(self, position: Any, _: Any) -> tuple[Any, Any]:
        count = block_ops.left_of_window(position, layout=self._blocks, seed=self._seed)
        return position + count * self._blocks.lanes, (position, count)

    @without_autograph
    def _window(self, position: Any, count: Any) -> Any:
        """Return string[count], the records of the positions p, p + lanes, … that are in one window."""
        positions = position + tf.range(count) * self._blocks.lanes
        ids, _ = block_ops.block_order(positions, layout=self._blocks, seed=self._seed)
        return self._read(ids)
