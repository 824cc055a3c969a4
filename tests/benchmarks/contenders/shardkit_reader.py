"""shardkit's reader: full global shuffle, training crops.

python shardkit_reader.py DATASET [--raw] [--features NAMES] [--scaled-decoding] [--busy] [--warm-up N] [--batches N]
"""

import argparse

from measuring import BATCH_SIZE, measure

from shardkit import reader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--raw", action="store_true", help="stored features, images still encoded")
    parser.add_argument(
        "--features", type=lambda names: names.split(","), help="of encoded images, such as image,label"
    )
    parser.add_argument("--scaled-decoding", action="store_true", help="see reader.Images")
    parser.add_argument("--busy", action="store_true", help="beside a thread that runs Python without a break")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    images = reader.Images((224, 224), augment="imagenet", dtype="uint8", scaled_decoding=given.scaled_decoding)
    images = None if given.raw else images
    options = {"images": images, "features": given.features}
    train_fn = reader.make_dataset_fn(given.dataset, "train", global_batch_size=BATCH_SIZE, **options)
    measure(iter(train_fn()), warm_up=given.warm_up, num_batches=given.batches, is_busy=given.busy)


if __name__ == "__main__":
    main()
