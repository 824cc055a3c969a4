"""Columns of the record table in the order in which examples are read: where each lies, its crop, flip and seeds."""

from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.order import BatchLayout
from shardkit.reader.arguments.options import ReadOptions
from shardkit.reader.images import crops
from shardkit.reader.orders import permutation
from shardkit.reader.orders.training_orders import TrainingOrder
from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.records.recovery import RecordRecovery
from shardkit.reader.table.column_lookup import column_lookup
from shardkit.reader.table.records import RecordTable

# Stands for the epoch where positions are hashed for batches: no epoch has this number.
_OF_BATCHES = np.int64(-1)
BATCH_SEED = "batch_seed"
# Columns that say where a record lies, and that nothing needs once it is read.
LOCATION_COLUMNS = {"id", "path", "offset", "frame_bytes", "epoch", "is_undecodable"}


class ReadInstructions:
    """A block's first step to the columns of its examples, in the order in which they are read."""

    def __init__(
        self,
        table: RecordTable,
        layout: BatchLayout,
        options: ReadOptions,
        order: TrainingOrder | None,
        steps_per_block: int,
        last_step: int,
        recovery: RecordRecovery | None,
    ) -> None:
        """Make one.

        Args:
            table: of the split.
            layout: which part of every global batch.
            options: what is wanted.
            order: of training; None in evaluation.
            steps_per_block: that are given at a time.
            last_step: ends before it.
            recovery: knows images that do not decode; None where the graph runs in other processes.
        """
        self._layout, self._options, self._last_step, self._order = layout, options, last_step, order
        self._steps_per_block = steps_per_block
        self._num_examples, remote = table.num_examples, recovery is None
        names = ["offset", "label", "key_hash", "height", "width", "image_start", "image_bytes"]
        if table.frame_bytes is not None and not remote:
            names.append("frame_bytes")
        self._columns = {name: column_lookup(getattr(table, name), remote=remote) for name in names}
        self._record = None if table.record is None else column_lookup(table.record, remote=remote)
        with tf.device("CPU:0"):
            weights = options.class_weights
            self._weights = None if weights is None else tf.constant(weights, tf.float32)
            self._is_png = None if table.is_png is None else tf.constant(table.is_png)
            self._starts = tf.constant(table.starts)
            self._paths = tf.constant(table.paths)
            self._dataset = None if table.relabelling is None else tf.constant(table.relabelling.dataset)

        self._are_undecodable = None
        if recovery is not None and recovery.replaces and options.image is not None:
            self._are_undecodable = callable_in_graph(recovery.are_undecodable, [tf.bool])

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # see `pipeline`
    def __call__(self, first_step: Any) -> dict[str, Any]:
        """The columns of a block, [steps_per_block * examples a step of this worker] or, at the end, fewer."""
        place, epochs = self.of_steps(first_step, self._steps_per_block)
        if self._options.max_corrupt is not None:
            place["epoch"] = epochs
        if self._are_undecodable is not None:
            (found,) = self._are_undecodable(place["id"], place["window"])
            place["is_undecodable"] = tf.ensure_shape(found, [None])
        return place

    def of_steps(self, first_step: Any, num_steps: int) -> tuple[dict[str, Any], Any]:
        """Return the columns of some steps, and the epoch of each example in them."""
        layout = self._layout
        steps = tf.range(first_step, tf.minimum(first_step + num_steps, self._last_step))
        positions = tf.reshape(steps[:, tf.newaxis] * layout.global_batch_size + np.array(layout.slots), [-1])
        if self._order is not None:
            ids, epochs = self._order.in_graph(positions)
        else:
            ids, epochs = tf.minimum(positions, self._num_examples - 1), tf.zeros_like(positions)
        place = self.of(ids, epochs)
        if not self._options.training:
            place["weight"] = tf.cast(positions < self._num_examples, tf.float32)
        if self._options.batch_map_fn is not None:
            place[BATCH_SEED] = permutation.seeds(positions, tf.fill([1], _OF_BATCHES), self._options.seed)
        return place, epochs

    def of(self, ids: Any, epochs: Any) -> dict[str, Any]:
        """The columns of examples as they are in those epochs."""
        place = {name: rows(ids) for name, rows in self._columns.items()}
        place["id"] = ids
        if self._is_png is not None:
            place["is_png"] = tf.gather(self._is_png, ids)
        records = ids if self._record is None else self._record(ids)
        shard = tf.searchsorted(self._starts, records, side="right") - 1
        place["path"] = tf.gather(self._paths, shard)
        if self._dataset is not None:
            place["dataset"] = tf.gather(self._dataset, shard)
        if self._weights is not None:
            place["weight"] = tf.gather(self._weights, place["label"])
        return place | self._random(place, epochs)

    def _random(self, place: dict[str, Any], epochs: Any) -> dict[str, Any]:
        """Crop windows and flips of the whole block, and the seeds of `map_fn`."""
        made: dict[str, Any] = {}
        key_hash, height, width = (place.pop(name) for name in ("key_hash", "height", "width"))
        image, seed = self._options.image, self._options.seed
        if self._options.map_fn is not None:
            made["seed"] = permutation.seeds(key_hash, epochs, seed)
        if image is None:
            return made
        if image.training:
            drawn = permutation.uniforms(key_hash, epochs, seed, crops.UNIFORMS + 1)
            made["window"] = crops.random_windows(drawn[:-1], height, width, scale=image.scale, ratio=image.ratio)
            if image.flip:
                made["flip"] = drawn[-1] < 0.5
        elif image.fit == "crop":
            made["window"] = crops.centre_windows(height, width, size=image.size, fraction=image.crop_fraction)
        else:
            made["window"] = crops.whole_windows(height, width)
        return made
