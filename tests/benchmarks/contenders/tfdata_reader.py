"""A tf.data pipeline tuned by hand over the same shards, shuffled through a buffer.

python tfdata_reader.py DATASET [--raw | --raw-parsed | --same-crops] [--warm-up N] [--batches N]

Its random crops are TensorFlow's own (`sample_distorted_bounding_box`), as in the official ResNet and ImageNet
pipelines. Their areas are not distributed as those of `RandomResizedCrop` are, and larger crops cost more to decode:
with ``--same-crops`` this pipeline draws windows by shardkit's law instead, so that both decode alike.
"""

import argparse
import glob
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from measuring import BATCH_SIZE, measure

AUTOTUNE = tf.data.AUTOTUNE
SHUFFLE_BUFFER = 10_000
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "key": tf.io.FixedLenFeature([], tf.string),
    "height": tf.io.FixedLenFeature([], tf.int64),
    "width": tf.io.FixedLenFeature([], tf.int64),
}
NEEDED = {name: FEATURES[name] for name in ("image", "label")}


def tensorflows_window(image: Any) -> Any:
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(image),
        tf.zeros([1, 0, 4]),
        min_object_covered=0.1,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(0.75, 1.33),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.concat([begin[:2], size[:2]], 0)


def shardkits_window(image: Any) -> Any:
    from shardkit.fetch.windows import UNIFORMS, random_windows
    from shardkit.reader.operations.arrays import GraphArray

    shape = GraphArray(tf.io.extract_jpeg_shape(image))
    uniforms = GraphArray(tf.random.uniform([UNIFORMS, 1]))
    windows = random_windows(uniforms, shape[:1], shape[1:2], scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3))
    return windows.tensor[0]


def training_image(window: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(record: Any) -> Any:
        features = tf.io.parse_single_example(record, NEEDED)
        image = tf.image.decode_and_crop_jpeg(features["image"], window(features["image"]), channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(image, [224, 224]))
        return tf.cast(image, tf.uint8), tf.cast(features["label"], tf.int32)

    return make


def training(files: list[str], window: Callable[[Any], Any]) -> Any:
    return (
        tf.data.Dataset.from_tensor_slices(files)
        .shuffle(len(files))
        .repeat()
        .interleave(tf.data.TFRecordDataset, num_parallel_calls=AUTOTUNE, deterministic=False)
        .shuffle(SHUFFLE_BUFFER)
        .map(training_image(window), num_parallel_calls=AUTOTUNE, deterministic=False)
        .batch(BATCH_SIZE, drop_remainder=True)
        .prefetch(AUTOTUNE)
    )


def sequential(files: list[str], *, parsed: bool) -> Any:
    dataset = tf.data.TFRecordDataset(files).repeat().batch(BATCH_SIZE, drop_remainder=True)
    if parsed:
        dataset = dataset.map(lambda records: tf.io.parse_example(records, FEATURES), num_parallel_calls=AUTOTUNE)
    return dataset.prefetch(AUTOTUNE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--raw", action="store_true", help="records one after the other, as they are")
    parser.add_argument("--raw-parsed", action="store_true", help="the same, parsed into features")
    parser.add_argument("--same-crops", action="store_true")
    parser.add_argument("--busy", action="store_true", help="beside a thread that runs Python without a break")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    files = sorted(glob.glob(f"{given.dataset}/train-*.tfrecord"))
    if given.raw or given.raw_parsed:
        dataset = sequential(files, parsed=given.raw_parsed)
    else:
        dataset = training(files, shardkits_window if given.same_crops else tensorflows_window)
    measure(iter(dataset), warm_up=given.warm_up, num_batches=given.batches, is_busy=given.busy)


if __name__ == "__main__":
    main()
