"""Train with Keras' fit on all GPUs of this machine, or on its CPU, and validate after each epoch.

    python train.py
    python train.py --epochs 50 --batch-size 128
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
IMAGE_SIZE = (64, 64)  # height and width in pixels
CROP_SCALE = (0.5, 1.0)  # share of an image that a random crop for training covers
BATCH_SIZE = 64
EPOCHS = 20

# Values to experiment with.
FLIP = True  # mirror half of the images; False if left and right matter, as in text
WIDTHS = (32, 64, 128, 256)  # channels at each depth; sides of images are multiples of 2 ** (their number - 1)
BORDER = 255  # value in masks of pixels that do not count
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
    parser.add_argument("--dataset", default=DATASET, help="folder of the dataset")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the checkpoint and the trained model")
    parser.add_argument("--epochs", type=positive, default=EPOCHS, help="passes over the training examples")
    parser.add_argument("--batch-size", type=positive, default=BATCH_SIZE, help="examples of a step, over all GPUs")
    return parser.parse_args(arguments)


def convolve(x: Any, width: int) -> Any:
    """Return the result of two convolutions."""
    for _ in range(2):
        x = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization(momentum=0.9)(x)
        x = keras.layers.ReLU()(x)
    return x


def make_model(num_classes: int, num_steps: int) -> keras.Model:
    """Return a compiled U-Net (Ronneberger et al., 2015) from images to one logit for each pixel and class."""
    inputs = keras.Input((*IMAGE_SIZE, 3))
    x = keras.layers.Rescaling(1 / 127.5, -1)(inputs)
    skipped = []
    for width in WIDTHS[:-1]:
        x = convolve(x, width)
        skipped.append(x)
        x = keras.layers.MaxPooling2D()(x)
    x = convolve(x, WIDTHS[-1])
    for width in reversed(WIDTHS[:-1]):
        x = keras.layers.UpSampling2D(interpolation="bilinear")(x)
        x = keras.layers.Concatenate()([x, skipped.pop()])
        x = convolve(x, width)
    model = keras.Model(inputs, keras.layers.Conv2D(num_classes, 1, dtype="float32")(x))
    warm_up = int(WARM_UP * num_steps)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(1, num_steps - warm_up), warmup_target=LEARNING_RATE, warmup_steps=warm_up
    )
    metrics = [keras.metrics.MeanIoU(num_classes, "mean_iou", ignore_class=BORDER, sparse_y_pred=False)]
    model.compile(keras.optimizers.AdamW(rate, weight_decay=WEIGHT_DECAY), pixel_loss, metrics=metrics)
    return model


def pixel_loss(labels: Any, logits: Any) -> Any:
    """Return the loss of each image, the mean over its pixels that count."""
    labels = tf.cast(labels, tf.int32)  # Keras makes float32 of them
    counts = tf.cast(labels != BORDER, tf.float32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.where(labels == BORDER, 0, labels), logits)
    return tf.reduce_sum(counts * losses, [1, 2]) / tf.maximum(1.0, tf.reduce_sum(counts, [1, 2]))


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
        "images": reader.Images(IMAGE_SIZE, crop_scale=CROP_SCALE, flip=FLIP, eval_fit="pad", mask_padding=BORDER),
        "fold": FOLD,
    }
    train_fn = reader.make_dataset_fn(flags.dataset, TRAIN, seed=SEED, **reading)
    validation_fn = reader.make_dataset_fn(flags.dataset, VALIDATION, training=False, last_batch="short", **reading)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = make_model(train_fn.num_classes, flags.epochs * train_fn.steps_per_epoch)
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
