"""Describe what each worker will get, and refuse contexts that would hang, crash or silently drop examples."""

import inspect
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from shardkit.arguments.checks import flag, one_of, refused, whole_number
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.order import BatchLayout, sequential, steps_per_epoch
from shardkit.order.batches import MAX_BATCH, check_divisible, check_enough
from shardkit.reader.arguments.reading import LastBatch

# TensorFlow's function that calls the function given to distribute_datasets_from_function, with `ctx`.
_STRATEGY_CALL = "_create_datasets_from_function_with_input_context"
TO_EVALUATE = ", or training=False to evaluate"  # a remedy for too few examples


def layout_of(context: Any, global_batch_size: int) -> BatchLayout:
    """Return the part of the global batch that an input pipeline feeds."""
    pipelines, replicas = context.num_input_pipelines, context.num_replicas_in_sync
    if replicas % pipelines:
        raise CallError(
            f"{replicas} replicas do not divide evenly over {pipelines} input pipelines; unequal workers feed empty "
            f"batches or abort: give every worker the same number of devices"
        )
    # All replicas at once, as the trainer counts them: `BatchLayout` would name workers and their replicas.
    check_divisible(global_batch_size, replicas, "replicas")
    return BatchLayout(global_batch_size, pipelines, context.input_pipeline_id, replicas // pipelines)


def check_no_context_is_lost() -> None:
    """Refuse `distribute_datasets_from_function(lambda context: train_fn())`.

    Each replica would get a whole global batch, and each worker the same ones.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != _STRATEGY_CALL:
        frame = frame.f_back
    context = None if frame is None else frame.f_locals.get("ctx")
    if isinstance(context, tf.distribute.InputContext) and context.num_replicas_in_sync > 1:
        raise CallError(
            f"the strategy's input context is not passed on, so each of {context.num_replicas_in_sync} replicas would "
            "read a whole global batch: write strategy.distribute_datasets_from_function(train_fn), or lambda context: "
            "train_fn(context)"
        )


@suggest_arguments(
    example="reader.describe_input(tf.distribute.InputContext(2, 0, 2), global_batch_size=64, num_examples=1000)"
)
def describe_input(
    context: Any,
    *,
    global_batch_size: int,
    num_examples: int,
    training: bool = True,
    last_batch: LastBatch = "padded",
) -> str:
    """Describe what an input pipeline will get; a `DatasetFn` calls this for every pipeline.

    Args:
        context: A `tf.distribute.InputContext`.
        global_batch_size: Examples of a step over all workers and replicas.
        num_examples: Number of examples of the split.
        training: Endless, or one pass.
        last_batch: "padded" or "short", see `make_dataset_fn`; training has no last batch.

    Raises:
        CallError: The combination would hang, crash, or lose or repeat examples.
    """
    if not isinstance(context, tf.distribute.InputContext):
        raise refused("context", "a tf.distribute.InputContext", context)
    global_batch_size = whole_number(1, MAX_BATCH)("global_batch_size", global_batch_size)
    num_examples, training = whole_number(1)("num_examples", num_examples), flag("training", training)
    last_batch = one_of("padded", "short")("last_batch", last_batch)
    layout = layout_of(context, global_batch_size)
    if training:
        check_enough(num_examples, global_batch_size, otherwise=TO_EVALUATE)
    steps = steps_per_epoch(num_examples, global_batch_size)
    replicas = layout.num_workers * layout.replicas_per_worker
    text = (
        f"Input pipeline {layout.worker_index} of {layout.num_workers} feeds {layout.replicas_per_worker} of "
        f"{replicas} replicas: of every global batch of {global_batch_size:,} it reads examples "
        f"[{layout.worker_index * layout.per_worker_batch_size:,}, "
        f"{(layout.worker_index + 1) * layout.per_worker_batch_size:,}), "
        f"{layout.per_replica_batch_size:,} for each replica. "
    )
    if training:
        return text + (
            f"It never ends; {num_examples:,} examples make {num_examples / global_batch_size:,.2f} steps an epoch "
            f"(steps_per_epoch={steps:,}), and batches cross the borders of epochs."
        )
    if last_batch == "short":
        _check_short(num_examples, layout)
        last = num_examples - (steps - 1) * global_batch_size
        return text + f"It ends after {steps:,} steps; the last global batch has {last:,} examples and no padding."
    padding = sequential.num_positions(num_examples, global_batch_size) - num_examples
    return text + f"It ends after {steps:,} steps; the last {padding:,} places are padding of weight 0."


def _check_short(num_examples: int, layout: BatchLayout) -> None:
    """Refuse what an evaluation without padding cannot divide.

    A replica without an example would get a batch of size 0, which many layers do not take (Keras 3.15:
    BatchNormalization).
    """
    if layout.num_workers > 1:
        raise CallError(
            f"last_batch='short' is for one process, and {layout.num_workers} workers with batches of different sizes "
            f"hang or abort; leave it out: the padding has weight 0"
        )
    replicas, size = layout.replicas_per_worker, layout.global_batch_size
    last = num_examples % size
    if 0 < last < replicas:
        fitting = next((fit for fit in _other_sizes(size, replicas) if not 0 < num_examples % fit < replicas), None)
        other = "" if fitting is None else f"use global_batch_size={fitting:,}, or "
        raise CallError(
            f"last_batch='short' leaves {last} of {num_examples:,} examples for the {replicas} replicas of the last "
            f"step; {other}leave last_batch out: the padding has weight 0"
        )


def _other_sizes(size: int, replicas: int) -> Iterator[int]:
    """Yield smaller global batch sizes, then larger ones, nearest first."""
    yield from range(size - replicas, 0, -replicas)
    yield from range(size + replicas, 2 * size, replicas)
