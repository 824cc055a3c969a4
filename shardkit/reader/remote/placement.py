"""Whether the pipeline runs in other processes than the one that makes it, and what that rules out."""

from typing import Any, Protocol

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.order import BatchLayout
from shardkit.reader.arguments.options import ReadOptions
from shardkit.reader.iterators.start_steps import StartStep
from shardkit.reader.orders.training_orders import TrainingOrder
from shardkit.reader.remote.independent_streams import IndependentStreams
from shardkit.reader.remote.service import Service
from shardkit.reader.table.records import RecordTable


class Placement(Protocol):
    """Makes the dataset of one input pipeline whose graph other processes run."""

    def __call__(
        self,
        table: RecordTable,
        layout: BatchLayout,
        options: ReadOptions,
        order: TrainingOrder | None,
        start_step: StartStep,
    ) -> Any:
        """See service.Service.__call__."""
        ...


def choose_placement(
    *,
    service: str | None,
    service_job: str | None,
    independent_workers: bool,
    training: bool,
    start_step: int,
    on_corrupt: str,
    cache_dir: str | None,
) -> Placement | None:
    """Where the pipeline runs; None for this process. See `make_dataset_fn` for arguments.

    Raises:
        CallError: arguments that do not go together.
    """
    if service is None and not independent_workers:
        if service_job is not None:
            msg = f"service_job={service_job!r} names a job of a tf.data service; give its address as service= too"
            raise CallError(msg)
        return None
    name = "independent_workers" if service is None else "service"
    if on_corrupt == "skip":
        msg = (
            f"on_corrupt='skip' counts damaged records in this process, and with {name}= others read them; leave it "
            f"out, and the first damaged record stops them and is named"
        )
        raise CallError(msg)
    if cache_dir is not None:
        msg = (
            f"cache_dir is a folder of this host, and with {name}= other processes read; leave it out, and put the "
            f"dataset where all of them find it under the same path"
        )
        raise CallError(msg)
    if service is None:
        _check_independent(training=training, start_step=start_step)
        return IndependentStreams()
    if independent_workers:
        msg = "service= gives every global batch once, independent_workers= promises no such thing; leave one out"
        raise CallError(msg)
    return Service(service, service_job)


def _check_independent(*, training: bool, start_step: int) -> None:
    if not training:
        msg = (
            "independent_workers is for training: to see every example once, evaluate in one process, such as the "
            "coordinator, with make_dataset(..., training=False)"
        )
        raise CallError(msg)
    if start_step:
        msg = (
            f"independent_workers starts each worker at a random step; leave out start_step={start_step}: what a "
            f"worker would read next is not known, so there is nothing to go on with"
        )
        raise CallError(msg)


def check_traced(where: Placement | None) -> None:
    """Refuse to give all workers of a ParameterServerStrategy the same batches.

    TensorFlow does not tell the input function under which strategy it is called. But this strategy traces it, in order
    to send its graph to the workers, and all others run it.

    Raises:
        CallError: traced, and nothing sets workers apart.
    """
    if not tf.executing_eagerly() and not isinstance(where, IndependentStreams):
        msg = (
            "the input function is being traced into a graph, as ParameterServerStrategy does: all its workers would "
            "read the same batches; give independent_workers=True, and for any other strategy call it outside "
            "tf.function"
        )
        raise CallError(msg)
