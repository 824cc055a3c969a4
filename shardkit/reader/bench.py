"""The processes that `shardkit bench` starts: each runs a stage for as long as it is told, and reports what it took.

One process imports TensorFlow, which takes seconds and half a gigabyte, and forks a process for each measurement before
TensorFlow has started any thread. A forked process writes {"pid": …} to its socket and waits. Then both sides write one
line of JSON at a time: {"start": true} is answered by {"ready": true, …} when the stage is warm, and {"seconds": 0.5,
"max_images": null} by {"images": 640, "seconds": 0.51, "cpu_seconds": 0.97}. A failure is {"error": …, "exit_code": 1}.
`shardkit.bench.workers` is the other side. The stages are made of the reader's own parts.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import tensorflow as tf

from shardkit import errors
from shardkit.bench.dataset_part import restricted
from shardkit.bench.stages import StageSpec
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import MachineError, ShardkitError
from shardkit.reader.api import make_dataset_fn
from shardkit.reader.arguments.images import Images
from shardkit.reader.arguments.values import CACHE_BYTES
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.fetching import fetched_chunks, make_fetcher, unbatched
from shardkit.reader.images.decoding import decode, finish
from shardkit.reader.pipeline import parallel_map
from shardkit.reader.python_calls import without_autograph
from shardkit.reader.shard_cache import ShardCache

PR_SET_PDEATHSIG = 1  # linux/prctl.h
MIN_WARM_BATCHES = 2


def main() -> None:
    """Fork a process for each measurement of the last argument, JSON of pairs of a socket and a `StageSpec`.

    The argument before it is the number of the parent process.
    """
    _end_with_parent(int(sys.argv[-2]))
    given = [(int(descriptor), StageSpec.of(fields)) for descriptor, fields in json.loads(sys.argv[-1])]
    own = os.getpid()
    for descriptor, spec in given:
        if not os.fork():
            # Only one process has this end of a socket: the other side sees its end.
            for other, _ in given:
                if other != descriptor:
                    with contextlib.suppress(OSError):  # closed by an earlier fork's parent
                        os.close(other)
            _end_with_parent(own)
            _measure(descriptor, spec)
        os.close(descriptor)
    while True:  # until the parent ends it: its end would end the forked processes
        signal.pause()


def _measure(descriptor: int, spec: StageSpec) -> None:
    """Serve one measurement, then end the process."""
    connection = socket.socket(fileno=descriptor)
    requests, answers = connection.makefile("r", encoding="utf-8"), connection.makefile("w", encoding="utf-8")
    try:
        _serve(spec, requests, answers)
    except Exception as error:  # noqa: BLE001 - passed on to the parent, which raises it
        _answer(answers, _failure(error))
    finally:
        # Pipelines that read ahead take their time to stop.
        os._exit(0)


def _serve(spec: StageSpec, requests: TextIO, answers: TextIO) -> None:
    _answer(answers, {"pid": os.getpid()})
    if not requests.readline():  # the benchmark ended before this measurement
        return
    seconds_copied = None
    if spec.cache is not None:  # or the seconds that another process was waited for
        start, manifest = time.perf_counter(), read_manifest(spec.dataset)
        shards = restricted(manifest, spec.split, spec.num_shards).split(spec.split).shards
        ShardCache(spec.cache, CACHE_BYTES).fetch([manifest.root] * len(shards), shards)
        seconds_copied = time.perf_counter() - start
    batches = iter(stage_dataset(spec))
    # The images in memory are read by the first pass over them.
    first_pass = 0 if spec.stage in {"read", "whole"} else spec.memory_images
    min_images = max(MIN_WARM_BATCHES * spec.batch_size, first_pass)
    _run(batches, spec, min_seconds=spec.warm_seconds, min_images=min_images)
    _answer(answers, {"ready": True, "seconds_copied": seconds_copied})
    used = _cpu_seconds()
    for line in requests:
        request = json.loads(line)
        images, seconds = _run(batches, spec, min_seconds=request["seconds"], max_images=request["max_images"])
        now = _cpu_seconds()
        _answer(answers, {"images": images, "seconds": seconds, "cpu_seconds": now - used})
        used = now


def _run(
    batches: Iterator[Any],
    spec: StageSpec,
    *,
    min_seconds: float,
    min_images: int = 1,
    max_images: int | None = None,
) -> tuple[int, float]:
    """Take batches for some time, at least one; return the number of images and the seconds it took."""
    images, start = 0, time.perf_counter()
    while True:
        next(batches)
        images += spec.batch_size
        seconds = time.perf_counter() - start
        is_enough = seconds >= min_seconds and images >= min_images
        if is_enough or (max_images is not None and images + spec.batch_size > max_images):
            return images, seconds


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, ShardkitError):
        return {"error": str(error), "exit_code": error.exit_code}
    # An error that was raised inside a graph comes as text in TensorFlow's own.
    found = re.search(r"\b(\w+Error): (.+)", str(error))
    kind = getattr(errors, found[1], None) if found else None
    if found and isinstance(kind, type) and issubclass(kind, ShardkitError):
        return {"error": found[2].strip(), "exit_code": kind.exit_code}
    return {"error": f"{type(error).__name__}: {error}", "exit_code": MachineError.exit_code}


def _answer(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _end_with_parent(parent: int) -> None:
    """Make the kernel end this process when its parent ends, which may have stopped it for the moment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent ends its workers
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(1)


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
    spec = dataset_fn.spec
    return unbatched(fetched_chunks(spec, make_fetcher(spec))(tf.constant(0, tf.int64)))


def _pixels_of(dataset_fn: DatasetFn, *, is_finished: bool) -> Callable[[dict[str, Any]], Any]:
    """Return a graph function that decodes an image, and finishes it or not; it returns one number."""
    image = dataset_fn.spec.image
    assert image is not None, "every measurement decodes to one size"  # noqa: S101 - see make_input_fn

    @without_autograph
    def decoded(columns: dict[str, Any]) -> Any:
        window = columns["window"]
        pixels = decode(columns["image"], window, columns.get("is_png"), image)
        if not is_finished:
            return tf.shape(pixels)[0]
        finished = finish(pixels, columns.get("flip"), image, window)
        return tf.cast(finished[0, 0, 0], tf.int32)

    return decoded


def _counted(dataset: Any, function: Callable[[dict[str, Any]], Any], batch_size: int) -> Any:
    """Return batches of one number for each example: iterating costs Python next to nothing."""
    return parallel_map(dataset, function).batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
