"""TensorFlow Datasets over the same shards, decoding skipped and done with the crop as its guide to performance says.

python tfds_reader.py DATASET [--warm-up N] [--batches N]
"""

import argparse
from typing import Any

import tensorflow as tf
import tensorflow_datasets as tfds
from measuring import BATCH_SIZE, measure
from tfdata_reader import SHUFFLE_BUFFER, tensorflows_window


def training_image(features: dict[str, Any]) -> Any:
    window = tensorflows_window(features["image"])
    image = tf.image.decode_and_crop_jpeg(features["image"], window, channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, [224, 224]))
    return tf.cast(image, tf.uint8), tf.cast(features["label"], tf.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    dataset = (
        tfds.builder_from_directory(given.dataset)
        .as_dataset(split="train", shuffle_files=True, decoders={"image": tfds.decode.SkipDecoding()})
        .repeat()
        .shuffle(SHUFFLE_BUFFER)
        .map(training_image, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH_SIZE, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    measure(iter(dataset), warm_up=given.warm_up, num_batches=given.batches)


if __name__ == "__main__":
    main()
