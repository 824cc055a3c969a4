"""What each worker will get, in words; what would hang, crash or silently drop is refused, with a remedy."""

from typing import Any

from shardkit.errors import CallError
from shardkit.order import BatchLayout, sequential, steps_per_epoch
from shardkit.order.batches import check_divisible
from shardkit.reader.arguments.registry import checked


def layout_of(context: Any, global_batch_size: int) -> BatchLayout:
    """The part of the global batch that an input pipeline feeds.

    Args:
        context: a `tf.distribute.InputContext`; one of a strategy's input pipelines.
        global_batch_size: examples a step over all of them.

    Raises:
        CallError: replicas do not divide evenly over pipelines, or the batch over replicas.
    """
    pipelines, replicas = context.num_input_pipelines, context.num_replicas_in_sync
    if replicas % pipelines:
        msg = (
            f"{replicas} replicas do not divide evenly over {pipelines} input pipelines; unequal workers feed empty "
            f"batches or abort: give every worker the same number of devices"
        )
        raise CallError(msg)
    # All at once, in the trainer's words: each number alone would be refused as one of workers or of their replicas.
    check_divisible(global_batch_size, replicas, "replicas")
    return BatchLayout(global_batch_size, pipelines, context.input_pipeline_id, replicas // pipelines)


@checked
def check(context: Any, *, global_batch_size: int, num_examples: int, training: bool = True) -> str:
    """Explain what an input pipeline will get; `make_dataset_fn` calls this for every pipeline.

    Args:
        context: a `tf.distribute.InputContext`.
        global_batch_size: examples a step over all workers and replicas.
        num_examples: of the split.
        training: endless, or one padded pass.

    Raises:
        CallError: the combination would hang, crash, or lose or repeat examples.
    """
    layout = layout_of(context, global_batch_size)
    check_enough(num_examples, global_batch_size, training=training)
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
    padding = sequential.num_positions(num_examples, global_batch_size) - num_examples
    return text + f"It ends after {steps:,} steps; the last {padding:,} places are padding of weight 0."


def check_enough(num_examples: int, global_batch_size: int, *, training: bool, source: str = "the split has") -> None:
    """Refuse to train on fewer examples than a global batch: every batch would hold one of them twice.

    Args:
        num_examples: that can come.
        global_batch_size: examples a step over all workers and replicas.
        training: in evaluation there is padding instead.
        source: of what they are, for the message.

    Raises:
        CallError: so it would.
    """
    if training and num_examples < global_batch_size:
        msg = (
            f"{source} {num_examples:,} examples, fewer than the global batch of {global_batch_size:,}, which "
            f"would hold some twice; use a global_batch_size of at most {num_examples:,}"
        )
        raise CallError(msg)
