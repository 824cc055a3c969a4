"""Train with Keras' fit on all GPUs of this machine, or on its CPU, and validate after each epoch.

    python train.py
    python train.py --epochs 50 --batch-size 128 --weights none
    python train.py --help

Interrupted, the same command continues after the last whole epoch, with the batches that would have followed. The
trained model is `checkpoints/model.keras`: `keras.models.load_model("checkpoints/model.keras", compile=False)`. The
program needs `pip install 'shardkit[tensorflow]'`. `shardkit script` printed it; it is yours to change.
"""

import argparse
import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported, which would print notes

import keras
import tensorflow as tf

import shardkit
from shardkit import reader
from shardkit.errors import ShardkitError

# Values of the dataset.
DATASET = "OUT"
TRAIN = "train"
VALIDATION = "validation"
FOLD: tuple[int, int] | None = None  # (0, 10): validate on a tenth of the split, and train on the rest
WHERE: str | None = None  # a condition on the examples, such as "label >= 0": those with a label
LABELS = "class"  # of an image: a "class", several "classes", or "numbers"
MEANS: tuple[float, ...] = ()  # of numbers
DEVIATIONS: tuple[float, ...] = ()
IMAGE_SIZE = (64, 64)  # height and width in pixels
CROP_SCALE = (0.8, 1.0)  # share of an image that a random crop for training covers
PHOTOGRAPHS = False  # True: EfficientNetV2-B0; False: six convolutions, for small images
DROPOUT = 0.2  # share of the features that a training step leaves out
BATCH_SIZE = 64
EPOCHS = 20

# Values to experiment with.
FLIP = True  # mirror half of the images; False if left and right matter, as in text
LEARNING_RATE = 1e-3  # after the warm-up; it then falls to 0 along a cosine
WARM_UP = 0.05  # share of the steps
WEIGHT_DECAY = 1e-2
SEED = 0  # of the weights, the order of the examples, and augmentation


def positive(text: str) -> int:
    """Return the number of a flag."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def parse_flags(arguments: list[str] | None) -> argparse.Namespace:
    """Return the flags by name."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    weights = ["imagenet", "none"] if PHOTOGRAPHS else ["none"]
    parser.add_argument("--dataset", default=DATASET, help="folder of the dataset")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the checkpoint and the trained model")
    parser.add_argument("--epochs", type=positive, default=EPOCHS, help="passes over the training examples")
    parser.add_argument("--batch-size", type=positive, default=BATCH_SIZE, help="examples of a step, over all GPUs")
    parser.add_argument("--weights", choices=weights, default=weights[0], help="weights at the start; none: random")
    return parser.parse_args(arguments)


def make_backbone(weights: str) -> keras.Model:
    """Return a network from images, values 0 to 255, to feature maps."""
    if PHOTOGRAPHS:
        try:
            return keras.applications.EfficientNetV2B0(
                include_top=False, weights=None if weights == "none" else weights, input_shape=(*IMAGE_SIZE, 3)
            )
        except Exception as error:  # noqa: BLE001 - Keras raises no other type if a download fails
            sys.exit(f"cannot get the weights {weights!r}: {error}; to start from random ones: --weights none")
    inputs = x = keras.Input((*IMAGE_SIZE, 3))
    x = keras.layers.Rescaling(1 / 127.5, -1)(x)
    for width in (32, 64, 128):
        for strides in (1, 2):
            x = keras.layers.Conv2D(width, 3, strides, padding="same", use_bias=False)(x)
            x = keras.layers.BatchNormalization(momentum=0.9)(x)
            x = keras.layers.ReLU()(x)
    return keras.Model(inputs, x)


def make_model(weights: str, num_classes: int, num_steps: int) -> keras.Model:
    """Return a compiled model from images to a probability for each class, or to numbers."""
    backbone = make_backbone(weights)
    x = keras.layers.GlobalAveragePooling2D()(backbone.output)
    x = keras.layers.Dropout(DROPOUT, seed=SEED)(x)
    loss: Any
    if LABELS == "class":
        x = keras.layers.Dense(num_classes, "softmax", dtype="float32")(x)
        metrics = [keras.metrics.SparseCategoricalAccuracy("accuracy")]
        loss = "sparse_categorical_crossentropy"
    elif LABELS == "classes":
        x = keras.layers.Dense(num_classes, "sigmoid", dtype="float32")(x)
        metrics = [keras.metrics.Precision(name="precision"), keras.metrics.Recall(name="recall")]
        loss = "binary_crossentropy"
    else:
        x = keras.layers.Dense(len(MEANS), dtype="float32")(x)
        x = keras.layers.Rescaling(DEVIATIONS, MEANS, dtype="float32")(x)
        metrics = [keras.metrics.MeanAbsoluteError("error")]
        loss = squared_error
    model = keras.Model(backbone.input, x)
    warm_up = int(WARM_UP * num_steps)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(1, num_steps - warm_up), warmup_target=LEARNING_RATE, warmup_steps=warm_up
    )
    model.compile(keras.optimizers.AdamW(rate, weight_decay=WEIGHT_DECAY), loss, metrics=metrics)
    return model


def squared_error(labels: Any, outputs: Any) -> Any:
    """Return the loss of each example: numbers of any unit count equally."""
    return keras.ops.mean(keras.ops.square((labels - outputs) / DEVIATIONS), -1)


def main(arguments: list[str] | None = None) -> None:
    """Train, from the last checkpoint if there is one."""
    flags = parse_flags(arguments)
    settings = {"program": "Keras fit", "seed": SEED, "batch_size": flags.batch_size, "image_size": IMAGE_SIZE}
    shardkit.check_checkpoints(flags.checkpoints, flags.dataset, **settings)
    gpus = [tf.config.experimental.get_device_details(gpu) for gpu in tf.config.list_physical_devices("GPU")]
    if gpus and all(gpu.get("compute_capability", (0, 0)) >= (8, 0) for gpu in gpus):
        keras.mixed_precision.set_global_policy("mixed_bfloat16")  # unlike float16, it needs no scaling of the loss
    keras.utils.set_random_seed(SEED)
    reading: dict[str, Any] = {
        "global_batch_size": flags.batch_size,
        "images": reader.Images(IMAGE_SIZE, crop_scale=CROP_SCALE, flip=FLIP),
        "fold": FOLD,
        "where": WHERE,
    }
    train_fn = reader.make_dataset_fn(flags.dataset, TRAIN, seed=SEED, **reading)
    validation_fn = reader.make_dataset_fn(flags.dataset, VALIDATION, training=False, last_batch="short", **reading)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = make_model(flags.weights, train_fn.num_classes, flags.epochs * train_fn.steps_per_epoch)
    # The order matters: the model is saved before the backup that lets a later run skip the epoch.
    callbacks = [
        reader.InputMonitor(),
        keras.callbacks.ModelCheckpoint(os.path.join(flags.checkpoints, "model.keras"), verbose=0),
        keras.callbacks.BackupAndRestore(
            os.path.join(flags.checkpoints, "backup"), double_checkpoint=True, delete_checkpoint=False
        ),
        reader.ResumeCallback(train_fn),
    ]
    history = model.fit(
        strategy.distribute_datasets_from_function(train_fn),
        epochs=flags.epochs,
        steps_per_epoch=train_fn.steps_per_epoch,  # the training data does not end
        validation_data=strategy.distribute_datasets_from_function(validation_fn),
        shuffle=False,
        callbacks=callbacks,
        verbose=2,
    )
    if not history.epoch:
        done = int(keras.ops.convert_to_numpy(model.optimizer.iterations)) // train_fn.steps_per_epoch
        print(f"already trained: {done} of {flags.epochs} epochs")


if __name__ == "__main__":
    try:
        main()
    except ShardkitError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
