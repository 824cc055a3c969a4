"""Check the input contexts of strategies: some would hang, crash or silently drop examples."""

import inspect
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from shardkit.arguments.checks import refused
from shardkit.errors import CallError
from shardkit.order import BatchLayout
from shardkit.order.batches import check_divisible

# TensorFlow's function that calls the function given to distribute_datasets_from_function, with `ctx`.
_STRATEGY_CALL = "_create_datasets_from_function_with_input_context"
TO_EVALUATE = ", or training=False to evaluate"  # a remedy for too few examples


def layout_of(context: Any, global_batch_size: int) -> BatchLayout:
    """Return the part of the global batch that an input pipeline feeds."""
    if not isinstance(context, tf.distribute.InputContext):
        raise refused("context", "a tf.distribute.InputContext", context)
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


def check_short(num_examples: int, layout: BatchLayout) -> None:
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
