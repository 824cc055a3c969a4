"""shardkit's reader: full global shuffle, training crops.

python shardkit_reader.py DATASET [--raw] [--scaled-decoding] [--warm-up N] [--batches N]
"""

import argparse
from typing import Any

from measuring import BATCH_SIZE, measure

from shardkit import reader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--raw", action="store_true", help="stored features, images still encoded")
    parser.add_argument("--scaled-decoding", action="store_true", help="see make_dataset_fn")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    image: dict[str, Any] = {} if given.raw else {"image_size": (224, 224), "dtype": "uint8"}
    image |= {"scaled_decoding": True} if given.scaled_decoding else {}
    train_fn = reader.make_dataset_fn(given.dataset, "train", global_batch_size=BATCH_SIZE, **image)
    measure(iter(train_fn()), warm_up=given.warm_up, num_batches=given.batches)


if __name__ == "__main__":
    main()
