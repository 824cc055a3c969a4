"""The images of a dataset's train split as WebDataset's tar files, one a shard.

python webdataset_from_shards.py DATASET OUTPUT
"""

import webdataset
from shard_images import dataset_and_output, images_and_labels


def main() -> None:
    manifest, output = dataset_and_output(__doc__)
    for number, shard in enumerate(manifest.split("train").shards):
        with webdataset.TarWriter(f"{output}/train-{number:05d}.tar") as writer:
            for position, (image, label) in enumerate(images_and_labels(manifest, shard)):
                writer.write({"__key__": f"{number:05d}{position:08d}", "jpg": image, "cls": label})


if __name__ == "__main__":
    main()
