"""Train by JAX on all GPUs of one machine or of several, or on a CPU, and validate after each epoch.

    python train.py
    python train.py --epochs 50 --batch-size 128
    python train.py --help
    COORDINATOR=host:9999 NUM_PROCESSES=2 PROCESS_ID=0 python train.py    # on each of two; host is the first one

Interrupted, the same command continues at the last checkpoint, with the batches that would have followed. The trained
weights are in the last checkpoint. The program needs `pip install 'shardkit[tensorflow]' jax flax optax`. `shardkit
script` printed it; it is yours to change.
"""

import argparse
import os
import sys
from functools import partial
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported, which would print notes

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import tensorflow as tf
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

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
PHOTOGRAPHS = False  # True: ResNet-50; False: six convolutions, for small images
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
    parser.add_argument("--dataset", default=DATASET, help="folder of the dataset")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the checkpoint and the trained model")
    parser.add_argument("--epochs", type=positive, default=EPOCHS, help="passes over the training examples")
    parser.add_argument("--batch-size", type=positive, default=BATCH_SIZE, help="examples of a step, over all GPUs")
    parser.add_argument("--weights", choices=["none"], default="none", help="weights at the start; none: random")
    return parser.parse_args(arguments)


class Block(nnx.Module):
    """Three convolutions and a way around them (He et al., 2015); the second convolution has the strides."""

    def __init__(self, inputs: int, width: int, strides: int, dtype: Any, rngs: nnx.Rngs) -> None:
        convolution = partial(nnx.Conv, use_bias=False, dtype=dtype, rngs=rngs)
        norm = partial(nnx.BatchNorm, momentum=0.9, dtype=dtype, rngs=rngs)
        outputs = 4 * width
        self.layers = nnx.Sequential(
            *(convolution(inputs, width, (1, 1)), norm(width), nnx.relu),
            *(convolution(width, width, (3, 3), strides), norm(width), nnx.relu),
            # The last scale starts at 0, so that a block changes nothing at first (Goyal et al., 2017).
            *(convolution(width, outputs, (1, 1)), norm(outputs, scale_init=nnx.initializers.zeros_init())),
        )
        around = [convolution(inputs, outputs, (1, 1), strides), norm(outputs)] if inputs != outputs else []
        self.around = nnx.Sequential(*around)

    def __call__(self, x: Any) -> Any:
        """Return the result, with a smaller height and width if there are strides."""
        return nnx.relu(self.layers(x) + self.around(x))


class Model(nnx.Module):
    """From images, values 0 to 255, to [batch, outputs]: one logit for each class, or standardised numbers."""

    def __init__(self, num_outputs: int, rngs: nnx.Rngs) -> None:
        dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16  # of computation, not of weights
        convolution = partial(nnx.Conv, use_bias=False, dtype=dtype, rngs=rngs)
        norm = partial(nnx.BatchNorm, momentum=0.9, dtype=dtype, rngs=rngs)
        layers, inputs = list[Any](), 3
        if PHOTOGRAPHS:
            pool = partial(nnx.max_pool, window_shape=(3, 3), strides=(2, 2), padding="SAME")
            layers, inputs = [convolution(3, 64, (7, 7), 2), norm(64), nnx.relu, pool], 64
            for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
                for number in range(depth):
                    layers.append(Block(inputs, width, 2 if width > 64 and not number else 1, dtype, rngs))
                    inputs = 4 * width
        else:
            for width in (32, 64, 128):
                for strides in (1, 2):
                    layers += [convolution(inputs, width, (3, 3), strides), norm(width), nnx.relu]
                    inputs = width
        self.backbone = nnx.Sequential(*layers)
        self.dropout = nnx.Dropout(DROPOUT, rngs=rngs)
        self.head = nnx.Linear(inputs, num_outputs, rngs=rngs)

    def __call__(self, images: Any) -> Any:
        """Return float32 [batch, outputs]."""
        x = self.backbone(images / 127.5 - 1).mean((1, 2), dtype="float32")
        return self.head(self.dropout(x))


def measure(outputs: Any, labels: Any) -> dict[str, Any]:
    """Return the loss and a score of each example, float32 [batch]."""
    if LABELS == "class":
        losses = optax.softmax_cross_entropy_with_integer_labels(outputs, labels)
        return {"loss": losses, "accuracy": jnp.float32(outputs.argmax(-1) == labels)}
    if LABELS == "classes":
        given = jnp.float32(outputs > 0)
        both, either = (given * labels).sum(-1), jnp.maximum(given, labels).sum(-1)
        overlaps = jnp.where(either > 0, both / jnp.maximum(1, either), 1)  # of the true and the predicted classes
        return {"loss": optax.sigmoid_binary_cross_entropy(outputs, labels).mean(-1), "overlap": overlaps}
    deviations = jnp.array(DEVIATIONS)
    errors = outputs - (labels.reshape(outputs.shape) - jnp.array(MEANS)) / deviations
    return {"loss": (errors**2).mean(-1), "error": abs(errors * deviations).mean(-1)}


def main(arguments: list[str] | None = None) -> None:
    """Train, from the last checkpoint if there is one."""
    flags = parse_flags(arguments)
    settings = {"program": "JAX loop", "seed": SEED, "batch_size": flags.batch_size, "image_size": IMAGE_SIZE}
    shardkit.check_checkpoints(flags.checkpoints, flags.dataset, **settings)
    tf.config.set_visible_devices([], "GPU")  # TensorFlow only reads: all memory of the GPUs is for JAX
    if "COORDINATOR" in os.environ:
        jax.distributed.initialize(
            os.environ["COORDINATOR"], int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"])
        )
    is_first = jax.process_index() == 0
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
    rate = optax.warmup_cosine_decay_schedule(0.0, LEARNING_RATE, warm_up, max(warm_up + 1, num_steps))
    # Each device has all weights and computes its part of the batch. XLA sums the gradients; the means and variances of
    # batch normalisation are those of the global batch.
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    split, whole = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())

    def create() -> Any:
        model = Model(len(MEANS) or train_fn.num_classes, nnx.Rngs(SEED))
        return model, nnx.Optimizer(model, optax.adamw(rate, weight_decay=WEIGHT_DECAY), wrt=nnx.Param)

    model, optimizer = nnx.jit(create, out_shardings=whole)()  # on the devices of all processes

    @nnx.jit
    def train_step(model: Any, optimizer: Any, images: Any, labels: Any) -> Any:
        def loss_of(model: Any) -> Any:
            return measure(model(images), labels)["loss"].mean()

        loss, gradients = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradients)
        return loss

    @nnx.jit
    def evaluate_step(model: Any, images: Any, labels: Any, weights: Any) -> Any:
        values = measure(model(images), labels)
        return {name: jnp.tensordot(weights, each, 1) for name, each in values.items()}  # padding has weight 0

    def batches_of(input_fn: reader.DatasetFn) -> Any:
        """Yield batches on all devices, of which each process reads its own part."""
        part = tf.distribute.InputContext(jax.process_count(), jax.process_index(), jax.process_count())
        for batch in input_fn(part).as_numpy_iterator():
            yield jax.tree.map(lambda each: jax.make_array_from_process_local_data(split, each), batch)

    def evaluate() -> dict[str, float]:
        model.eval()
        sums = [evaluate_step(model, *batch) for batch in batches_of(validation_fn)]
        model.train()
        return {name: sum(float(one[name]) for one in sums) / validation_fn.num_examples for name in sums[0]}

    folder = os.path.abspath(os.path.join(flags.checkpoints, "steps"))
    manager = ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2))
    start = manager.latest_step() or 0
    if start >= num_steps:
        if is_first:
            print(f"already trained: {start // steps_per_epoch} of {flags.epochs} epochs")
        return
    if start:
        saved = manager.restore(start, args=ocp.args.StandardRestore(nnx.state((model, optimizer))))
        nnx.update((model, optimizer), saved)
    train_fn.start_step = start
    if is_first:
        print(f"from step {start} to {num_steps}, {steps_per_epoch} an epoch")

    batches = iter(monitored := reader.monitor(batches_of(train_fn)))
    total_loss, since = 0.0, start
    for step in range(start + 1, num_steps + 1):
        total_loss += train_step(model, optimizer, *next(batches))
        is_end = step % steps_per_epoch == 0
        if is_end or step % STEPS_PER_CHECKPOINT == 0:
            manager.save(step, args=ocp.args.StandardSave(nnx.state((model, optimizer))))
        if is_end:
            loss, results = float(total_loss) / (step - since), evaluate()
            total_loss, since = 0.0, step
            if is_first:
                shown = ", ".join(f"{name} {value:.4g}" for name, value in results.items())
                print(f"epoch {step // steps_per_epoch} of {flags.epochs}: loss {loss:.4g}; validation: {shown}")
    manager.close()  # waits for the last checkpoint, which has the trained weights
    print(monitored)


if __name__ == "__main__":
    try:
        main()
    except ShardkitError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
