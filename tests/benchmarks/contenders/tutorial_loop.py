"""The loop of TensorFlow's TFRecord tutorial: one file, one process, one Example after the other.

python tutorial_loop.py SOURCE OUTPUT [--shapes]

With ``--shapes`` it decodes every image to learn its size, as the tutorial does word for word.
"""

import argparse
import os
from typing import Any

import tensorflow as tf


def bytes_feature(value: bytes) -> Any:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def int64_feature(value: int) -> Any:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("output")
    parser.add_argument("--shapes", action="store_true")
    given = parser.parse_args()
    os.makedirs(given.output)
    with tf.io.TFRecordWriter(f"{given.output}/images.tfrecords") as writer:
        for label, name in enumerate(sorted(os.listdir(given.source))):
            for file_name in sorted(os.listdir(f"{given.source}/{name}")):
                with open(f"{given.source}/{name}/{file_name}", "rb") as file:
                    image = file.read()
                features = {"label": int64_feature(label), "image_raw": bytes_feature(image)}
                if given.shapes:
                    height, width, depth = tf.io.decode_jpeg(image).shape
                    features["height"] = int64_feature(height)
                    features["width"] = int64_feature(width)
                    features["depth"] = int64_feature(depth)
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


if __name__ == "__main__":
    main()
