"""From one input pipeline to its dataset of fetched columns: the only place where its graph calls Python."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.fetch.fetcher import Fetcher
from shardkit.fetch.places import KEY_HASH, Places
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import KEY, Sources
from shardkit.reader.images.decoding import decoding_error
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import callable_in_graph, without_autograph

STORE_CALLS = 4  # each has several requests in flight


def make_fetcher(spec: PipelineSpec) -> Fetcher:
    """Return the fetcher of one input pipeline."""
    table, image, wanted = spec.table, spec.image, spec.wanted
    sources = Sources(table, spec.pixels)
    error = None if image is None else partial(decoding_error, image=image)
    recovery = RecordRecovery(table, spec.damaged, spec.options.seed, sources, error)
    places = Places(table, spec.order, spec.layout, wanted, spec.end_step)
    return Fetcher(table, places, wanted, sources, recovery, spec.pixels)


def fetched_chunks(spec: PipelineSpec, fetcher: Fetcher) -> Callable[..., Any]:
    """Return a function from a step, int64[], to the dataset of chunks of examples from that step on.

    With a number of steps, int64[], a chunk has the examples of all of them.
    """
    chunk, block, per_step = spec.chunk_size, spec.block_size, spec.layout.per_worker_batch_size
    columns_of = fetcher.types
    names = list(columns_of)

    def fetched(fetcher: Fetcher, first: np.int64, count: np.int64) -> list[Any]:
        columns = fetcher.fetch(int(first), int(count), marks=block > chunk)
        return [columns[name] for name in names]

    types = [tf.string if dtype.kind == "O" else tf.as_dtype(dtype) for dtype, _ in columns_of.values()]
    call = callable_in_graph(fetcher, fetched, types)
    # Of local files one call at a time: several would wait for the interpreter's lock. A store is slow to answer.
    parallel = {} if fetcher.are_local else {"num_parallel_calls": STORE_CALLS, "deterministic": True}

    def chunks(step: Any, num_steps: Any = None) -> Any:
        count = tf.constant(block, tf.int64) if num_steps is None else num_steps * per_step
        rows = [-1] if num_steps is not None else [chunk] if chunk == block else [-1, chunk]

        @without_autograph
        def fetch(first: Any) -> dict[str, Any]:
            columns = zip(columns_of.items(), call(first, count), strict=True)
            return {name: tf.reshape(column, [*rows, *shape]) for (name, (_, shape)), column in columns}

        blocks = tf.data.Dataset.range(step * per_step, spec.end_step * per_step, count).map(fetch, **parallel)
        if chunk == block:
            return blocks if spec.is_ready else blocks.prefetch(1)
        return unbatched(blocks.prefetch(1))

    return chunks


def find_causes(spec: PipelineSpec, fetcher: Fetcher) -> Callable[[Any], Any]:
    """Return a graph function from a failed step, int64[], to the number of its images that do not decode."""
    size = spec.layout.per_worker_batch_size

    def find(fetcher: Fetcher, step: np.int64) -> Any:
        return np.int64(fetcher.find_causes(int(step) * size, size))

    call = callable_in_graph(fetcher, find, [tf.int64])
    return lambda step: tf.reshape(call(step)[0], [])


def check_keys(fetcher: Fetcher) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a graph function of a batch with the keys of its parsed records, which fails if one is another's."""

    def check(fetcher: Fetcher, keys: Any, hashes: Any) -> np.bool_:
        fetcher.sources.check_keys(keys.tolist(), hashes)
        return np.True_

    call = callable_in_graph(fetcher, check, [tf.bool])

    def checked(batch: dict[str, Any]) -> Any:
        with tf.control_dependencies(call(batch.pop(KEY), batch.pop(KEY_HASH))):
            return tf.nest.map_structure(tf.identity, batch)

    return checked


def unbatched(dataset: Any) -> Any:
    """Return the rows of a dataset's elements one by one, as `dataset.unbatch()` does.

    `unbatch` adds a map that converts sparse and ragged tensors, also where there are none. Each function of a pipeline
    takes 10 to 20 ms before the first batch.
    """
    spec = tf.nest.map_structure(lambda one: tf.TensorSpec(one.shape[1:], one.dtype), dataset.element_spec)
    flat = tf.nest.flatten(spec)
    variant = tf.raw_ops.UnbatchDataset(
        input_dataset=tf.data.experimental.to_variant(dataset),
        output_types=[one.dtype for one in flat],
        output_shapes=[one.shape for one in flat],
    )
    rows = tf.data.experimental.from_variant(variant, spec)
    rows.kept = dataset  # TensorFlow removes functions that no Python object refers to
    return rows
