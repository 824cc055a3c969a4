"""From one input pipeline to its dataset of fetched columns: the only place where its graph calls Python."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.fetch.fetcher import Fetcher
from shardkit.fetch.places import KEY_HASH, Places
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import KEY, Sources
from shardkit.reader.images.decoding import decoding_error
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import callable_in_graph, without_autograph

STORE_CALLS = 4  # each has several requests in flight


class Fetching:
    """The calls of Python of one input pipeline's graph."""

    def __init__(self, spec: PipelineSpec) -> None:
        """Make the fetcher of the pipeline."""
        table, options, image = spec.table, spec.options, spec.image
        sources = Sources(table, spec.pixels)
        error = None if image is None else partial(decoding_error, image=image)
        recovery = RecordRecovery(table, spec.damaged, options.seed, sources, error)
        places = Places(table, spec.order, spec.layout, spec.wanted, spec.end_step)
        self._spec, self._fetcher = spec, Fetcher(table, places, spec.wanted, sources, recovery, spec.pixels)
        self._types = self._fetcher.types
        self._sources = sources
        # Copies are verified when made, and never replaced.
        self.compares_keys = spec.wanted.has_record and sources.have_keys and not table.has_copies

    def chunks(self) -> Callable[[Any], Any]:
        """Return a function from a step, int64[], to the dataset of chunks of examples from that step on."""
        spec, names = self._spec, list(self._types)
        types = [tf.string if dtype.kind == "O" else tf.as_dtype(dtype) for dtype, _ in self._types.values()]
        call = callable_in_graph(self._fetch, types)
        chunk, block, per_step = spec.chunk_size, spec.block_size, spec.layout.per_worker_batch_size
        # Of local files one call at a time: several would wait for the interpreter's lock. A store is slow to answer.
        parallel = {} if self._fetcher.are_local else {"num_parallel_calls": STORE_CALLS, "deterministic": True}

        @without_autograph
        def fetch(first: Any) -> dict[str, Any]:
            columns = dict(zip(names, call(first), strict=True))
            for name, (_, shape) in self._types.items():
                rows = [chunk] if chunk == block else [-1, chunk]
                columns[name] = tf.reshape(columns[name], [*rows, *shape])
            return columns

        def chunks(step: Any) -> Any:
            firsts = tf.data.Dataset.range(step * per_step, spec.end_step * per_step, block)
            blocks = firsts.map(fetch, **parallel)
            if chunk == block:
                return blocks if spec.is_ready else blocks.prefetch(1)
            return unbatched(blocks.prefetch(1))

        return chunks

    def _fetch(self, first: np.int64) -> list[npt.NDArray[Any]]:
        spec = self._spec
        columns = self._fetcher.fetch(int(first), spec.block_size, marks=spec.block_size > spec.chunk_size)
        return [columns[name] for name in self._types]

    def find_causes(self) -> Callable[[Any], Any]:
        """Return a graph function from a failed step, int64[], to the number of its images that do not decode."""
        find = callable_in_graph(self._find, [tf.int64])
        return lambda step: tf.reshape(find(step)[0], [])

    def _find(self, step: np.int64) -> np.int64:
        size = self._spec.layout.per_worker_batch_size
        found: np.int64 = np.int64(self._fetcher.find_causes(int(step) * size, size))
        return found

    def check_keys(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Return a graph function of a batch with the keys of its parsed records, which fails if one is another's."""
        call = callable_in_graph(self._check_keys, [tf.bool])

        def checked(batch: dict[str, Any]) -> Any:
            with tf.control_dependencies(call(batch.pop(KEY), batch.pop(KEY_HASH))):
                return tf.nest.map_structure(tf.identity, batch)

        return checked

    def _check_keys(self, keys: npt.NDArray[Any], hashes: npt.NDArray[np.int64]) -> np.bool_:
        self._sources.check_keys(keys.tolist(), hashes)
        return np.True_


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
