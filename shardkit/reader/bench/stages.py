"""The stages of the input function as datasets of their own, made of the reader's own parts."""

import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.bench.dataset_part import restricted
from shardkit.bench.stages import StageSpec
from shardkit.dataset.manifest import read_manifest
from shardkit.reader.api import make_dataset_fn
from shardkit.reader.arguments.images import Images
from shardkit.reader.arguments.values import CACHE_BYTES
from shardkit.reader.cache.shard_cache import ShardCache
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.fetching import Fetching, unbatched
from shardkit.reader.images.decoding import decode_window, finish, target_size
from shardkit.reader.pipeline import parallel_map
from shardkit.reader.python_calls import without_autograph

MAX_STEP = 1 << 40


def stage_dataset(spec: StageSpec) -> Any:
    """Return an endless dataset whose elements hold `spec.batch_size` images each."""
    dataset_fn = make_input_fn(spec)
    if spec.stage == "whole":
        dataset = dataset_fn()
    elif spec.stage == "read":
        dataset = _counted(_records(dataset_fn), lambda columns: tf.strings.length(columns["image"]), spec.batch_size)
    else:
        dataset = _counted(
            _records(dataset_fn).take(spec.memory_images).cache().repeat(),
            _pixels_of(dataset_fn, is_finished=spec.stage == "pixels"),
            spec.batch_size,
        )
    if spec.threads is None:
        return dataset
    options = tf.data.Options()
    options.threading.private_threadpool_size = spec.threads
    return dataset.with_options(options)


def copy_shards(spec: StageSpec) -> float:
    """Copy the shards to the cache; return the seconds it took, or how long another process was waited for."""
    assert spec.cache is not None, "there is a folder for copies"  # noqa: S101 - for type checkers
    start = time.perf_counter()
    manifest = read_manifest(spec.dataset)
    shards = restricted(manifest, spec.split, spec.num_shards).split(spec.split).shards
    ShardCache(spec.cache, CACHE_BYTES).fetch([manifest.root] * len(shards), shards)
    return time.perf_counter() - start


def make_input_fn(spec: StageSpec) -> DatasetFn:
    """Return the input function of a measurement; of the copies, with `cache`."""
    images = Images(
        spec.image_size,
        augment="imagenet",
        dtype=spec.dtype,  # type: ignore[arg-type] # checked by Images
        scaled_decoding=spec.scaled_decoding,
        resize_method="antialias" if spec.scaled_decoding else "bilinear",
    )
    return make_dataset_fn(
        restricted(read_manifest(spec.dataset), spec.split, spec.num_shards),
        spec.split,
        global_batch_size=spec.batch_size,
        images=images,
        order=spec.order,  # type: ignore[arg-type] # checked by make_dataset_fn
        cache=spec.cache,
    )


def _records(dataset_fn: DatasetFn) -> Any:
    """Return the records one by one, with the columns that decoding needs, in the order of training."""
    return unbatched(Fetching(dataset_fn.spec).chunks()(tf.constant(0, tf.int64)))


def _pixels_of(dataset_fn: DatasetFn, *, is_finished: bool) -> Callable[[dict[str, Any]], Any]:
    """Return a graph function that decodes an image, and finishes it or not; it returns one number."""
    image = dataset_fn.spec.image
    assert image is not None, "every measurement decodes to one size"  # noqa: S101 - see make_input_fn

    @without_autograph
    def decoded(columns: dict[str, Any]) -> Any:
        encoded, window = columns["image"], columns["window"]
        target = target_size(window, image) if image.scaled_decoding else None
        pixels = decode_window(encoded, window, columns.get("is_png"), image.channels, target)
        if not is_finished:
            return tf.shape(pixels)[0]
        shape = window[2:] if image.scaled_decoding else None
        finished = finish(pixels, columns.get("flip"), image, shape=shape)
        return tf.cast(finished[0, 0, 0], tf.int32)

    return decoded


def _counted(dataset: Any, function: Callable[[dict[str, Any]], Any], batch_size: int) -> Any:
    """Return batches of one number for each example: iterating costs Python next to nothing."""
    return parallel_map(dataset, function).batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
