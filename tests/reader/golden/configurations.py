"""The configurations of the golden batches: what a trainer asks for, and the small datasets that it reads."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shardkit import reader
from shardkit.fetch.places import Places
from shardkit.order import BatchLayout

GOLDEN = Path(__file__).parent
DATASETS = GOLDEN / "datasets"
SIZE = (8, 8)
BATCH = 8
STEPS = 30
PLANNED = ("key", "epoch", "label", "weight", "window", "flip", "seed")


def with_seed(features, seed):
    return {name: features[name] for name in ("image", "key", "label")} | {"seed": seed}


class Configuration(NamedTuple):
    """What is read: arguments of `make_dataset_fn`, the number of workers, and of replicas of each."""

    dataset: str | list
    options: dict
    split: str = "train"
    workers: int = 1
    replicas: int = 1


BLOCKS = reader.BlockOrder(block_records=4, window_blocks=2, lanes=4)
CROPS = reader.Images(SIZE, augment="imagenet", dtype="uint8")
FLIPS = reader.Images(SIZE, flip=True)
CONFIGURATIONS = {
    "full": Configuration("folders", {"images": CROPS, "seed": 3}),
    "block": Configuration("folders", {"images": CROPS, "order": BLOCKS}),
    "sampling": Configuration(
        "folders", {"image_size": SIZE, "sampling": "class_balanced", "sample_weight": "balanced", "one_hot": True}
    ),
    "mixture": Configuration([("folders", 2), ("more", 1)], {"images": CROPS, "map_fn": with_seed}),
    "fold": Configuration("folders", {"images": FLIPS, "fold": (1, 3)}),
    "selection": Configuration("folders", {"images": FLIPS, "where": "label_name in ('ant', 'bee')", "take": 21}),
    "padded": Configuration("folders", {"images": CROPS, "training": False, "start_step": 2}),
    "short": Configuration("folders", {"images": FLIPS, "training": False, "last_batch": "short"}, replicas=2),
    "boxes": Configuration("boxes", {"images": reader.Images(SIZE, crop_scale=(0.3, 1.0), flip=True)}),
    "masks": Configuration("masks", {"images": reader.Images(SIZE, crop_scale=(0.3, 1.0), flip=True)}),
    "workers": Configuration("folders", {"images": CROPS, "seed": (1 << 63) - 1}, workers=2, replicas=2),
    "encoded": Configuration("folders", {"start_step": 1_000_003, "sample_weight": {"ant": 2.0}}),
    "whole": Configuration(
        "small", {"images": reader.Images(SIZE, flip=True, mean=127.5, std=127.5), "start_step": 12_345}
    ),
    "damaged": Configuration("damaged", {"images": CROPS, "on_corrupt": "skip", "sample_weight": "balanced"}),
    "damaged_pass": Configuration("damaged", {"training": False, "on_corrupt": "skip"}, workers=2),
}


def dataset_fn(configuration):
    """The input function of a configuration."""
    given = configuration.dataset
    if isinstance(given, list):
        dataset = [(str(DATASETS / name), weight) for name, weight in given]
    else:
        dataset = str(DATASETS / given)
    return reader.make_dataset_fn(dataset, configuration.split, global_batch_size=BATCH, **configuration.options)


def batches_of(made, configuration):
    """Yield the elements of all workers and replicas of each of the first steps, as NumPy arrays."""
    workers, replicas = configuration.workers, configuration.replicas
    contexts = [tf.distribute.InputContext(workers, worker, workers * replicas) for worker in range(workers)]
    iterators = [made(context).as_numpy_iterator() for context in contexts]
    for _ in range(STEPS):
        elements = [next(iterator, None) for iterator in iterators for _ in range(replicas)]
        if elements[0] is None:
            return
        yield elements


def flat(element):
    """The parts of an element by name, ragged ones as their values and lengths."""
    if isinstance(element, dict):
        return {f"{name}.{part}": value for name, one in element.items() for part, value in flat(one).items()}
    if isinstance(element, tuple):
        return {f"{at}.{part}": value for at, one in enumerate(element) for part, value in flat(one).items()}
    if isinstance(element, tf.compat.v1.ragged.RaggedTensorValue):
        return {"values": np.asarray(element.flat_values), "splits": np.asarray(element.row_splits)}
    return {"": np.asarray(element)}


def plans_of(made, configuration):
    """What is planned for the places of each worker: the keys of the examples, their windows, flips and seeds."""
    workers, replicas = configuration.workers, configuration.replicas
    for worker in range(workers):
        layout = BatchLayout(BATCH, workers, worker, replicas)
        spec = replace(made.spec, layout=layout, start_step=int(made.start_step))
        places = Places(spec.table, spec.order, layout, spec.wanted, spec.end_step)
        size = layout.per_worker_batch_size
        first, count = spec.start_step * size, min(STEPS, spec.end_step - spec.start_step) * size
        columns = places.columns(first, count)
        columns["key"] = spec.table.keys(columns["id"])
        yield {name: np.asarray(columns[name]) for name in PLANNED if name in columns}
