"""The images of a dataset's train split, shard by shard, for scripts that write them in another format."""

import argparse
import os
from collections.abc import Iterator

from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import Manifest, Shard, read_manifest
from shardkit.dataset.tfrecord import HEADER_BYTES


def dataset_and_output(description: str | None) -> tuple[Manifest, str]:
    """Return what the command line names: a dataset, and a folder, which is made."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("output")
    given = parser.parse_args()
    os.makedirs(given.output)
    return read_manifest(given.dataset), given.output


def images_and_labels(manifest: Manifest, shard: Shard) -> Iterator[tuple[bytes, int]]:
    """Yield the encoded image and the label of each example of a shard."""
    index = read_columns(manifest.root, shard, ["offset", "label", "image_start", "image_bytes"])
    with manifest.root.open(shard.path) as file:
        for row in index.to_pylist():
            file.seek(row["offset"] + HEADER_BYTES + row["image_start"])
            yield file.read(row["image_bytes"]), row["label"]
