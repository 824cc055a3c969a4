"""The tf.data graph of one input pipeline.

    range of steps ─► map: a block of places ─► unbatch ─► parallel map ─► parallel map ─► batch ─► prefetch
                      all vectorised: order,               fetch one       decode the
                      lookup, windows, seeds               record          window, resize

Fetching is stateful and decoding is not: where TensorFlow is told to be deterministic (`enable_op_determinism`), it
runs stateful maps on one thread. So each is a map of its own.

In block order whole blocks of records are read beside the places and zipped with them: nothing is left to fetch.

The order is arithmetic, so the source is a range of steps: starting at step k costs what starting at 0 costs.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.dataset.features import CLASS_LABEL, LABEL, MASK, OBJECT_LABELS
from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.reader.arguments.options import MAX_STEP, ImageOptions, ReadOptions
from shardkit.reader.cache.shards import HeldPaths
from shardkit.reader.images.annotations import move_annotations, targets
from shardkit.reader.images.decoding import decode_window, finish, target_size
from shardkit.reader.iterators.random_start import RandomStart
from shardkit.reader.map_results import check_weight, returned
from shardkit.reader.orders.training_orders import BlockOrder, TrainingOrder
from shardkit.reader.records.blocks import BlockReader
from shardkit.reader.records.faults import FaultBudget
from shardkit.reader.records.instructions import BATCH_SEED, PLACE_ONLY, Places
from shardkit.reader.records.parsing import Parser
from shardkit.reader.records.ranges import RunReader
from shardkit.reader.records.recovery import Rereader
from shardkit.reader.records.retry import guarded
from shardkit.reader.records.single import Fetcher
from shardkit.reader.records.source_changes import SourceWatch
from shardkit.reader.records.step_inspector import StepInspector
from shardkit.reader.table.records import RecordTable

# Vectorised ops cost about a millisecond a block, whatever its size up to here: small batches share a block.
BLOCK_EXAMPLES = 1024
# AutoGraph is for what users write: our own functions need none, it takes nine tenths of tracing them, and it turns our
# errors into its own.
as_it_is = tf.autograph.experimental.do_not_convert


def build(
    table: RecordTable,
    layout: BatchLayout,
    options: ReadOptions,
    order: TrainingOrder | None,
    start_step: Any,
    budget: FaultBudget | None,
    *,
    remote: bool = False,
) -> Any:
    """The dataset of one input pipeline: per-replica batches, of which `layout.replicas_per_worker` make a step.

    Args:
        table: of the split.
        layout: which part of every global batch.
        options: what is wanted.
        order: of training; None in evaluation.
        start_step: an int, or a `StartStep` or `RandomStart` that is read whenever an iterator is made.
        budget: of damaged records; None to stop at the first.
        remote: the graph runs in other processes, each a part of it: nothing calls back into this one, every record is
            read by itself, and how many batches each process gives is left open.
    """
    steps_per_block = max(1, BLOCK_EXAMPLES // layout.per_worker_batch_size)
    last_step = MAX_STEP if options.training else steps_per_epoch(table.num_examples, layout.global_batch_size)
    if isinstance(start_step, RandomStart):
        last_step = start_step.last_step
    rereader = None if remote else Rereader(table, budget, options.seed, options.image)
    places = Places(table, layout, options, order, steps_per_block, last_step, rereader)
    parser = Parser(table.features, table.num_classes, None if table.relabelling is None else table.relabelling.labels)
    # Another one with variables of its own: TensorFlow orders operations that use the same ones, and in functions of
    # datasets that breaks its own fusion of map and batch ("input ^MapDataset is not found").
    others = Places(table, layout, options, order, steps_per_block, last_step, rereader)
    fetched = _Fetched(Fetcher(rereader), others)
    example = _Example(table, options, parser)
    records = _records(table, layout, options, order, remote=remote)

    def placed(first_step: Any) -> Any:
        return records(tf.data.Dataset.range(first_step, last_step, steps_per_block).map(places), first_step)

    def batched(examples: Any) -> Any:
        dataset = examples.map(as_it_is(fetched), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        dataset = dataset.map(as_it_is(example), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        dataset = dataset.batch(layout.per_replica_batch_size, drop_remainder=True)
        if options.image is None and options.map_fn is None:
            dataset = dataset.map(
                as_it_is(_BatchParser(parser)), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
            )
        if options.batch_map_fn is not None:
            whole = as_it_is(_BatchMap(options.batch_map_fn))
            dataset = dataset.map(whole, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        return dataset.prefetch(tf.data.AUTOTUNE)

    if rereader is None:
        # A tf.data service divides the range of steps itself, so that has to be the source.
        is_known = isinstance(start_step, int)
        return batched(placed(start_step) if is_known else start_step.each_time().flat_map(as_it_is(placed)))
    inspector = StepInspector(places, rereader)
    dataset = guarded(
        _first_step(start_step),
        lambda step: batched(placed(step)),
        inspector.in_graph(),
        _source_check(table),
        last_step,
        layout.replicas_per_worker,
    )
    if options.training:
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    return dataset


def _first_step(start_step: Any) -> Any:
    """Return a dataset of the one step, int64[]."""
    if isinstance(start_step, int):
        return tf.data.Dataset.from_tensors(tf.constant(start_step, tf.int64))
    return start_step.each_time()


def _source_check(table: RecordTable) -> Callable[[], Any]:
    """Return a graph function that checks that the shards were not replaced."""
    if isinstance(table.paths, HeldPaths):
        none: Callable[[], Any] = tf.no_op
        return none  # copies are verified, and never replaced
    return SourceWatch(table).in_graph()


def _records(
    table: RecordTable, layout: BatchLayout, options: ReadOptions, order: TrainingOrder | None, *, remote: bool
) -> Any:
    """Blocks of places, and the step they begin at, to single places; with their records where many are read at once.

    Whoever finds no record there, or an empty one, reads it by itself.
    """
    if remote or table.frame_bytes is None:
        return lambda places, _: places.prefetch(1).unbatch()
    if isinstance(order, BlockOrder):
        blocks = BlockReader(table, order.layout, layout, options.seed)
        return lambda places, first_step: tf.data.Dataset.zip(
            places.prefetch(1).unbatch(), blocks.records(first_step)
        ).map(lambda place, record: place | {"record": record})
    read = RunReader(table)
    return lambda places, _: places.map(lambda place: place | {"record": read(place["id"])}, 1).unbatch()


class _Fetched:
    """The columns of one example, and its record."""

    def __init__(self, fetch: Fetcher, places: Places) -> None:
        self._fetch, self._places = fetch, places

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # see _Example
    def __call__(self, place: dict[str, Any]) -> dict[str, Any]:
        record, place = self._fetch(place, self._places.of)
        return {name: column for name, column in place.items() if name not in PLACE_ONLY} | {"record": record}


class _Example:
    """The columns and the record of one example to the element it becomes."""

    def __init__(self, table: RecordTable, options: ReadOptions, parser: Parser) -> None:
        self._options, self._parser = options, parser
        self._moves = bool({MASK, OBJECT_LABELS} & set(table.features))
        self._has_class = table.features.get(LABEL) == CLASS_LABEL
        self._map_fn = None if options.map_fn is None else tf.function(options.map_fn)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def __call__(self, place: dict[str, Any]) -> Any:
        element = self._element(place["record"], place)
        return {BATCH_SEED: place[BATCH_SEED], "element": element} if BATCH_SEED in place else element

    def _element(self, record: Any, place: dict[str, Any]) -> Any:
        image, map_fn = self._options.image, self._map_fn
        if image is None and map_fn is None:
            return {"record": record} | {name: place[name] for name in ("weight", "dataset") if name in place}
        # The index knows the label of an example's one class: parsing takes a tenth of decoding.
        features = {} if map_fn is None and self._has_class else self._parser.one(record, place.get("dataset"))
        if image is not None:
            encoded = tf.strings.substr(record, place["image_start"], place["image_bytes"])
            features = move_annotations(features, place["window"], place.get("flip"), image)
            features["image"] = _pixels(encoded, place, image)
        if map_fn is not None:
            element = returned("map_fn", map_fn(features, place["seed"]))
        elif self._has_class:
            element = features["image"], place["label"]
        elif self._moves and image is not None:
            element = features["image"], targets(features, image.max_boxes)
        else:
            element = features["image"], self._parser.label(features)
        if "weight" not in place:
            return element
        if isinstance(element, dict):
            check_weight(element)
            return element | {"weight": place["weight"]}
        return (*element, place["weight"]) if isinstance(element, tuple) else (element, place["weight"])


def _pixels(encoded: Any, place: dict[str, Any], image: ImageOptions) -> Any:
    window, is_png, flip = place["window"], place.get("is_png"), place.get("flip")
    if not image.scaled_decoding:
        return finish(decode_window(encoded, window, is_png, image.channels), flip, image)
    scaled = decode_window(encoded, window, is_png, image.channels, target_size(window, image))
    return finish(scaled, flip, image, shape=window[2:])


class _BatchMap:
    """What the user makes of a whole batch, seeded by the place of its first example in the order."""

    def __init__(self, batch_map_fn: Any) -> None:
        self._batch_map_fn = tf.function(batch_map_fn)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # see _Example
    def __call__(self, batch: dict[str, Any]) -> Any:
        return returned("batch_map_fn", self._batch_map_fn(batch["element"], batch[BATCH_SEED][0]))


class _BatchParser:
    """Records of a batch to their features, beside what else is known of each."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # see _Example
    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if "element" in batch:
            return batch | {"element": self(batch["element"])}
        records, dataset = batch.pop("record"), batch.pop("dataset", None)
        return self._parser.batch(records, dataset) | batch
