"""Train on all GPUs of this machine, or of several machines, and evaluate after each epoch.

    python train.py      # on all GPUs of this machine, or its CPU
    COORDINATOR=host:9999 NUM_PROCESSES=2 PROCESS_ID=0 python train.py    # on each of two; host is the first one

Interrupted, the same command goes on at the last checkpoint, with the batches that would have followed. It needs
`pip install 'shardkit[tensorflow]' jax flax optax`. `shardkit script` wrote it; the numbers to change come first.
"""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import tensorflow as tf
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from shardkit import reader
from shardkit.programs.parts.settings import (
    CHECKPOINTS,
    DATASET,
    EPOCHS,
    GLOBAL_BATCH_SIZE,
    LEARNING_RATE,
    SEED,
    STEPS_PER_CHECKPOINT,
    TRAIN,
    VALIDATION,
    WARM_UP,
    WEIGHT_DECAY,
)
from shardkit.programs.with_jax.classification import READING, make_model, measure, summary
from shardkit.programs.with_reader.folds import FOLD


def main() -> None:
    """Train, from the last checkpoint if there is one."""
    tf.config.set_visible_devices([], "GPU")  # TensorFlow only reads: all memory of the GPUs is for JAX
    if "COORDINATOR" in os.environ:
        jax.distributed.initialize(
            os.environ["COORDINATOR"], int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"])
        )
    is_first = jax.process_index() == 0
    reading = {"global_batch_size": GLOBAL_BATCH_SIZE, "fold": FOLD, **READING}
    train_fn = reader.make_dataset_fn(DATASET, TRAIN, seed=SEED, **reading)
    validation_fn = reader.make_dataset_fn(DATASET, VALIDATION, training=False, **reading)
    num_steps = EPOCHS * train_fn.steps_per_epoch
    num_warm_up = int(WARM_UP * num_steps)

    schedule = optax.warmup_cosine_decay_schedule(0.0, LEARNING_RATE, num_warm_up, max(num_warm_up + 1, num_steps))
    # Each device has all weights and computes its part of the batch. XLA sums the gradients; the means and variances of
    # batch normalisation are those of the global batch.
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    split, whole = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())

    def create() -> Any:
        model = make_model(train_fn)
        return model, nnx.Optimizer(model, optax.adamw(schedule, weight_decay=WEIGHT_DECAY), wrt=nnx.Param)

    model, optimizer = nnx.jit(create, out_shardings=whole)()  # on the devices of all processes

    @nnx.jit
    def train_step(model: Any, optimizer: Any, images: Any, labels: Any) -> Any:
        def loss_of(model: Any) -> Any:
            return measure(model, images, labels)["loss"].mean()

        loss, gradients = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradients)
        return loss

    @nnx.jit
    def evaluate_step(model: Any, images: Any, labels: Any, weights: Any) -> Any:
        values = {"examples": jnp.ones_like(weights), **measure(model, images, labels)}
        return {name: jnp.tensordot(weights, each, 1) for name, each in values.items()}  # padding weighs 0

    def batches_of(input_fn: reader.DatasetFn) -> Any:
        """Yield batches on all devices, of which each process reads its own part."""
        part = tf.distribute.InputContext(jax.process_count(), jax.process_index(), jax.process_count())
        for batch in input_fn(part).as_numpy_iterator():
            yield jax.tree.map(lambda each: jax.make_array_from_process_local_data(split, each), batch)

    def evaluate() -> dict[str, float]:
        model.eval()
        sums = [evaluate_step(model, *batch) for batch in batches_of(validation_fn)]
        model.train()
        total = {name: np.sum([one[name] for one in sums], 0) for name in sums[0]}
        return summary(total, total.pop("examples"))

    manager = ocp.CheckpointManager(os.path.abspath(CHECKPOINTS), options=ocp.CheckpointManagerOptions(max_to_keep=2))
    start = manager.latest_step() or 0
    if start:
        saved = manager.restore(start, args=ocp.args.StandardRestore(nnx.state((model, optimizer))))
        nnx.update((model, optimizer), saved)
    train_fn.start_step = start
    if is_first:
        print(f"from step {start} to {num_steps}, {train_fn.steps_per_epoch} an epoch")

    batches = iter(monitored := reader.monitor(batches_of(train_fn)))
    total_loss, since = 0.0, start
    for step in range(start + 1, num_steps + 1):
        total_loss += train_step(model, optimizer, *next(batches))
        is_end = step % train_fn.steps_per_epoch == 0
        if is_end or step % STEPS_PER_CHECKPOINT == 0:
            manager.save(step, args=ocp.args.StandardSave(nnx.state((model, optimizer))))
        if is_end:
            loss, results = float(total_loss) / (step - since), evaluate()
            total_loss, since = 0.0, step
            if is_first:
                shown = ", ".join(f"{name} {value:.4g}" for name, value in results.items())
                print(f"epoch {step // train_fn.steps_per_epoch} of {EPOCHS}: loss {loss:.4g}; validation: {shown}")
    manager.close()  # waits for the last checkpoint, which has the trained weights
    print(monitored)


if __name__ == "__main__":
    main()
