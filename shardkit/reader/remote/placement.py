"""Where a pipeline runs: in this process, on a tf.data service, or on each worker of a ParameterServerStrategy."""

from dataclasses import replace
from typing import Any, Protocol

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import pipeline
from shardkit.reader.arguments.values import Service
from shardkit.reader.iterators.start_steps import RandomStart
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.remote.service import ServicePlacement


class Placement(Protocol):
    """Factory of the dataset of one input pipeline whose graph other processes run."""

    def __call__(self, spec: PipelineSpec) -> Any:
        """See ServicePlacement.__call__."""
        ...


def choose_placement(service: Service | None, *, independent_workers: bool) -> Placement | None:
    """Return where the pipelines run; None for this process. See `make_dataset_fn` for the arguments."""
    if independent_workers:
        return IndependentStreams()
    return None if service is None else ServicePlacement(service)


def check_traced(placement: Placement | None) -> None:
    """Refuse to give all workers of a ParameterServerStrategy the same batches.

    TensorFlow does not tell the input function which strategy calls it. But only this strategy traces it, in order to
    send its graph to the workers; the others run it.
    """
    if not tf.executing_eagerly() and not isinstance(placement, IndependentStreams):
        raise CallError(
            "the input function is being traced into a graph, as ParameterServerStrategy does: all its workers would "
            "read the same batches; give independent_workers=True, and for any other strategy call it outside "
            "tf.function"
        )


class IndependentStreams:
    """Placement on workers of a ParameterServerStrategy that each start at a random epoch.

    The coordinator traces the input function once, with the same context for all, and every worker runs that graph. So
    the graph cannot contain the worker's index. Instead, each iterator draws a random number when it is made, and reads
    the endless order from the start of that epoch. The strategy gives steps to any free worker and repeats those of a
    lost worker, so that it cannot read each example exactly once over all workers.
    """

    def __call__(self, spec: PipelineSpec) -> Any:
        """Return the dataset of every worker; `spec.start_step` is not read."""
        if spec.layout.num_workers > 1:
            raise CallError(
                f"independent_workers is for ParameterServerStrategy, whose workers share one input pipeline; found "
                f"{spec.layout.num_workers}; leave it out, and each example is read once"
            )
        start = RandomStart(spec.table.num_examples, spec.layout.global_batch_size)
        dataset = pipeline.build(replace(spec, start_step=start, damaged=None, is_remote=True))
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
