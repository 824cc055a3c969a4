"""Make read instructions: where the next examples are stored, and their crops, flips and seeds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.dataset.stored_names import RECORD_DIGITS, names_in_records
from shardkit.reader.images import crops
from shardkit.reader.orders import permutation as permutation_ops
from shardkit.reader.orders import sequential
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import callable_in_graph, without_autograph
from shardkit.reader.records.recovery import RecordRecovery
from shardkit.reader.table.column_lookup import column_lookup

# Takes the place of the epoch in the seeds of batches: no epoch has this number.
_BATCH_EPOCH = np.int64(-1)
BATCH_SEED = "batch_seed"
# Whether a row is an example; the others of a short batch are cut off.
IS_EXAMPLE = "is_example"
# Hash of the key in the index.
KEY_HASH = "key_hash"
# Columns that only reading needs.
LOCATION_COLUMNS = {"id", "path", "offset", "epoch", "is_undecodable"}


class ReadInstructions:
    """Instructions for the examples of some steps, in the order in which they are read.

    The instructions of n examples are a dict of columns, [n] each; an instruction of one example holds scalars.
    """

    def __init__(self, spec: PipelineSpec, recovery: RecordRecovery | None) -> None:
        """Make the lookups of the table's columns.

        Args:
            spec: The input pipeline.
            recovery: Has the list of images that do not decode; None if other processes run the graph.
        """
        table, options, is_remote = spec.table, spec.options, recovery is None
        self._spec, self._options = spec, options
        names = ["label", KEY_HASH, "height", "width", "image_start", "image_bytes", *(["offset"] if is_remote else [])]
        self._columns = {name: column_lookup(getattr(table, name), remote=is_remote) for name in names}
        self._record = None if table.record is None else column_lookup(table.record, remote=is_remote)
        with tf.device("CPU:0"):
            weights = options.class_weights
            self._weights = None if weights is None else tf.constant(weights, tf.float32)
            self._is_png = None if table.is_png is None else tf.constant(table.is_png)
            self._starts = tf.constant(table.starts)
            self._paths = tf.constant(table.paths) if is_remote else None
            # Only elements with features have the key.
            has_key = options.image is None or options.map_fn is not None
            is_numbered = has_key and not names_in_records("key", table.stored_as)
            self._key_paths = tf.constant(table.key_paths) if is_numbered else None
            self._dataset = None if table.relabelling is None else tf.constant(table.dataset)
        self._are_undecodable: Callable[..., Any] | None = None
        if recovery is not None and recovery.replaces and options.image is not None:
            self._are_undecodable = callable_in_graph(recovery.are_undecodable, [tf.bool])

    @without_autograph
    def __call__(self, first: Any) -> dict[str, Any]:
        """Return the instructions of a block of places, at the end of an evaluation of fewer.

        Args:
            first: int64[], the number of the first place among this worker's places of all steps.
        """
        return self._recoverable(*self.of_places(first, self._spec.block_size))

    def of_ids(self, ids: Any, epochs: Any, positions: Any) -> dict[str, Any]:
        """Return the instructions of examples of training.

        Args:
            ids: int64[n].
            epochs: int64[n], or int64[1] for all.
            positions: int64[n], the places of the examples in the global batches.
        """
        return self._recoverable(self.of_examples(ids, epochs) | self._batch_seeds(positions), epochs)

    def _recoverable(self, instructions: dict[str, Any], epochs: Any) -> dict[str, Any]:
        """Return the instructions with what recovery needs."""
        if self._options.max_corrupt is not None:
            instructions["epoch"] = tf.broadcast_to(epochs, tf.shape(instructions["id"]))
        if self._are_undecodable is not None:
            (found,) = self._are_undecodable(instructions["id"], instructions["window"])
            instructions["is_undecodable"] = tf.ensure_shape(found, [None])
        return instructions

    def of_places(self, first: Any, count: int) -> tuple[dict[str, Any], Any]:
        """Return the instructions of some of this worker's places, and the epoch of each example.

        Args:
            first: int64[], the number of the first one: step * per_worker_batch_size + the place in the worker's part.
            count: How many.
        """
        layout, options, num_examples = self._spec.layout, self._options, self._spec.table.num_examples
        size = layout.per_worker_batch_size
        places = tf.range(first, tf.minimum(first + count, self._spec.end_step * size))
        positions = places // size * layout.global_batch_size + layout.slots.start + places % size
        if self._spec.order is not None:
            ids, epochs = self._spec.order.in_graph(positions)
            instructions = self.of_examples(ids, epochs)
        else:
            if options.short_last_batch:
                ids, is_example = sequential.short(positions, num_examples, layout)
            else:
                ids, is_example = sequential.padded(positions, num_examples)
            epochs = tf.zeros_like(positions)
            instructions = self.of_examples(ids, epochs) | {"weight": tf.cast(is_example, tf.float32)}
            if options.short_last_batch:
                instructions[IS_EXAMPLE] = is_example
        return instructions | self._batch_seeds(positions), epochs

    def _batch_seeds(self, positions: Any) -> dict[str, Any]:
        if self._options.batch_map_fn is None:
            return {}
        return {BATCH_SEED: permutation_ops.seeds(positions, tf.fill([1], _BATCH_EPOCH), self._options.seed)}

    def of_examples(self, ids: Any, epochs: Any) -> dict[str, Any]:
        """Return the instructions of examples, as they are read in an epoch each; int64[n] both."""
        instructions = {name: rows(ids) for name, rows in self._columns.items()}
        instructions["id"] = ids
        if self._is_png is not None:
            instructions["is_png"] = tf.gather(self._is_png, ids)
        records = ids if self._record is None else self._record(ids)
        shard = tf.searchsorted(self._starts, records, side="right") - 1
        if self._paths is not None:
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
        key_hash = instructions[KEY_HASH]
        image, seed = self._options.image, self._options.seed
        stored_as = self._spec.table.stored_as
        made |= {name: column for name, column in (("height", height), ("width", width)) if stored_as.get(name) == ()}
        if self._options.map_fn is not None:
            made["seed"] = permutation_ops.seeds(key_hash, epochs, seed)
        if image is None:
            return made
        flips = image.training and image.flip
        if image.random_crop is not None or flips:
            drawn = permutation_ops.uniforms(key_hash, epochs, seed, crops.UNIFORMS + 1)
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
