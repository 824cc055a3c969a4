"""The records of ``block`` order, read window by window before they are wanted.

    window of a lane ─► its ids ─► one request for each block, several at a time ─► training's order ─► one by one

A lane's next window is read while the last one is given out, so each lane holds two windows at the most.
"""

from typing import Any

import tensorflow as tf

from shardkit.order import BatchLayout
from shardkit.order.blocks import BlockLayout
from shardkit.reader.orders import blocks as graph_blocks
from shardkit.reader.records.range_reader import RangeReader
from shardkit.reader.table.records import RecordTable


class BlockReader:
    """The records that one worker needs, in its order."""

    def __init__(self, table: RecordTable, blocks: BlockLayout, layout: BatchLayout, seed: int) -> None:
        """Make one.

        Args:
            table: of the split, with frame_bytes.
            blocks: of the order.
            layout: which part of every global batch; the workers divide the lanes.
            seed: of the order.
        """
        self._blocks, self._layout, self._seed = blocks, layout, seed
        self._read = RangeReader(table)

    def records(self, start_step: Any) -> Any:
        """An endless dataset of records' data from a step on, int64; empty where one is damaged or cannot be read."""
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
        """Records of every position of a lane, from a first one on."""
        # Endless: what is counted is not used, each window begins where the last one ended.
        windows = tf.data.Dataset.range(tf.int64.max).scan(start, self._next_window)
        return windows.map(self._window, num_parallel_calls=1, deterministic=True).unbatch()

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def _next_window(self, position: Any, _: Any) -> tuple[Any, Any]:
        count = graph_blocks.left_of_window(position, layout=self._blocks, seed=self._seed)
        return position + count * self._blocks.lanes, (position, count)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def _window(self, position: Any, count: Any) -> Any:
        """Records of positions p, p + lanes, …, which one window serves; string[count]."""
        positions = position + tf.range(count) * self._blocks.lanes
        ids, _ = graph_blocks.block_order(positions, layout=self._blocks, seed=self._seed)
        return self._read(ids)
