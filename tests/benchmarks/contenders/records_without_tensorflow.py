"""Image and label of shuffled examples in one Python process without TensorFlow, encoded or decoded by Pillow.

python records_without_tensorflow.py READER PATH [--decode] [--threads N] [--warm-up N] [--batches N]

PATH is a shardkit dataset for `shardkit` and `shardkit-in-grain`, a folder of array_record files for `grain`, of tar
files for `webdataset`. shardkit and Grain shuffle globally, WebDataset shards and a buffer of 1,000 samples.
"""

import argparse
import glob
import io
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from measuring import BATCH_SIZE, measure

Element = tuple[Any, int]


def decoded(data: bytes) -> Any:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def from_shardkit(path: str, decode: bool, _: int) -> Iterator[Element]:
    import shardkit

    examples = shardkit.open(path, "train")
    for number in shardkit.sampler(path, "train", global_batch_size=BATCH_SIZE):
        example = examples[number]
        yield example.array() if decode else example["image"], example["label"]


def from_grain(path: str, decode: bool, threads: int) -> Iterator[Element]:
    import grain
    from array_record_writer import LABEL

    def element(record: bytes) -> Element:
        image = record[LABEL.size :]
        return decoded(image) if decode else image, LABEL.unpack_from(record)[0]

    source = grain.sources.ArrayRecordDataSource(sorted(glob.glob(f"{path}/*.array_record")))
    return iter(_iterated(grain.MapDataset.source(source).seed(0).shuffle().repeat().map(element), threads))


def from_shardkit_in_grain(path: str, decode: bool, threads: int) -> Iterator[Element]:
    import grain

    import shardkit

    examples = shardkit.open(path, "train")
    sampler = shardkit.sampler(path, "train", global_batch_size=BATCH_SIZE)

    def element(number: int) -> Element:
        example = examples[sampler[number]]
        return example.array() if decode else example["image"], example["label"]

    return iter(_iterated(grain.MapDataset.range(sys.maxsize).map(element), threads))


def _iterated(dataset: Any, threads: int) -> Any:
    import grain

    return dataset.to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=500 if threads else 0))


def from_webdataset(path: str, decode: bool, _: int) -> Iterator[Element]:
    import webdataset

    files = sorted(glob.glob(f"{path}/*.tar"))
    for sample in webdataset.WebDataset(files, shardshuffle=len(files), seed=0).repeat().shuffle(1000):
        yield decoded(sample["jpg"]) if decode else sample["jpg"], int(sample["cls"])


READERS = {
    "shardkit": from_shardkit,
    "grain": from_grain,
    "shardkit-in-grain": from_shardkit_in_grain,
    "webdataset": from_webdataset,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("path")
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--threads", type=int, default=0, help="Grain's; 0 reads in the main thread")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    elements = READERS[given.reader](given.path, given.decode, given.threads)
    batches = iter(lambda: [*itertools.islice(elements, BATCH_SIZE)], [])
    measure(batches, warm_up=given.warm_up, num_batches=given.batches)


if __name__ == "__main__":
    main()
