"""Build the tf.data graph of one input pipeline.

    range of steps ─► map: a block's instructions ─► unbatch ─► parallel map ─► parallel map ─► batch ─► prefetch
                      all vectorised: order,                    read one        decode the
                      lookup, windows, seeds                    record          window, resize

Reading is stateful and decoding is not. With `enable_op_determinism`, TensorFlow runs stateful maps on one thread, so
decoding is a map of its own.

In block order, whole blocks of records are read with the instructions, see `records.block_reader`.

The order is arithmetic, so the source is a range of steps: starting at step k costs the same as starting at step 0.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from shardkit.dataset.features import CLASS_LABEL, LABEL, LABELS, MASK, OBJECT_LABELS
from shardkit.dataset.stored_names import DERIVED
from shardkit.errors import CallError
from shardkit.reader.arguments.options import ImageOptions, ReadOptions
from shardkit.reader.images.annotations import move_annotations, targets
from shardkit.reader.images.decoding import decode_window, finish, target_size
from shardkit.reader.orders.training_orders import BlockTrainingOrder
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import without_autograph
from shardkit.reader.records.batch_check import CheckBatches
from shardkit.reader.records.block_reader import BlockReader
from shardkit.reader.records.instructions import BATCH_SEED, IS_EXAMPLE, KEY_HASH, LOCATION_COLUMNS, ReadInstructions
from shardkit.reader.records.manifest_check import manifest_check
from shardkit.reader.records.parsing import Parser
from shardkit.reader.records.range_reader import RangeReader, unbatched
from shardkit.reader.records.record_keys import KEY, RecordKeys
from shardkit.reader.records.record_reader import RecordReader
from shardkit.reader.records.recovery import RecordRecovery
from shardkit.reader.records.retry import find_undecodable_images, retry_failed_steps
from shardkit.reader.table.records import RecordTable

# Columns of an example whose record is parsed with its batch.
_BESIDE_RECORDS = ("weight", "dataset", *sorted(DERIVED))
# Columns of a batch that are not of its element.
_OF_BATCH = (BATCH_SEED, IS_EXAMPLE, KEY_HASH)
_ELEMENT = "element"


def build(spec: PipelineSpec) -> Any:
    """Return the dataset of one input pipeline.

    Its elements are batches of one replica; `spec.layout.replicas_per_worker` of them make a step.
    """
    table, options, layout, start_step = spec.table, spec.options, spec.layout, spec.start_step
    recovery = None if spec.is_remote else RecordRecovery(table, spec.damaged, options.seed, options.image)
    instructions = ReadInstructions(spec, recovery)
    parser = Parser(table.features, table.num_classes, table.relabelling, table.stored_as)
    # A second one with its own variables. TensorFlow orders the operations that use the same variables, and in
    # functions of datasets that breaks its fusion of map and batch ("input ^MapDataset is not found").
    read = _Read(RecordReader(recovery), ReadInstructions(spec, recovery))
    compares_keys = recovery is not None and RecordKeys(table).are_stored
    make_element = _MakeElement(table, options, parser, compares_keys=compares_keys)
    instructions_from = _instructions_from(spec, instructions)

    def batches(examples: Any) -> Any:
        dataset = _parallel_map(_parallel_map(examples, read), make_element)
        dataset = dataset.batch(layout.per_replica_batch_size, drop_remainder=True)
        if options.short_last_batch:
            dataset = _parallel_map(dataset, _drop_padding)
        if options.image is None and options.map_fn is None:
            dataset = _parallel_map(dataset, _ParseBatch(parser, compares_keys=compares_keys))
        if options.batch_map_fn is not None:
            dataset = _parallel_map(dataset, _MapBatch(options.batch_map_fn))
        return dataset.prefetch(tf.data.AUTOTUNE)

    if recovery is None:
        # A tf.data service divides the range of steps among its workers, so the range has to be the source.
        if isinstance(start_step, int):
            made = batches(instructions_from(start_step))
        else:
            made = batches(start_step.as_dataset().flat_map(without_autograph(instructions_from)))
        check = manifest_check(table)
        return made.map(without_autograph(lambda batch: check(batch[_ELEMENT])))
    dataset = retry_failed_steps(
        _first_step(start_step),
        lambda step: batches(instructions_from(step)),
        find_undecodable_images(instructions, recovery),
        _Check(CheckBatches(table)),
        spec.end_step,
        layout.replicas_per_worker,
    )
    if options.training:
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    return dataset


def _parallel_map(dataset: Any, function: Callable[..., Any]) -> Any:
    return dataset.map(without_autograph(function), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)


def _first_step(start_step: Any) -> Any:
    """Return a dataset of the one step, int64[]."""
    if isinstance(start_step, int):
        return tf.data.Dataset.from_tensors(tf.constant(start_step, tf.int64))
    return start_step.as_dataset()


def _instructions_from(spec: PipelineSpec, instructions: ReadInstructions) -> Callable[[Any], Any]:
    """Return a function from a step, int64[], to the dataset of the instructions from that step on, one by one.

    The records themselves are added if many are read by one request. RecordReader reads those that are empty, and all
    of them if none are added.
    """
    table = spec.table

    def blocks(step: Any) -> Any:
        return tf.data.Dataset.range(step, spec.end_step, spec.steps_per_block).map(instructions)

    if spec.is_remote or table.frame_bytes is None:
        return lambda step: unbatched(blocks(step).prefetch(1))
    if isinstance(spec.order, BlockTrainingOrder):
        reader = BlockReader(table, spec.order.layout, spec.layout, spec.options.seed, instructions.of_ids)
        size = spec.layout.per_worker_batch_size
        return lambda step: reader.records(step).take((spec.end_step - step) * size)
    read = RangeReader(table)
    return lambda step: unbatched(blocks(step).flat_map(without_autograph(read)).prefetch(1))


class _Read:
    """From an instruction to the example's record and the columns that are needed after reading."""

    def __init__(self, reader: RecordReader, instructions: ReadInstructions) -> None:
        self._reader, self._instructions = reader, instructions

    @without_autograph
    def __call__(self, instruction: dict[str, Any]) -> dict[str, Any]:
        record, columns = self._reader(instruction, self._instructions.of_examples)
        return {name: column for name, column in columns.items() if name not in LOCATION_COLUMNS} | {"record": record}


class _MakeElement:
    """From the record and the columns of one example to its element, next to the columns that its batch needs."""

    def __init__(self, table: RecordTable, options: ReadOptions, parser: Parser, *, compares_keys: bool) -> None:
        self._options, self._parser, self._compares_keys = options, parser, compares_keys
        self._has_annotations = bool({MASK, OBJECT_LABELS} & set(table.features))
        self._has_class = table.features.get(LABEL) == CLASS_LABEL
        self._is_unlabelled = not {MASK, LABEL, LABELS, OBJECT_LABELS} & set(table.features)
        self._map_fn = None if options.map_fn is None else tf.function(options.map_fn)

    @without_autograph
    def __call__(self, columns: dict[str, Any]) -> Any:
        of_batch = {name: columns[name] for name in _OF_BATCH if name in columns}
        record, image, map_fn = columns["record"], self._options.image, self._map_fn
        if image is None and map_fn is None:
            element = {"record": record} | {name: columns[name] for name in _BESIDE_RECORDS if name in columns}
            return of_batch | {_ELEMENT: element}
        # The index has the label of an example's one class, and parsing takes a tenth of the time of decoding.
        if map_fn is None and (self._has_class or self._is_unlabelled):
            return of_batch | {_ELEMENT: self._element(record, columns, {})}
        features = self._parser.one(record, columns.get("dataset"))
        if self._compares_keys:
            of_batch[KEY] = features[KEY]
        features |= {name: columns[name] for name in DERIVED if name in columns}
        return of_batch | {_ELEMENT: self._element(record, columns, features)}

    def _element(self, record: Any, columns: dict[str, Any], features: dict[str, Any]) -> Any:
        image, map_fn = self._options.image, self._map_fn
        if image is not None:
            encoded = tf.strings.substr(record, columns["image_start"], columns["image_bytes"])
            features = move_annotations(features, columns["window"], columns.get("flip"), image)
            features["image"] = _pixels(encoded, columns, image)
        if map_fn is not None:
            element = check_element("map_fn", map_fn(features, columns["seed"]))
        elif self._has_class:
            element = features["image"], columns["label"]
        elif self._is_unlabelled:
            element = features["image"]
        elif self._has_annotations and image is not None:
            element = features["image"], targets(features, image.max_boxes)
        else:
            element = features["image"], self._parser.label(features)
        if "weight" not in columns:
            return element
        if isinstance(element, dict):
            check_no_weight(element)
            return element | {"weight": columns["weight"]}
        return (*element, columns["weight"]) if isinstance(element, tuple) else (element, columns["weight"])


def _pixels(encoded: Any, columns: dict[str, Any], image: ImageOptions) -> Any:
    window, is_png, flip = columns["window"], columns.get("is_png"), columns.get("flip")
    if not image.scaled_decoding:
        return finish(decode_window(encoded, window, is_png, image.channels), flip, image)
    scaled = decode_window(encoded, window, is_png, image.channels, target_size(window, image))
    return finish(scaled, flip, image, shape=window[2:])


def _drop_padding(batch: dict[str, Any]) -> Any:
    """Return the batch's rows that are examples; they are its first ones, see `sequential.short`."""
    count = tf.reduce_sum(tf.cast(batch.pop(IS_EXAMPLE), tf.int32))
    return tf.nest.map_structure(lambda rows: _first_rows(rows, count), batch)


def _first_rows(rows: Any, count: Any) -> Any:
    if isinstance(rows, tf.SparseTensor):
        shape = tf.concat([tf.cast(count[tf.newaxis], tf.int64), rows.dense_shape[1:]], 0)
        return tf.sparse.slice(rows, tf.zeros_like(shape), shape)
    return rows[:count]


class _MapBatch:
    """Call the user's `batch_map_fn`, with a seed from the position of the batch's first example."""

    def __init__(self, batch_map_fn: Any) -> None:
        self._batch_map_fn = tf.function(batch_map_fn)

    @without_autograph
    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        seed = batch.pop(BATCH_SEED)[0]
        return batch | {_ELEMENT: check_element("batch_map_fn", self._batch_map_fn(batch[_ELEMENT], seed))}


class _ParseBatch:
    """From the records of a batch to their features, next to the batch's other columns."""

    def __init__(self, parser: Parser, *, compares_keys: bool) -> None:
        self._parser, self._compares_keys = parser, compares_keys

    @without_autograph
    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        element = batch[_ELEMENT]
        parsed = self._parser.batch(element.pop("record"), element.pop("dataset", None))
        keys = {KEY: parsed[KEY]} if self._compares_keys else {}
        return batch | keys | {_ELEMENT: parsed | element}


class _Check:
    """Check that the dataset is unchanged, and return the batch's element."""

    def __init__(self, check: CheckBatches) -> None:
        self._check = check

    def __call__(self, batch: dict[str, Any], is_last: Any) -> Any:
        keys = (batch[KEY], batch[KEY_HASH]) if KEY in batch else None
        return self._check(batch[_ELEMENT], is_last, keys)


def check_element(name: str, result: Any) -> Any:
    """Return the element that a user's function returned; a list becomes a tuple.

    tf.data would stack the parts of a list into one tensor.

    Args:
        name: Name of the argument.
        result: What the function returned.

    Raises:
        CallError: The function returned None.
    """
    if result is None:
        msg = f"{name} returned None; it must return the element, a tensor or a tuple or dict of them: add the `return`"
        raise CallError(msg)
    return tuple(result) if isinstance(result, list) else result


def check_no_weight(element: Mapping[str, Any]) -> None:
    """Check that an element has no "weight", where the reader adds one.

    Raises:
        CallError: It has one.
    """
    if "weight" in element:
        raise CallError(
            "map_fn returned a dict with 'weight', which the reader adds itself in evaluation (0 for padding) and with "
            "sample_weight; give yours another name"
        )
