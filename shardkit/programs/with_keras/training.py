"""Train on all GPUs of this machine, or of several machines, and evaluate after each epoch.

    python train.py                               # on all GPUs of this machine, or its CPU
    TF_CONFIG='{"cluster": …}' python train.py    # on each of several machines

Interrupted, the same command goes on at the last checkpoint, with the batches that would have followed. It needs
`pip install 'shardkit[tensorflow]'`. `shardkit script` wrote it; the numbers to change come first.
"""

import os
import tempfile
from typing import Any

import keras
import tensorflow as tf

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
from shardkit.programs.with_keras.classification import READING, make_model, measure, summary
from shardkit.programs.with_reader.folds import FOLD


def make_strategy() -> tf.distribute.Strategy:
    """Return the strategy for this machine, or for those that TF_CONFIG names."""
    if "TF_CONFIG" in os.environ:
        return tf.distribute.MultiWorkerMirroredStrategy()
    return tf.distribute.MirroredStrategy()


def use_mixed_precision() -> None:
    """Compute in bfloat16 if all GPUs are fast at it; unlike float16, it needs no scaling of the loss."""
    gpus = [tf.config.experimental.get_device_details(gpu) for gpu in tf.config.list_physical_devices("GPU")]
    if gpus and all(gpu.get("compute_capability", (0, 0)) >= (8, 0) for gpu in gpus):
        keras.mixed_precision.set_global_policy("mixed_bfloat16")


def main() -> None:
    """Train, from the last checkpoint if there is one."""
    strategy = make_strategy()
    is_first = strategy.cluster_resolver is None or strategy.cluster_resolver.task_id == 0  # of the machines
    use_mixed_precision()
    keras.utils.set_random_seed(SEED)
    reading = {"global_batch_size": GLOBAL_BATCH_SIZE, "fold": FOLD, **READING}
    train_fn = reader.make_dataset_fn(DATASET, TRAIN, seed=SEED, **reading)
    validation_fn = reader.make_dataset_fn(DATASET, VALIDATION, training=False, **reading)
    num_steps = EPOCHS * train_fn.steps_per_epoch
    num_warm_up = int(WARM_UP * num_steps)
    with strategy.scope():
        model = make_model(train_fn)
        schedule = keras.optimizers.schedules.CosineDecay(
            0.0, max(1, num_steps - num_warm_up), warmup_target=LEARNING_RATE, warmup_steps=num_warm_up
        )
        optimizer = keras.optimizers.AdamW(schedule, weight_decay=WEIGHT_DECAY)
        optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(*batch: Any) -> Any:
        def step(images: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(measure(model, images, labels, training=True)["loss"]) / GLOBAL_BATCH_SIZE
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        return strategy.reduce("SUM", strategy.run(step, batch), axis=None)

    @tf.function
    def evaluate_step(*batch: Any) -> Any:
        def step(images: Any, labels: Any, weights: Any) -> Any:
            values = {"examples": tf.ones_like(weights), **measure(model, images, labels, training=False)}
            return {name: tf.tensordot(weights, each, 1) for name, each in values.items()}  # padding weighs 0

        sums = strategy.run(step, batch)
        return {name: strategy.reduce("SUM", each, axis=None) for name, each in sums.items()}

    def evaluate() -> dict[str, float]:
        batches = strategy.distribute_datasets_from_function(validation_fn)
        sums = [evaluate_step(*batch) for batch in batches]
        total = {name: sum(one[name].numpy() for one in sums) for name in sums[0]}
        return summary(total, total.pop("examples"))

    # The variables themselves: Checkpoint(model=model) leaves out the state of the seeds of Dropout layers.
    checkpoint = tf.train.Checkpoint(variables=[one.value for one in (*model.variables, *optimizer.variables)])
    # All machines save, as the strategy requires; only what the first one saves is kept.
    folder = CHECKPOINTS if is_first else tempfile.mkdtemp()
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    if latest := tf.train.latest_checkpoint(CHECKPOINTS):
        checkpoint.restore(latest)
    train_fn.start_step = start = int(optimizer.iterations.numpy())
    if is_first:
        print(f"from step {start} to {num_steps}, {train_fn.steps_per_epoch} an epoch")

    batches = iter(monitored := reader.monitor(strategy.distribute_datasets_from_function(train_fn)))
    total_loss, since = 0.0, start
    for step in range(start + 1, num_steps + 1):
        total_loss += train_step(*next(batches))
        is_end = step % train_fn.steps_per_epoch == 0
        if is_end or step % STEPS_PER_CHECKPOINT == 0:
            manager.save()
        if is_end:
            loss, results = float(total_loss) / (step - since), evaluate()
            total_loss, since = 0.0, step
            if is_first:
                shown = ", ".join(f"{name} {value:.4g}" for name, value in results.items())
                print(f"epoch {step // train_fn.steps_per_epoch} of {EPOCHS}: loss {loss:.4g}; validation: {shown}")
    print(monitored)
    if is_first:
        model.save("model.keras")


if __name__ == "__main__":
    main()
