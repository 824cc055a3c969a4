"""A small network that tells class folders of photographs apart, trained with or without scaled decoding.

python scaled_training.py DATASET --seed N [--scaled-decoding] [--method bilinear|antialias] [--epochs N]

As JSON: its accuracy on random crops of the validation split, decoded exactly and scaled.
"""

import argparse
import itertools
import json

import keras

from shardkit import reader
from shardkit.dataset.manifest import read_manifest

SIZE, BATCH_SIZE, PASSES = (64, 64), 64, 8
VALIDATION_SEED = 1  # the same crops for every network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--scaled-decoding", action="store_true")
    parser.add_argument("--method", default="bilinear")
    parser.add_argument("--epochs", type=int, default=15)
    given = parser.parse_args()
    keras.utils.set_random_seed(given.seed)

    def input_fn(split: str, seed: int, *, scaled_decoding: bool) -> reader.DatasetFn:
        images = reader.Images(
            SIZE,
            augment="imagenet",
            mean=(127.5,) * 3,
            std=(127.5,) * 3,
            resize_method=given.method,
            scaled_decoding=scaled_decoding,
        )
        return reader.make_dataset_fn(given.dataset, split, global_batch_size=BATCH_SIZE, seed=seed, images=images)

    train_fn = input_fn("train", given.seed, scaled_decoding=given.scaled_decoding)
    num_classes = len(read_manifest(given.dataset).classes)
    steps = given.epochs * train_fn.steps_per_epoch
    model = network(num_classes, steps)
    model.fit(train_fn(), steps_per_epoch=steps, shuffle=False, verbose=0)
    found = {}
    for name, scaled in (("exact", False), ("scaled", True)):
        # Random crops, in which the scales are those of training, of pictures that training did not see.
        crops_fn = input_fn("validation", VALIDATION_SEED, scaled_decoding=scaled)
        batches = itertools.islice(crops_fn(), PASSES * crops_fn.steps_per_epoch)
        right = [keras.ops.equal(keras.ops.argmax(model(images), -1), labels) for images, labels in batches]
        found[name] = float(keras.ops.mean(keras.ops.cast(keras.ops.concatenate(right), "float32")))
    print(json.dumps(found))


def network(num_classes: int, steps: int) -> keras.Model:
    layers: list[keras.Layer] = [keras.Input([*SIZE, 3])]
    for width in (24, 48, 96, 192):
        layers += [keras.layers.Conv2D(width, 3, 2, "same", use_bias=False)]
        # Keras's momentum of 0.99 would still hold a tenth of where it started after so few steps.
        layers += [keras.layers.BatchNormalization(momentum=0.9), keras.layers.ReLU()]
    layers += [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(num_classes)]
    model = keras.Sequential(layers)
    rate = keras.optimizers.schedules.CosineDecay(4e-3, steps)
    model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


if __name__ == "__main__":
    main()
