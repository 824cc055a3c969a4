"""Build the tf.data graph of one input pipeline.

    range of places ─► map: one call of Python: ─► chunks of ─► parallel map: ─► batches ─► prefetch
                       order, reading, CRC,        examples     decode the
                       replacement, windows,                    windows, resize
                       flips, labels, seeds

Fetching is stateful and decoding is not. With `enable_op_determinism`, TensorFlow runs stateful maps on one thread, so
decoding is a map of its own.

Where other processes run the graph, nothing calls Python: NumPy's functions become operations, and each record is read
by itself, see `remote` and `operations`.

The order is arithmetic, so the source is a range: starting at step k costs the same as starting at step 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled  # it has no public name

from shardkit.dataset.features import MASK, OBJECT_LABELS
from shardkit.dataset.stored_names import DERIVED
from shardkit.errors import CallError
from shardkit.fetch.places import BATCH_SEED, IS_EXAMPLE, KEY_HASH
from shardkit.fetch.sources import KEY
from shardkit.reader.fetching import check_keys, fetched_chunks, find_causes, make_fetcher, unbatched
from shardkit.reader.images.annotations import move_annotations, targets
from shardkit.reader.images.decoding import pixels_of_chunk, pixels_of_example
from shardkit.reader.images.held import pixel_shape
from shardkit.reader.operations.reading import manifest_check, read_instructions, read_record
from shardkit.reader.parsing import Parser
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import without_autograph
from shardkit.reader.retry import retry_failed_steps

# Columns of an example whose record is parsed with its batch.
_BESIDE_RECORDS = ("weight", "dataset", *sorted(DERIVED))
# Columns of a batch that are not of its element.
_OF_BATCH = (BATCH_SEED, IS_EXAMPLE, KEY_HASH)
_ELEMENT = "element"


def build(spec: PipelineSpec) -> Any:
    """Return the dataset of one input pipeline.

    Its elements are batches of one replica; `spec.layout.replicas_per_worker` of them make a step.
    """
    make = _for_other_processes if spec.is_remote else _for_this_process
    try:
        return make(spec)
    except NotDenseError:
        return make(replace(spec, is_single=True))


class NotDenseError(Exception):
    """Elements are not dense tensors; nobody outside of this module sees it."""


def _for_this_process(spec: PipelineSpec) -> Any:
    fetcher, start_step = make_fetcher(spec), spec.start_step
    chunks = fetched_chunks(spec, fetcher)
    # Copies are verified when made, and never replaced; what is held is compared when it is read.
    is_verified = spec.table.has_copies or spec.table.held is not None
    compares_keys = spec.wanted.has_record and fetcher.sources.have_keys and not is_verified
    check = check_keys(fetcher) if compares_keys else None
    size, together = spec.layout.per_replica_batch_size, spec.steps_together
    dataset = retry_failed_steps(
        tf.data.Dataset.from_tensors(np.int64(start_step)) if isinstance(start_step, int) else start_step,
        lambda *steps: _batches(spec, chunks(*steps), check),
        find_causes(spec, fetcher),
        lambda batch, _: batch[_ELEMENT] if together == 1 else _divided(batch[_ELEMENT], size),
        spec.end_step,
        spec.layout.replicas_per_worker if together == 1 else 1,
        together,
    )
    if together > 1:
        dataset = unbatched(dataset)  # TensorFlow divides it without a copy
    if spec.options.training:
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    options = tf.data.Options()
    # TensorFlow refuses to save iterators with state in Python, with a message that does not help. See `retry`.
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    # With deterministic operations, TensorFlow 2.21 divides again what it has fused, and in half of all cases the batch
    # loses an input: "input ^batch_size is not found".
    if is_op_determinism_enabled():
        options.experimental_optimization.map_and_batch_fusion = False
    return dataset.with_options(options)


def _for_other_processes(spec: PipelineSpec) -> Any:
    instructions, start_step = read_instructions(spec), spec.start_step
    check = manifest_check(spec.table)
    size = spec.layout.per_worker_batch_size

    def batches(step: Any) -> Any:
        blocks = tf.data.Dataset.range(step * size, spec.end_step * size, spec.block_size).map(instructions)
        examples = unbatched(blocks.prefetch(1))
        return _batches(spec, parallel_map(examples, read_record).batch(spec.chunk_size, drop_remainder=True))

    # A tf.data service divides the range of places among its workers, so the range has to be the source.
    made = batches(start_step) if isinstance(start_step, int) else start_step.flat_map(batches)
    return made.map(without_autograph(lambda batch: check(batch[_ELEMENT])))


def parallel_map(dataset: Any, function: Callable[..., Any], *, is_parallel: bool = True) -> Any:
    """Map a dataset in order, on as many threads as TensorFlow chooses, or on the thread that asks for elements."""
    threads = {"num_parallel_calls": tf.data.AUTOTUNE, "deterministic": True} if is_parallel else {}
    return dataset.map(without_autograph(function), **threads)


def _batches(spec: PipelineSpec, chunks: Any, check: Callable[[Any], Any] | None = None) -> Any:
    """Return batches of elements, next to the columns that a check needs, of chunks of examples with their records."""
    table, options, size = spec.table, spec.options, spec.layout.per_replica_batch_size
    stored, chunk, compares_keys = table.features, spec.chunk_size, check is not None
    if options.features is not None:
        stored = {name: one for name, one in stored.items() if name in {*options.features, KEY}}
    parser = Parser(stored, table.num_classes, table.relabelling, table.stored_as)
    make = _MakeElements(spec, parser, compares_keys=compares_keys)
    each = partial(parallel_map, is_parallel=not spec.is_ready)
    dataset = each(chunks, make)
    if spec.decodes and chunk == 1:
        dataset = dataset.batch(size, drop_remainder=True)
    elif chunk < size:
        dataset = dataset.batch(size // chunk, drop_remainder=True).map(without_autograph(_joined))
    if options.has_short_batch:
        dataset = parallel_map(dataset, _drop_padding)
    if spec.image is None and options.map_fn is None and not spec.has_indexed_features:
        parse = partial(_parsed, parser=parser, features=options.features, compares_keys=compares_keys)
        dataset = each(dataset, parse)
    if check is not None:
        dataset = dataset.map(without_autograph(check))
    if options.batch_map_fn is not None:
        dataset = parallel_map(dataset, partial(_mapped, batch_map_fn=tf.function(options.batch_map_fn)))
    return dataset.prefetch(tf.data.AUTOTUNE if spec.steps_together == 1 else 1)


def _divided(element: Any, size: int) -> Any:
    """Return the examples of several batches, [m * size, …], by batch: [m, size, …]."""
    return tf.nest.map_structure(lambda one: tf.reshape(one, [-1, size, *one.shape[1:]]), element)


def _joined(chunks: Any) -> Any:
    """Return chunks of examples, [m, n, …] each, as one, [m * n, …]."""

    def join(one: Any) -> Any:
        count = one.shape[0] * one.shape[1]
        joined = tf.reshape(one, tf.concat([[count], tf.shape(one)[2:]], axis=0))
        joined.set_shape([count, *one.shape[2:]])  # an element of `map_fn` may have sides that are not known
        return joined

    return tf.nest.map_structure(join, chunks)


class _MakeElements:
    """From the columns of a chunk, with its records, to its elements, next to the columns that its batch needs.

    A chunk of one image gives one element, without an axis for the examples.
    """

    def __init__(self, spec: PipelineSpec, parser: Parser, *, compares_keys: bool) -> None:
        table, image, map_fn = spec.table, spec.image, spec.options.map_fn
        self._spec, self._parser, self._compares_keys, self._chunk_size = spec, parser, compares_keys, spec.chunk_size
        shape = None if image is None else pixel_shape(table, image)
        self._have_size = image is not None and shape is not None and shape[:2] == tuple(image.size)
        self._map_fn = None if map_fn is None else tf.function(map_fn)
        self._all_are_png = bool(table.is_png.all())

    @without_autograph
    def __call__(self, columns: dict[str, Any]) -> Any:
        spec, image = self._spec, self._spec.image
        of_batch = {name: columns[name] for name in _OF_BATCH if name in columns}
        if image is None and self._map_fn is None:
            indexed = spec.has_indexed_features
            names = (*(spec.options.features or ()), "weight") if indexed else ("record", *_BESIDE_RECORDS)
            return of_batch | {_ELEMENT: {name: columns[name] for name in names if name in columns}}
        if self._all_are_png:
            columns["is_png"] = True
        if image is not None and spec.has_images_only and (self._chunk_size > 1 or not spec.decodes):
            pixels = pixels_of_chunk(columns, image, have_size=self._have_size)
            return of_batch | {_ELEMENT: self._labelled(pixels, columns)}
        made = [self._one(row) for row in _rows(columns, self._chunk_size)]
        if self._chunk_size == 1:
            return {name: one[0] for name, one in of_batch.items()} | made[0]
        return of_batch | _stacked(made)

    def _one(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return the element of one example, and its key if that is compared."""
        # Parsing takes a tenth of the time of decoding.
        if self._map_fn is None and self._spec.has_label_column:
            return {_ELEMENT: self._element(columns, {})}
        features = self._parser.one(columns["record"], columns.get("dataset"))
        key = {KEY: features[KEY]} if self._compares_keys else {}
        features |= {name: columns[name] for name in DERIVED if name in columns}
        return key | {_ELEMENT: self._element(columns, features)}

    def _element(self, columns: dict[str, Any], features: dict[str, Any]) -> Any:
        image, map_fn = self._spec.image, self._map_fn
        if image is not None:
            features = move_annotations(features, columns["window"], columns.get("flip"), image)
            features["image"] = pixels_of_example(columns, image)
        if map_fn is not None:
            element = check_element("map_fn", map_fn(features, columns["seed"]))
        elif self._spec.has_label_column:
            return self._labelled(features["image"], columns)
        elif image is not None and {MASK, OBJECT_LABELS} & set(self._spec.table.features):
            element = features["image"], targets(features, image.max_boxes)
        else:
            element = features["image"], self._parser.label(features)
        return _weighted(element, columns)

    def _labelled(self, pixels: Any, columns: dict[str, Any]) -> Any:
        """Return an element, or those of a chunk, whose label is a column."""
        table, label = self._spec.table, columns["label"]
        if not table.has_class:
            return _weighted(pixels, columns)
        label = tf.one_hot(label, table.num_classes) if self._spec.options.one_hot else label
        return _weighted((pixels, label), columns)


def _weighted(element: Any, columns: dict[str, Any]) -> Any:
    if "weight" not in columns:
        return element
    if isinstance(element, dict):
        check_no_weight(element)
        return element | {"weight": columns["weight"]}
    return (*element, columns["weight"]) if isinstance(element, tuple) else (element, columns["weight"])


def _rows(columns: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the columns of several examples, [count, …] each, as those of one each; a bool is that of all."""
    rows = {name: [one] * count if isinstance(one, bool) else tf.unstack(one, count) for name, one in columns.items()}
    return [{name: one[row] for name, one in rows.items()} for row in range(count)]


def _stacked(made: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is made of several examples with an axis for them."""
    if not all(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(made)):
        raise NotDenseError
    stacked: dict[str, Any] = tf.nest.map_structure(lambda *parts: tf.stack(parts), *made)
    return stacked


def _drop_padding(batch: dict[str, Any]) -> Any:
    """Return the batch's rows that are examples; they are its first ones, see `sequential.short`."""
    count = tf.reduce_sum(tf.cast(batch.pop(IS_EXAMPLE), tf.int32))
    return tf.nest.map_structure(lambda rows: _first_rows(rows, count), batch)


def _first_rows(rows: Any, count: Any) -> Any:
    if isinstance(rows, tf.SparseTensor):
        shape = tf.concat([tf.cast(count[tf.newaxis], tf.int64), rows.dense_shape[1:]], 0)
        return tf.sparse.slice(rows, tf.zeros_like(shape), shape)
    return rows[:count]


def _mapped(batch: dict[str, Any], *, batch_map_fn: Callable[..., Any]) -> dict[str, Any]:
    """Call the user's `batch_map_fn`, with a seed from the position of the batch's first example."""
    seed = batch.pop(BATCH_SEED)[0]
    return batch | {_ELEMENT: check_element("batch_map_fn", batch_map_fn(batch[_ELEMENT], seed))}


def _parsed(
    batch: dict[str, Any], *, parser: Parser, features: Sequence[str] | None, compares_keys: bool
) -> dict[str, Any]:
    """From the records of a batch to their features, next to the batch's other columns."""
    element = batch[_ELEMENT]
    parsed = parser.batch(element.pop("record"), element.pop("dataset", None))
    keys = {KEY: parsed[KEY]} if compares_keys else {}
    made = parsed | element
    if features is not None:
        made = {name: made[name] for name in (*features, "weight") if name in made}
    return batch | keys | {_ELEMENT: made}


def check_element(name: str, result: Any) -> Any:
    """Return the element that a user's function returned; a list becomes a tuple.

    tf.data would stack the parts of a list into one tensor.
    """
    if result is None:
        msg = f"{name} returned None; it must return the element, a tensor or a tuple or dict of them: add the `return`"
        raise CallError(msg)
    return tuple(result) if isinstance(result, list) else result


def check_no_weight(element: Mapping[str, Any]) -> None:
    """Check that an element has no "weight", where the reader adds one."""
    if "weight" in element:
        raise CallError(
            "map_fn returned a dict with 'weight', which the reader adds itself in evaluation (0 for padding) and with "
            "sample_weight; give yours another name"
        )
