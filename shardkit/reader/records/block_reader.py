"""Read the records of ``block`` order ahead, window by window, together with their instructions.

    window of a lane ─► its ids and instructions ─► its records, neighbours by one request ─► one by one

While a lane gives the records of one window, it reads the next one, so it holds at most two windows.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.order import BatchLayout
from shardkit.order.blocks import BlockLayout
from shardkit.reader.orders import blocks as block_ops
from shardkit.reader.python_calls import without_autograph
from shardkit.reader.records.batch_reader import BatchReader
from shardkit.reader.records.record_reader import unbatched


class BlockReader:
    """Reads the records of one worker, in its order."""

    def __init__(
        self,
        read: BatchReader,
        blocks: BlockLayout,
        layout: BatchLayout,
        seed: int,
        instructions: Callable[[Any, Any, Any], dict[str, Any]],
    ) -> None:
        """Make a reader.

        Args:
            read: Adds the records to instructions.
            blocks: Blocks of the order.
            layout: The worker's part of every global batch; the workers divide the lanes among them.
            seed: Seed of the order.
            instructions: Returns the instructions of n examples, among them "id", by their ids, epochs and places in
                the global batches, int64[n] each; an epoch may be int64[1].
        """
        self._blocks, self._layout, self._seed = blocks, layout, seed
        self._instructions, self._read = instructions, read

    def records(self, start_step: Any) -> Any:
        """Return an endless dataset of instructions and their records from a step on, one by one; see BatchReader.

        Args:
            start_step: int64[].
        """
        lanes, layout = self._blocks.lanes, self._layout
        num_slots = lanes // layout.num_workers
        first_slot = layout.worker_index * num_slots
        start = tf.cast(start_step, tf.int64) * layout.global_batch_size
        return tf.data.Dataset.range(first_slot, first_slot + num_slots).interleave(
            without_autograph(lambda slot: self._lane(start + slot)),
            cycle_length=num_slots,
            block_length=layout.global_batch_size // lanes,
            num_parallel_calls=num_slots,
            deterministic=True,
        )

    def _lane(self, start: Any) -> Any:
        """Return the records of a lane, from its first position on."""
        # Only the length of the range matters: each window begins where the last one ended.
        windows = tf.data.Dataset.range(tf.int64.max).scan(start, self._next_window)
        return unbatched(windows.map(self._read).prefetch(1))

    @without_autograph
    def _next_window(self, position: Any, _: Any) -> tuple[Any, dict[str, Any]]:
        """Return the position of the lane's next window, and the instructions of this one."""
        lanes = self._blocks.lanes
        ids, epoch = block_ops.rest_of_window(position, layout=self._blocks, seed=self._seed)
        next_position = position + tf.size(ids, tf.int64) * lanes
        # The inverse of lanes.lane_positions.
        positions, size = tf.range(position, next_position, lanes), self._layout.global_batch_size
        within = positions % size
        places = positions - within + within % lanes * (size // lanes) + within // lanes
        return next_position, self._instructions(ids, epoch, places)
