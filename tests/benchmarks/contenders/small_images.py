"""Pipelines over small images that all have one size: uint8[256, side, side, 3] with mirroring, or left encoded.

python small_images.py DATASET PIPELINE [--records FOLDER] [--tars FOLDER] [--busy] [--warm-up N] [--batches N]

DATASET's train split is read, by grain from array_record files of it, by WebDataset from tar files. CPU time is that of
all threads and worker processes.
"""

import argparse
import contextlib
import glob
import itertools
import json
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measuring import start_busy_thread

BATCH_SIZE = 256
SHUFFLE_BUFFER = 10_000
MEMORY_BUFFER = 50_000
WORKERS = 2
TICKS = os.sysconf("SC_CLK_TCK")


def tfdata(dataset: str, *, decoded: bool, cached: bool = False) -> Any:
    """tf.data tuned by hand: files in parallel and a shuffle buffer; or records in memory, in file order."""
    import tensorflow as tf

    spec = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    side = manifest_side(dataset)

    def image_and_label(record: Any) -> Any:
        parsed = tf.io.parse_single_example(record, spec)
        image = tf.io.decode_image(parsed["image"], 3, expand_animations=False)
        image = tf.image.random_flip_left_right(tf.ensure_shape(image, [side, side, 3]))
        return image, tf.cast(parsed["label"], tf.int32)

    files = tf.data.Dataset.from_tensor_slices(sorted(glob.glob(f"{dataset}/train-*.tfrecord")))
    if cached:
        records = files.interleave(tf.data.TFRecordDataset, cycle_length=1).cache().repeat()
    else:
        files = files.shuffle(1000).repeat()
        records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
        records = records.shuffle(SHUFFLE_BUFFER)
    if not decoded:
        batches = records.batch(BATCH_SIZE, drop_remainder=True)
        return batches.map(lambda one: tf.io.parse_example(one, spec), tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    images = records.map(image_and_label, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
    return images.batch(BATCH_SIZE, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def tfdata_memory(dataset: str, *, mirrored: bool) -> Any:
    """What tutorials of tf.data show: each image is decoded once, and drawn from all of them."""
    import tensorflow as tf

    spec = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    side = manifest_side(dataset)

    def image_and_label(record: Any) -> Any:
        parsed = tf.io.parse_single_example(record, spec)
        image = tf.io.decode_image(parsed["image"], 3, expand_animations=False)
        return tf.ensure_shape(image, [side, side, 3]), tf.cast(parsed["label"], tf.int32)

    records = tf.data.TFRecordDataset(sorted(glob.glob(f"{dataset}/train-*.tfrecord")))
    images = records.map(image_and_label, tf.data.AUTOTUNE).cache().shuffle(MEMORY_BUFFER).repeat()
    if mirrored:
        images = images.map(lambda image, label: (tf.image.random_flip_left_right(image), label), tf.data.AUTOTUNE)
    return images.batch(BATCH_SIZE, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def shardkit(dataset: str, *, decoded: bool, mirrored: bool = True, **options: Any) -> Any:
    """shardkit's reader, with a global shuffle."""
    from shardkit import reader

    side = manifest_side(dataset)
    images = reader.Images((side, side), dtype="uint8", flip=mirrored) if decoded else None
    return reader.make_dataset(dataset, "train", global_batch_size=BATCH_SIZE, images=images, **options)


def grain_batches(records: str, *, num_workers: int) -> Any:
    """Grain, with a global shuffle; images are decoded by OpenCV on threads, or in worker processes."""
    import cv2
    import grain
    from absl import flags
    from array_record_writer import LABEL

    flags.FLAGS(sys.argv[:1])  # Grain's worker processes read some
    cv2.setNumThreads(0)
    layout, size = LABEL.format, LABEL.size  # a Struct cannot be sent to other processes

    class Image(grain.transforms.RandomMap):
        def random_map(self, element: bytes, rng: np.random.Generator) -> Any:
            (label,) = struct.unpack_from(layout, element)
            image = cv2.imdecode(np.frombuffer(element[size:], np.uint8), cv2.IMREAD_COLOR_RGB)
            return (image[:, ::-1] if rng.random() < 0.5 else image), label

    source = grain.sources.ArrayRecordDataSource(sorted(glob.glob(f"{records}/*.array_record")))
    made = grain.MapDataset.source(source).seed(0).shuffle().repeat().random_map(Image())
    made = made.batch(BATCH_SIZE, drop_remainder=True)
    if not num_workers:
        return made.to_iter_dataset(grain.ReadOptions())
    options = grain.MultiprocessingOptions(num_workers=num_workers)
    return made.to_iter_dataset(grain.ReadOptions(num_threads=2)).mp_prefetch(options)


def webdataset_batches(tars: str) -> Any:
    """WebDataset in one process, with a shuffle buffer; images are decoded by OpenCV."""
    import cv2
    import webdataset

    rng = np.random.default_rng(0)

    def image(data: bytes) -> Any:
        found = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
        return found[:, ::-1] if rng.random() < 0.5 else found

    urls = sorted(glob.glob(f"{tars}/*.tar"))
    made = webdataset.WebDataset(urls, shardshuffle=len(urls), nodesplitter=None).repeat().shuffle(SHUFFLE_BUFFER)
    return made.to_tuple("jpg", "cls").map_tuple(image, int).batched(BATCH_SIZE, partial=False)


def manifest_side(dataset: str) -> int:
    """The side of all images of a dataset, pixels."""
    from shardkit.dataset.index.shards import read_columns
    from shardkit.dataset.manifest import read_manifest

    manifest = read_manifest(dataset)
    return int(read_columns(manifest.root, manifest.split("train").shards[0], ["height"])["height"][0].as_py())


def cpu_seconds() -> float:
    """CPU time of this process and of the processes below it, which are alive."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime + sum(map(_of_process, _below(os.getpid())))


def _below(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            yield int(child)
            yield from _below(int(child))


def _of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


PIPELINES = {
    "tfdata": lambda given: tfdata(given.dataset, decoded=True),
    "tfdata-memory": lambda given: tfdata_memory(given.dataset, mirrored=False),
    "tfdata-memory-mirrored": lambda given: tfdata_memory(given.dataset, mirrored=True),
    "shardkit-unmirrored": lambda given: shardkit(given.dataset, decoded=True, mirrored=False),
    "tfdata-encoded": lambda given: tfdata(given.dataset, decoded=False),
    "tfdata-encoded-memory": lambda given: tfdata(given.dataset, decoded=False, cached=True),
    "shardkit": lambda given: shardkit(given.dataset, decoded=True),
    "shardkit-files": lambda given: shardkit(given.dataset, decoded=True, cache=None),
    "shardkit-encoded": lambda given: shardkit(given.dataset, decoded=False),
    "shardkit-encoded-files": lambda given: shardkit(given.dataset, decoded=False, cache=None),
    "shardkit-encoded-block": lambda given: shardkit(given.dataset, decoded=False, cache=None, order="block"),
    "grain": lambda given: grain_batches(given.records, num_workers=0),
    "grain-workers": lambda given: grain_batches(given.records, num_workers=WORKERS),
    "webdataset": lambda given: webdataset_batches(given.tars),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("pipeline", choices=PIPELINES)
    parser.add_argument("--records")
    parser.add_argument("--tars")
    parser.add_argument("--busy", action="store_true", help="beside a thread that runs Python without a break")
    parser.add_argument("--warm-up", type=int, default=250)
    parser.add_argument("--batches", type=int, default=400)
    given = parser.parse_args()
    batches = iter(PIPELINES[given.pipeline](given))
    for _ in itertools.islice(batches, given.warm_up):
        pass
    if given.busy:
        start_busy_thread()
    start, cpu = time.perf_counter(), cpu_seconds()
    taken = BATCH_SIZE * sum(1 for _ in itertools.islice(batches, given.batches))
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    print(json.dumps({"per_second": taken / seconds, "cpu_us": cpu / taken * 1e6}))
    sys.stdout.flush()
    for worker in list(_below(os.getpid())):
        with contextlib.suppress(ProcessLookupError):  # it ends with its parent
            os.kill(worker, signal.SIGKILL)
    os._exit(0)  # pipelines that read ahead take their time to stop


if __name__ == "__main__":
    main()
