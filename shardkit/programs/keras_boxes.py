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
IMAGE_SIZE = (64, 64)  # height and width in pixels
PHOTOGRAPHS = False  # True: EfficientNetV2-B0; False: six convolutions, for small images
BATCH_SIZE = 64
EPOCHS = 20

# Values to experiment with.
FLIP = True  # mirror half of the images; False if left and right matter, as in text
HEAD_WIDTH = 128  # channels
BOX_WEIGHT = 5.0  # of the places of boxes in the loss; their classes have weight 1
MIN_SCORE = 0.3  # of a predicted box
LEARNING_RATE = 1e-3  # after the warm-up; it then falls to 0 along a cosine
WARM_UP = 0.05  # share of the steps
WEIGHT_DECAY = 1e-2
SEED = 0  # of the weights, the order of the examples, and augmentation

# The detector divides an image into cells. Each has a score for each class, of a box with its centre there, and a box.
STRIDE = 32 if PHOTOGRAPHS else 8  # pixels of a cell
GRID = tuple(-(-side // STRIDE) for side in IMAGE_SIZE)  # rows and columns


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
    """Return a compiled model from images to [batch, rows, columns, classes + 4]: logits of scores, and a box."""
    backbone = make_backbone(weights)
    x = backbone.output
    for _ in range(2):
        x = keras.layers.Conv2D(HEAD_WIDTH, 3, padding="same", activation="relu")(x)
    # Most cells are empty: start with a score of 0.01 everywhere (Lin et al., 2017, Focal loss).
    rare = keras.initializers.Constant(-4.6)
    scores = keras.layers.Conv2D(num_classes, 1, bias_initializer=rare, dtype="float32")(x)
    places = keras.layers.Conv2D(4, 1, dtype="float32")(x)
    model = keras.Model(backbone.input, keras.layers.Concatenate(dtype="float32")([scores, places]))
    warm_up = int(WARM_UP * num_steps)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(1, num_steps - warm_up), warmup_target=LEARNING_RATE, warmup_steps=warm_up
    )
    metrics = [BoxRecall(name="recall"), BoxPrecision(name="precision")]
    model.compile(keras.optimizers.AdamW(rate, weight_decay=WEIGHT_DECAY), detection_loss, metrics=metrics)
    return model


def encode(features: dict[str, Any], num_classes: int) -> tuple[Any, Any]:
    """Return an image and its target, float32 [rows, columns, classes + 4]: 1 for the class of a box, and the box."""
    boxes, classes = features["objects/bbox"], features["objects/label"]  # (ymin, xmin, ymax, xmax) as fractions
    cells = tf.cast((boxes[:, :2] + boxes[:, 2:]) / 2 * GRID, tf.int32)
    cells = tf.clip_by_value(cells, 0, [side - 1 for side in GRID])
    places = tf.concat([cells, tf.cast(classes, tf.int32)[:, None]], 1)
    scores = tf.minimum(1.0, tf.scatter_nd(places, tf.ones_like(boxes[:, 0]), (*GRID, num_classes)))
    return features["image"], tf.concat([scores, tf.tensor_scatter_nd_update(tf.zeros((*GRID, 4)), cells, boxes)], -1)


def decode(outputs: Any) -> tuple[Any, Any]:
    """Return the scores of all cells, and their boxes as (ymin, xmin, ymax, xmax)."""
    grid = tf.cast(tf.stack(tf.meshgrid(*map(tf.range, GRID), indexing="ij"), -1), tf.float32)
    centres = (grid + tf.sigmoid(outputs[..., -4:-2])) / GRID
    halves = tf.sigmoid(outputs[..., -2:]) / 2
    return tf.sigmoid(outputs[..., :-4]), tf.concat([centres - halves, centres + halves], -1)


def overlap(one: Any, other: Any) -> Any:
    """Return the intersection over union of boxes, which are the last axis of both."""
    sides = tf.maximum(0.0, tf.minimum(one[..., 2:], other[..., 2:]) - tf.maximum(one[..., :2], other[..., :2]))
    both = tf.reduce_prod(sides, -1)
    areas = [tf.reduce_prod(boxes[..., 2:] - boxes[..., :2], -1) for boxes in (one, other)]
    return both / tf.maximum(1e-9, areas[0] + areas[1] - both)


def detection_loss(targets: Any, outputs: Any) -> Any:
    """Return the loss of each image: the focal loss of the scores, and the distance of the boxes."""
    true, true_boxes = targets[..., :-4], targets[..., -4:]
    scores, boxes = decode(outputs)
    focal = tf.where(true > 0, 0.75, 0.25) * tf.square(tf.abs(true - scores))
    losses = focal * tf.nn.sigmoid_cross_entropy_with_logits(true, outputs[..., :-4])
    is_box = tf.reduce_max(true, -1)
    distances = tf.reduce_mean(tf.abs(boxes - true_boxes), -1) + (1 - overlap(boxes, true_boxes)) / BOX_WEIGHT
    sums = tf.reduce_sum(losses, [1, 2, 3]) + BOX_WEIGHT * tf.reduce_sum(distances * is_box, [1, 2])
    return sums / tf.maximum(1.0, tf.reduce_sum(is_box, [1, 2]))


def matched(targets: Any, outputs: Any) -> tuple[Any, Any, Any]:
    """Return 0 or 1 for each cell and class: it has a box; it predicts one; and that overlaps the true one by half."""
    scores, boxes = decode(outputs)
    true, given = targets[..., :-4], tf.cast(scores >= MIN_SCORE, tf.float32)
    fits = tf.cast(overlap(boxes, targets[..., -4:]) >= 0.5, tf.float32)
    return true, given, true * given * fits[..., None]


class BoxRecall(keras.metrics.Recall):
    """Share of the true boxes that are found."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count."""
        true, _, right = matched(y_true, y_pred)
        super().update_state(true, right)


class BoxPrecision(keras.metrics.Precision):
    """Share of the predicted boxes that are right."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count."""
        _, given, right = matched(y_true, y_pred)
        super().update_state(right, given)


def main(arguments: list[str] | None = None) -> None:
    """Train, from the last checkpoint if there is one."""
    flags = parse_flags(arguments)
    settings = {"program": "Keras fit", "seed": SEED, "batch_size": flags.batch_size, "image_size": IMAGE_SIZE}
    shardkit.check_checkpoints(flags.checkpoints, flags.dataset, **settings)
    gpus = [tf.config.experimental.get_device_details(gpu) for gpu in tf.config.list_physical_devices("GPU")]
    if gpus and all(gpu.get("compute_capability", (0, 0)) >= (8, 0) for gpu in gpus):
        keras.mixed_precision.set_global_policy("mixed_bfloat16")  # unlike float16, it needs no scaling of the loss
    keras.utils.set_random_seed(SEED)
    num_classes = len(shardkit.read_manifest(flags.dataset).classes)
    reading: dict[str, Any] = {
        "global_batch_size": flags.batch_size,
        "images": reader.Images(IMAGE_SIZE, flip=FLIP),  # no crops, which lose boxes
        "map_fn": lambda features, seed: encode(features, num_classes),
        "fold": FOLD,
    }
    train_fn = reader.make_dataset_fn(flags.dataset, TRAIN, seed=SEED, **reading)
    validation_fn = reader.make_dataset_fn(flags.dataset, VALIDATION, training=False, last_batch="short", **reading)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = make_model(flags.weights, num_classes, flags.epochs * train_fn.steps_per_epoch)
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
