"""The tf.data graph of one input pipeline.

    range of steps ─► map: a block of places ─► unbatch ─► parallel map: one example ─► batch ─► prefetch
                      all vectorised: order,               fetch, decode the window,
                      lookup, windows, seeds               resize

In block order whole blocks of records are read beside the places and zipped with them: nothing is left to fetch.

The order is arithmetic, so the source is a range of steps: starting at step k costs what starting at 0 costs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.features import CLASS_LABEL, LABEL, MASK, OBJECT_LABELS
from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.reader import crops, graph_order
from shardkit.reader.annotations import move_annotations, targets
from shardkit.reader.block_fetching import BlockReader
from shardkit.reader.decoding import decode_window, finish, target_size
from shardkit.reader.faults import FaultBudget
from shardkit.reader.fetching import Fetcher
from shardkit.reader.gathering import gatherer
from shardkit.reader.options import MAX_STEP, ImageOptions, ReadOptions
from shardkit.reader.parsing import Parser
from shardkit.reader.random_start import RandomStart
from shardkit.reader.rereading import Rereader
from shardkit.reader.run_reading import RunReader
from shardkit.reader.table import RecordTable
from shardkit.reader.training_orders import BlockOrder, TrainingOrder

# Vectorised ops cost about a millisecond a block, whatever its size up to here: small batches share a block.
BLOCK_EXAMPLES = 1024
# Stands for the epoch where positions are hashed for batches: no epoch has this number.
_OF_BATCHES = np.int64(-1)
_BATCH_SEED = "batch_seed"


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
        start_step: an int, or a `tf.Variable` or `RandomStart` that is read whenever an iterator is made.
        budget: of damaged records; None to stop at the first.
        remote: the graph runs in other processes, each a part of it: nothing calls back into this one, every record is
            read by itself, and how many batches each process gives is left open.
    """
    steps_per_block = max(1, BLOCK_EXAMPLES // layout.per_worker_batch_size)
    last_step = MAX_STEP if options.training else steps_per_epoch(table.num_examples, layout.global_batch_size)
    if isinstance(start_step, RandomStart):
        last_step = start_step.last_step
    places = _Places(table, layout, options, order, steps_per_block, last_step, remote=remote)
    parser = Parser(table.features, table.num_classes, None if table.relabelling is None else table.relabelling.labels)
    fetch = Fetcher(None if remote else Rereader(table, budget, options.seed))
    example = _Example(table, options, parser, places, fetch)
    records = _records(table, layout, options, order, remote=remote)

    def placed(first_step: Any) -> Any:
        return records(tf.data.Dataset.range(first_step, last_step, steps_per_block).map(places), first_step)

    dataset = (
        _from(start_step, placed)
        .map(example, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        .batch(layout.per_replica_batch_size, drop_remainder=True)
    )
    if options.image is None and options.map_fn is None:
        dataset = dataset.map(_BatchParser(parser), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    if options.batch_map_fn is not None:
        whole = _BatchMap(options.batch_map_fn)
        dataset = dataset.map(whole, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    if remote:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(_cardinality(layout, options, start_step, last_step)))


def _from(start_step: Any, made: Callable[[Any], Any]) -> Any:
    if isinstance(start_step, int):
        return made(start_step)
    # The variable is read here, when an iterator is made, and not when the dataset is: a callback may have moved it.
    return tf.data.Dataset.from_tensors(0).flat_map(lambda _: made(start_step.read_value()))


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


def _cardinality(layout: BatchLayout, options: ReadOptions, start_step: Any, last_step: int) -> Any:
    if options.training:
        return tf.data.INFINITE_CARDINALITY
    return max(0, last_step - int(start_step)) * layout.replicas_per_worker


class _Places:
    """A block's first step to the columns of its examples, in the order in which they are read."""

    def __init__(
        self,
        table: RecordTable,
        layout: BatchLayout,
        options: ReadOptions,
        order: TrainingOrder | None,
        steps_per_block: int,
        last_step: int,
        *,
        remote: bool,
    ) -> None:
        self._layout, self._options, self._last_step, self._order = layout, options, last_step, order
        self._steps_per_block = steps_per_block
        self._num_examples = table.num_examples
        names = ["offset", "label", "key_hash", "height", "width", "image_start", "image_bytes"]
        self._columns = {name: gatherer(getattr(table, name), remote=remote) for name in names}
        self._record = None if table.record is None else gatherer(table.record, remote=remote)
        with tf.device("CPU:0"):
            weights = options.class_weights
            self._weights = None if weights is None else tf.constant(weights, tf.float32)
            self._is_png = None if table.is_png is None else tf.constant(table.is_png)
            self._starts = tf.constant(table.starts)
            self._paths = tf.constant(table.paths)
            self._dataset = None if table.relabelling is None else tf.constant(table.relabelling.dataset)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # see _Example
    def __call__(self, first_step: Any) -> dict[str, Any]:
        layout = self._layout
        steps = tf.range(first_step, tf.minimum(first_step + self._steps_per_block, self._last_step))
        start = layout.worker_index * layout.per_worker_batch_size
        within = np.arange(start, start + layout.per_worker_batch_size)
        positions = tf.reshape(steps[:, tf.newaxis] * layout.global_batch_size + within, [-1])
        if self._order is not None:
            ids, epochs = self._order.in_graph(positions)
        else:
            ids, epochs = tf.minimum(positions, self._num_examples - 1), tf.zeros_like(positions)
        place = self.of(ids, epochs)
        if not self._options.training:
            place["weight"] = tf.cast(positions < self._num_examples, tf.float32)
        if self._options.batch_map_fn is not None:
            place[_BATCH_SEED] = graph_order.seeds(positions, tf.fill([1], _OF_BATCHES), self._options.seed)
        if self._options.max_corrupt is not None:
            place["epoch"] = epochs
        return place

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
            made["seed"] = graph_order.seeds(key_hash, epochs, seed)
        if image is None:
            return made
        if image.training:
            drawn = graph_order.uniforms(key_hash, epochs, seed, crops.UNIFORMS + 1)
            made["window"] = crops.random_windows(drawn[:-1], height, width, scale=image.scale, ratio=image.ratio)
            if image.flip:
                made["flip"] = drawn[-1] < 0.5
        elif image.fit == "crop":
            made["window"] = crops.centre_windows(height, width, size=image.size, fraction=image.crop_fraction)
        else:
            made["window"] = crops.whole_windows(height, width)
        return made


class _Example:
    """The columns of one example to the element it becomes."""

    def __init__(
        self, table: RecordTable, options: ReadOptions, parser: Parser, places: _Places, fetch: Fetcher
    ) -> None:
        self._options, self._parser, self._places = options, parser, places
        self._moves = bool({MASK, OBJECT_LABELS} & set(table.features))
        self._has_class = table.features.get(LABEL) == CLASS_LABEL
        self._fetch = fetch
        # AutoGraph is for what users write: our own functions need none, and it takes nine tenths of tracing them.
        self._map_fn = None if options.map_fn is None else tf.function(options.map_fn)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def __call__(self, place: dict[str, Any]) -> Any:
        record, place = self._fetch(place, self._places.of)
        element = self._element(record, place)
        return {_BATCH_SEED: place[_BATCH_SEED], "element": element} if _BATCH_SEED in place else element

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
            element = map_fn(features, place["seed"])
        elif self._has_class:
            element = features["image"], place["label"]
        elif self._moves and image is not None:
            element = features["image"], targets(features, image.max_boxes)
        else:
            element = features["image"], self._parser.label(features)
        if "weight" not in place:
            return element
        if isinstance(element, dict):
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
        return self._batch_map_fn(batch["element"], batch[_BATCH_SEED][0])


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
