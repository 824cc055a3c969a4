"""Make read instructions as operations: where the next examples are stored, and their crops, flips and seeds.

The same numbers as those of `shardkit.fetch.places`, for graphs that other processes run: they cannot call Python.
"""

from typing import Any

import tensorflow as tf

from shardkit.dataset.stored_names import RECORD_DIGITS, names_in_records
from shardkit.fetch.places import BATCH_EPOCH, BATCH_SEED, KEY_HASH
from shardkit.fetch.windows import UNIFORMS
from shardkit.reader.column_lookup import column_lookup
from shardkit.reader.operations import crops
from shardkit.reader.operations import permutation as permutation_ops
from shardkit.reader.operations.sampling import draw_in_graph
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import without_autograph

# Columns that only reading needs.
LOCATION_COLUMNS = {"id", "path", "offset"}


class ReadInstructions:
    """Instructions for the examples of some steps, in the order in which they are read: columns, [n] each."""

    def __init__(self, spec: PipelineSpec) -> None:
        """Make the lookups of the table's columns."""
        table, options = spec.table, spec.options
        self._spec, self._options = spec, options
        names = ["label", KEY_HASH, "height", "width", "image_start", "image_bytes", "offset"]
        self._columns = {name: column_lookup(getattr(table, name), remote=True) for name in names}
        self._record = None if table.record is None else column_lookup(table.record, remote=True)
        self._draw = None if spec.order is None else draw_in_graph(spec.order)
        with tf.device("CPU:0"):
            weights = spec.class_weights
            self._weights = None if weights is None else tf.constant(weights, tf.float32)
            self._is_png = None if table.is_png is None else tf.constant(table.is_png)
            self._starts, self._paths = tf.constant(table.starts), tf.constant(table.paths)
            is_numbered = spec.wanted.has_record and not names_in_records("key", table.stored_as)
            self._key_paths = tf.constant(table.key_paths) if is_numbered else None
            self._dataset = None if table.relabelling is None else tf.constant(table.dataset)

    @without_autograph
    def __call__(self, first: Any) -> dict[str, Any]:
        """Return the instructions of a block of places, at the end of an evaluation of fewer."""
        layout, num_examples = self._spec.layout, self._spec.table.num_examples
        size = layout.per_worker_batch_size
        places = tf.range(first, tf.minimum(first + self._spec.block_size, self._spec.end_step * size))
        positions = places // size * layout.global_batch_size + layout.slots.start + places % size
        if self._draw is not None:
            instructions = self._of_examples(*self._draw(positions))
        else:
            ids = tf.minimum(positions, num_examples - 1)
            instructions = self._of_examples(ids, tf.zeros_like(positions))
            instructions["weight"] = tf.cast(positions < num_examples, tf.float32)
        if self._options.batch_map_fn is not None:
            epoch = tf.fill([1], tf.constant(BATCH_EPOCH, tf.int64))
            instructions[BATCH_SEED] = permutation_ops.seeds(positions, epoch, self._options.seed)
        return instructions

    def _of_examples(self, ids: Any, epochs: Any) -> dict[str, Any]:
        """Return the instructions of examples, as they are read in an epoch each; int64[n] both."""
        instructions = {name: rows(ids) for name, rows in self._columns.items()}
        if self._is_png is not None:
            instructions["is_png"] = tf.gather(self._is_png, ids)
        records = ids if self._record is None else self._record(ids)
        shard = tf.searchsorted(self._starts, records, side="right") - 1
        instructions["path"] = tf.gather(self._paths, shard)
        if self._key_paths is not None:
            number = tf.strings.as_string(records - tf.gather(self._starts, shard), width=RECORD_DIGITS, fill="0")
            instructions["key"] = tf.strings.join([tf.gather(self._key_paths, shard), number], "/")
        if self._dataset is not None:
            instructions["dataset"] = tf.gather(self._dataset, shard)
        if self._weights is not None:
            instructions["weight"] = tf.gather(self._weights, instructions["label"])
        return instructions | self._augmentation(instructions, epochs)

    def _augmentation(self, instructions: dict[str, Any], epochs: Any) -> dict[str, Any]:
        """Return crop windows and flips of the whole block, and the seeds of `map_fn`."""
        made: dict[str, Any] = {}
        height, width = (instructions.pop(name) for name in ("height", "width"))
        key_hash, image, seed = instructions[KEY_HASH], self._spec.image, self._options.seed
        stored_as = self._spec.table.stored_as
        made |= {name: column for name, column in (("height", height), ("width", width)) if stored_as.get(name) == ()}
        if self._options.map_fn is not None:
            made["seed"] = permutation_ops.seeds(key_hash, epochs, seed)
        if image is None:
            return made
        flips = image.training and image.flip
        if image.random_crop is not None or flips:
            drawn = permutation_ops.uniforms(key_hash, epochs, seed, UNIFORMS + 1)
        if flips:
            made["flip"] = drawn[-1] < 0.5
        if image.random_crop is not None:
            made["window"] = crops.random_windows(
                drawn[:-1], height, width, scale=image.random_crop, ratio=image.crop_ratio
            )
        elif image.eval_fit == "crop":
            made["window"] = crops.centre_windows(height, width, size=image.size, fraction=image.eval_crop_fraction)
        else:
            made["window"] = crops.whole_windows(height, width)
        return made
