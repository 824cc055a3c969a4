"""The images of a dataset's train split as array_record files: what grain reads.

python array_record_from_shards.py DATASET OUTPUT
"""

from array_record.python import array_record_module
from array_record_writer import LABEL
from shard_images import dataset_and_output, images_and_labels


def main() -> None:
    manifest, output = dataset_and_output(__doc__)
    for shard in manifest.split("train").shards:
        path = f"{output}/{shard.path.removesuffix('.tfrecord')}.array_record"
        writer = array_record_module.ArrayRecordWriter(path, "group_size:1,uncompressed")
        for image, label in images_and_labels(manifest, shard):
            writer.write(LABEL.pack(label) + image)
        writer.close()


if __name__ == "__main__":
    main()
