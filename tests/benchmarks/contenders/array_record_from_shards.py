"""The images of a dataset's train split as array_record files: what grain reads.

python array_record_from_shards.py DATASET OUTPUT
"""

import argparse
import os

from array_record.python import array_record_module
from array_record_writer import LABEL

from shardkit.dataset.index import read_index
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.tfrecord import HEADER_BYTES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("output")
    given = parser.parse_args()
    os.makedirs(given.output)
    manifest = read_manifest(given.dataset)
    for shard in manifest.split("train").shards:
        index = read_index(manifest.root, shard.index.path, ["offset", "label", "image_start", "image_bytes"])
        writer = array_record_module.ArrayRecordWriter(
            f"{given.output}/{shard.path.removesuffix('.tfrecord')}.array_record", "group_size:1,uncompressed"
        )
        with manifest.root.open(shard.path) as file:
            for row in index.to_pylist():
                file.seek(row["offset"] + HEADER_BYTES + row["image_start"])
                writer.write(LABEL.pack(row["label"]) + file.read(row["image_bytes"]))
        writer.close()


if __name__ == "__main__":
    main()
