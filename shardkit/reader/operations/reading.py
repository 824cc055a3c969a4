"""Plan and read the next examples as operations, for graphs that other processes run: they cannot call Python.

The same numbers as those of `shardkit.fetch.places` and `shardkit.fetch.windows`, and the checks of
`shardkit.fetch.sources`: where the next examples are stored, their crops, flips and seeds, one record by its offset,
and a dataset that is converted again.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit import naming
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.stored_names import RECORD_DIGITS, names_in_records
from shardkit.fetch.places import BATCH_EPOCH, BATCH_SEED, KEY_HASH
from shardkit.fetch.sources import REMEDY, Sources
from shardkit.fetch.table.records import RecordTable
from shardkit.fetch.windows import ATTEMPTS, RATIO_BITS, UNIFORMS, WHOLE, aspects
from shardkit.reader.operations.orders import draw_in_graph, seeds, uniforms
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import column_lookup, without_autograph
from shardkit.storage import LocalFolder

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
            instructions[BATCH_SEED] = seeds(positions, epoch, self._options.seed)
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
            made["seed"] = seeds(key_hash, epochs, seed)
        if image is None:
            return made
        flips = image.training and image.flip
        if image.random_crop is not None or flips:
            drawn = uniforms(key_hash, epochs, seed, UNIFORMS + 1)
        if flips:
            made["flip"] = drawn[-1] < 0.5
        if image.random_crop is not None:
            made["window"] = random_windows(drawn[:-1], height, width, scale=image.random_crop, ratio=image.crop_ratio)
        elif image.eval_fit == "crop":
            made["window"] = centre_windows(height, width, size=image.size, fraction=image.eval_crop_fraction)
        else:
            made["window"] = whole_windows(height, width)
        return made


def random_windows(
    uniforms: Any, height: Any, width: Any, *, scale: tuple[float, float], ratio: tuple[float, float]
) -> Any:
    """See the definition."""
    if tuple(scale) == WHOLE:
        return whole_windows(height, width)
    height, width = tf.cast(height, tf.float32), tf.cast(width, tf.float32)
    # All attempts of all examples at once, float32[ATTEMPTS, n]: a graph with few nodes starts sooner.
    share, draw = uniforms[: 2 * ATTEMPTS : 2], uniforms[1 : 2 * ATTEMPTS : 2]
    aspect = tf.gather(aspects(tuple(ratio)), tf.cast(draw * np.float32(1 << RATIO_BITS), tf.int32))
    area = height * width * (np.float32(scale[0]) + np.float32(scale[1] - scale[0]) * share)
    tall, wide = tf.round(tf.sqrt(area / aspect)), tf.round(tf.sqrt(area * aspect))
    fits = (tall >= 1) & (tall <= height) & (wide >= 1) & (wide <= width)
    found = tf.reduce_any(fits, axis=0)
    first = tf.argmax(tf.cast(fits, tf.int8), axis=0, output_type=tf.int32)
    drawn = tf.stack([first, tf.range(tf.size(first))], axis=1)
    centre_height, centre_width = _centre(height, width, ratio)
    window_height = tf.where(found, tf.gather_nd(tall, drawn), centre_height)
    window_width = tf.where(found, tf.gather_nd(wide, drawn), centre_width)
    # A drawn window has a random position.
    room_down, room_right = height - window_height, width - window_width
    top = tf.floor(tf.where(found, uniforms[-2] * (room_down + 1), room_down / 2))
    left = tf.floor(tf.where(found, uniforms[-1] * (room_right + 1), room_right / 2))
    return tf.cast(tf.stack([top, left, window_height, window_width], axis=1), tf.int32)


def _centre(height: Any, width: Any, ratio: tuple[float, float]) -> tuple[Any, Any]:
    low, high = (np.float32(value) for value in ratio)
    aspect = width / height
    tall = tf.where(aspect < low, tf.maximum(tf.round(width / low), 1), height)
    wide = tf.where(aspect > high, tf.maximum(tf.round(height * high), 1), width)
    return tf.minimum(tall, height), tf.minimum(wide, width)


def centre_windows(height: Any, width: Any, *, size: tuple[int, int], fraction: float) -> Any:
    """See the definition."""
    height, width = tf.cast(height, tf.float32), tf.cast(width, tf.float32)
    unit = tf.minimum(height / np.float32(size[0]), width / np.float32(size[1])) * np.float32(fraction)
    tall = tf.clip_by_value(tf.round(unit * np.float32(size[0])), 1, height)
    wide = tf.clip_by_value(tf.round(unit * np.float32(size[1])), 1, width)
    top, left = tf.floor((height - tall) / 2), tf.floor((width - wide) / 2)
    return tf.cast(tf.stack([top, left, tall, wide], axis=1), tf.int32)


def whole_windows(height: Any, width: Any) -> Any:
    """See the definition."""
    zero = tf.zeros_like(height)
    return tf.stack([zero, zero, height, width], axis=1)


_TWO_STRINGS: dict[str, Any] = {"output_types": [tf.string] * 2, "output_shapes": [[]] * 2}


@without_autograph
def read_record(instruction: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of an example that are needed after reading, and its record; fails if that is damaged.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord, and checks the CRCs.
    One is made for every record, inside a parallel map, which takes about 100 microseconds. TensorFlow's own error
    names neither file nor record, so a damaged record is an empty string at first.
    """
    path, offset = instruction["path"], instruction["offset"]
    records = tf.raw_ops.TFRecordDatasetV2(
        filenames=path[tf.newaxis], compression_type="", buffer_size=0, byte_offsets=offset[tf.newaxis]
    )
    # Zipped with a single element, so that it ends: a TFRecordDataset that cannot open its file fails again each
    # time it is asked for an element, and IgnoreErrors does not stop asking.
    once = tf.raw_ops.ZipDataset(input_datasets=[_empty_strings(1), records], **_TWO_STRINGS)
    readable = tf.raw_ops.IgnoreErrorsDataset(input_dataset=once, log_warning=False, **_TWO_STRINGS)
    either = tf.raw_ops.ConcatenateDataset(input_dataset=readable, another_dataset=_empty_strings(2), **_TWO_STRINGS)
    first = tf.raw_ops.TakeDataset(input_dataset=either, count=1, **_TWO_STRINGS)
    _, record = tf.raw_ops.DatasetToSingleElement(dataset=first, **_TWO_STRINGS)
    where = tf.strings.join([path, ": the record at byte ", tf.strings.as_string(offset)])
    msg = where + " is damaged; run `shardkit verify` on the dataset, which prints the remedy"
    with tf.control_dependencies([tf.debugging.Assert(tf.strings.length(record) > 0, [msg])]):
        record = tf.identity(record)
    return {name: one for name, one in instruction.items() if name not in LOCATION_COLUMNS} | {"record": record}


def _empty_strings(count: int) -> Any:
    """Return a dataset of one element of that many empty strings."""
    return tf.raw_ops.TensorDataset(components=[""] * count, output_shapes=[[]] * count)


_MAX_HASH = (1 << 63) - 1


def manifest_check(table: RecordTable) -> Callable[[Any], Any]:
    """Return a graph function that passes a batch on, and fails if a manifest was changed before it was read.

    It looks for the manifests of local folders where the graph runs, which takes about 0.2 ms. An append changes no
    shard, and keeps the manifest from before it: that one will do.
    """
    local = [root for root in Sources(table).roots if isinstance(root, LocalFolder)]
    paths = [f"{root.url}/{naming.MANIFEST}" for root in local]
    # ParameterServerStrategy calls the input function while it traces a graph: the hashes are values even then.
    with tf.init_scope(), tf.device("CPU:0"):
        expected = [int(_hash(tf.constant(path))) for path in paths]
    kept = [f"{root.url}/{naming.earlier_manifest(read_manifest(root.url).digest)}" for root in local]

    def checked(batch: Any) -> Any:
        nothing, assertions = _empty_text(batch), list[Any]()
        for path, number, before in zip(paths, expected, kept, strict=True):
            msg = (
                f"{path}: the manifest was removed or replaced while the dataset was read: it was removed, or is "
                f"converted again; {REMEDY}"
            )
            same = tf.equal(_hash_or_zero(tf.strings.join([path, nothing])), number)
            is_kept = tf.cond(
                same,
                lambda: True,
                lambda before=before: tf.size(tf.io.matching_files(tf.strings.join([_glob(before), nothing]))) > 0,
            )
            assertions.append(tf.debugging.Assert(is_kept, [msg]))
        with tf.control_dependencies(assertions):
            return tf.nest.map_structure(tf.identity, batch)

    return checked


def _empty_text(batch: Any) -> Any:
    """Return an empty string[] that TensorFlow cannot compute before it has the batch."""
    values = tf.reshape(tf.nest.flatten(batch, expand_composites=True)[0], [-1])[:1]
    text = values if values.dtype == tf.string else tf.strings.as_string(values)
    return tf.strings.reduce_join(tf.strings.substr(text, 0, 0))


def _hash(path: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.io.read_file(path), _MAX_HASH) + 1


def _hash_or_zero(path: Any) -> Any:
    """Return the hash of a file; 0 if it cannot be read."""
    found = tf.data.Dataset.from_tensors(path).map(_hash).ignore_errors(log_warning=False)
    return found.concatenate(tf.data.Dataset.from_tensors(tf.constant(0, tf.int64))).take(1).get_single_element()


def _glob(path: str) -> str:
    """Return the pattern that only a path matches: the only op that finds out whether a file exists takes a pattern."""
    return re.sub(r"([*?\[\\])", r"\\\1", path)
