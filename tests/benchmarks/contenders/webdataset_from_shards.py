"""The images of a dataset's train split as WebDataset's tar files, as many as it has shards.

python webdataset_from_shards.py DATASET OUTPUT
"""

import argparse
import os

import webdataset

import shardkit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("output")
    given = parser.parse_args()
    os.makedirs(given.output)
    examples = shardkit.open(given.dataset, "train")
    num_files = len(examples.manifest.split("train").shards)
    most = -(-len(examples) // num_files)
    with webdataset.ShardWriter(f"{given.output}/train-%05d.tar", maxcount=most, maxsize=1 << 40, verbose=0) as writer:
        for number, example in enumerate(examples):
            writer.write({"__key__": f"{number:08d}", "jpg": example["image"], "cls": example["label"]})


if __name__ == "__main__":
    main()
