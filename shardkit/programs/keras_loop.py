"""Train by a loop on all GPUs of one machine or of several, or on CPUs, and validate after each epoch.

    python train.py
    python train.py --epochs 50 --batch-size 128 --weights none
    python train.py --help
    TF_CONFIG='{"cluster": …}' python train.py    # on each of several machines, which share the folder of checkpoints

Interrupted, the same command continues at the last checkpoint, with the batches that would have followed, also on more
or fewer machines. The trained model is `checkpoints/model.keras`. The program needs `pip install
'shardkit[tensorflow]'`. `shardkit script` printed it; it is yours to change.
"""

import argparse
import os
import sys
import tempfile
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
STEPS_PER_CHECKPOINT = 500  # one is also saved after each epoch
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


def make_model(weights: str, num_classes: int) -> keras.Model:
    """Return a model from images to float32 [batch, outputs]: one logit for each class, or standardised numbers."""
    backbone = make_backbone(weights)
    x = keras.layers.GlobalAveragePooling2D()(backbone.output)
    x = keras.layers.Dropout(DROPOUT, seed=SEED)(x)
    return keras.Model(backbone.input, keras.layers.Dense(len(MEANS) or num_classes, dtype="float32")(x))


def measure(outputs: Any, labels: Any) -> dict[str, Any]:
    """Return the loss and a score of each example, float32 [batch]."""
    if LABELS == "class":
        right = tf.cast(tf.argmax(outputs, -1, labels.dtype) == labels, tf.float32)
        return {"loss": tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs), "accuracy": right}
    if LABELS == "classes":
        given = tf.cast(outputs > 0, tf.float32)
        both, either = (tf.reduce_sum(one, -1) for one in (given * labels, tf.maximum(given, labels)))
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, outputs)
        return {
            "loss": tf.reduce_mean(losses, -1),
            "overlap": tf.where(either > 0, both / tf.maximum(1.0, either), 1.0),
        }
    errors = outputs - (tf.reshape(labels, tf.shape(outputs)) - MEANS) / DEVIATIONS
    return {"loss": tf.reduce_mean(tf.square(errors), -1), "error": tf.reduce_mean(tf.abs(errors * DEVIATIONS), -1)}


def main(arguments: list[str] | None = None) -> None:
    """Train, from the last checkpoint if there is one."""
    flags = parse_flags(arguments)
    settings = {"program": "Keras loop", "seed": SEED, "batch_size": flags.batch_size, "image_size": IMAGE_SIZE}
    shardkit.check_checkpoints(flags.checkpoints, flags.dataset, **settings)
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    else:
        strategy = tf.distribute.MirroredStrategy()
    is_first = strategy.cluster_resolver is None or strategy.cluster_resolver.task_id == 0  # of the machines
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
    validation_fn = reader.make_dataset_fn(flags.dataset, VALIDATION, training=False, **reading)
    steps_per_epoch = train_fn.steps_per_epoch
    num_steps = flags.epochs * steps_per_epoch
    warm_up = int(WARM_UP * num_steps)
    with strategy.scope():
        model = make_model(flags.weights, train_fn.num_classes)
        rate = keras.optimizers.schedules.CosineDecay(
            0.0, max(1, num_steps - warm_up), warmup_target=LEARNING_RATE, warmup_steps=warm_up
        )
        optimizer = keras.optimizers.AdamW(rate, weight_decay=WEIGHT_DECAY)
        optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(*batch: Any) -> Any:
        def step(images: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                losses = measure(model(images, training=True), labels)["loss"]
                loss = tf.reduce_sum(losses) / flags.batch_size
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        return strategy.reduce("SUM", strategy.run(step, batch), axis=None)

    @tf.function
    def evaluate_step(*batch: Any) -> Any:
        def step(images: Any, labels: Any, weights: Any) -> Any:
            values = measure(model(images, training=False), labels)
            return {name: tf.tensordot(weights, each, 1) for name, each in values.items()}  # padding has weight 0

        sums = strategy.run(step, batch)
        return {name: strategy.reduce("SUM", each, axis=None) for name, each in sums.items()}

    def evaluate() -> dict[str, float]:
        sums = [evaluate_step(*batch) for batch in strategy.distribute_datasets_from_function(validation_fn)]
        return {name: sum(float(one[name]) for one in sums) / validation_fn.num_examples for name in sums[0]}

    # The variables themselves: Checkpoint(model=model) leaves out the state of the seeds of Dropout layers.
    checkpoint = tf.train.Checkpoint(variables=[one.value for one in (*model.variables, *optimizer.variables)])
    # All machines save, as the strategy requires; only what the first one saves is kept.
    folder = flags.checkpoints if is_first else tempfile.mkdtemp()
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    if latest := tf.train.latest_checkpoint(flags.checkpoints):
        checkpoint.restore(latest)
    train_fn.start_step = start = int(optimizer.iterations.numpy())
    if start >= num_steps:
        if is_first:
            print(f"already trained: {start // steps_per_epoch} of {flags.epochs} epochs")
        return
    if is_first:
        print(f"from step {start} to {num_steps}, {steps_per_epoch} an epoch")

    batches = iter(monitored := reader.monitor(strategy.distribute_datasets_from_function(train_fn)))
    total_loss, since = 0.0, start
    for step in range(start + 1, num_steps + 1):
        total_loss += train_step(*next(batches))
        if step == num_steps and is_first:  # before the checkpoint that lets a later run stop
            model.save(os.path.join(flags.checkpoints, "model.keras"))
        is_end = step % steps_per_epoch == 0
        if is_end or step % STEPS_PER_CHECKPOINT == 0:
            manager.save()
        if is_end:
            loss, results = float(total_loss) / (step - since), evaluate()
            total_loss, since = 0.0, step
            if is_first:
                shown = ", ".join(f"{name} {value:.4g}" for name, value in results.items())
                print(f"epoch {step // steps_per_epoch} of {flags.epochs}: loss {loss:.4g}; validation: {shown}")
    print(monitored)


if __name__ == "__main__":
    try:
        main()
    except ShardkitError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
