"""Pipelines that run in other processes: on a tf.data service, or on the workers of a ParameterServerStrategy.

The workers of a service read and decode, the trainer fetches whole batches. The source of the pipeline is a range of
blocks of steps. `ShardingPolicy.DYNAMIC` gives each block to the first worker that asks for one. A worker turns a block
into whole batches, so batches are never mixed or split:

    dispatcher: blocks of steps ──► worker: steps 0..84, 170..254, …  ──►┐
                                └─► worker: steps 85..169, …          ──►┴─► trainer: cut for its replicas

As long as no worker is lost, each global batch comes exactly once and is the same as without the service, in another
order. Each of several input pipelines has such a stream of its part of every global batch, so parts of different global
batches meet at a step.

If a worker is killed, TensorFlow guarantees at most once, whatever the dispatcher's `fault_tolerant_mode`. Measured
with TensorFlow 2.21, one of two workers killed in the middle, with blocks of 4 steps:

    training    continues with the other worker at once, without a message. 13 of 413 global batches were lost, none
                came twice: the rest of one block, and three blocks read ahead. A block has
                pipeline_spec.SERVICE_EXAMPLES examples, or one step if that is more.
    evaluation  waits until a worker answers at the same address again: restart it there with `port=` and
                `worker_address=`. Then it ends, 11 to 20 s after the kill, without the lost elements. The reader counts
                them and raises FailedPreconditionError, unless the job is shared.
"""

import socket
import time
from dataclasses import replace
from typing import Any

import tensorflow as tf

from shardkit.errors import CallError, MachineError
from shardkit.fetch.table.records import RecordTable
from shardkit.order import steps_per_epoch
from shardkit.reader import pipeline
from shardkit.reader.arguments.values import Service
from shardkit.reader.iterators.start_steps import RandomStart, StartStep
from shardkit.reader.pipeline_spec import PipelineSpec

# The pipeline's graph contains the table's columns, and a protobuf message has at most 2 GiB; the difference is for the
# rest of the graph. Measured: 18 kB for 192 examples, 36 MB for a million, 360 MB for ten million.
MAX_TABLE_BYTES = (2 << 30) - (64 << 20)  # 2 GiB - 64 MiB
WAIT_SECONDS = 60  # for the dispatcher, which may be started together with the trainers
CONNECT_SECONDS = 10
# Start of an HTTP/2 connection (RFC 9113, 3.4 and 4.1): a fixed text, and from both sides a settings frame, type 4.
_HTTP2_SETTINGS = b"\0\0\0\x04\0\0\0\0\0"
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _HTTP2_SETTINGS
_COLUMNS = ("offset", "label", "key_hash", "height", "width", "image_start", "image_bytes", "is_png", "record")


def build_elsewhere(spec: PipelineSpec) -> Any:
    """Return the dataset of one input pipeline that other processes run, in batches as those of `pipeline.build`."""
    service = spec.options.remote_service
    return _independent_stream(spec) if service is None else _of_service(spec, service)


def _of_service(spec: PipelineSpec, service: Service) -> Any:
    layout, start_step = spec.layout, spec.start_step
    assert isinstance(start_step, StartStep)  # noqa: S101 - made by DatasetFn
    check_size(spec.table)
    check_answers(service.address)
    first_step, replicas, job = int(start_step), layout.replicas_per_worker, service.job
    dataset = pipeline.build(replace(spec, start_step=first_step, is_remote=True))
    if replicas > 1:  # a step is one element, or replicas would get parts of different global batches
        dataset = dataset.batch(replicas, drop_remainder=True)
    if job is not None and layout.num_workers > 1:
        job = f"{job}-{layout.worker_index}-of-{layout.num_workers}"
    dataset = dataset.apply(
        tf.data.experimental.service.distribute(
            processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC, service=service.address, job_name=job
        )
    )
    if replicas > 1:
        dataset = dataset.unbatch()
    dataset = _checking_start_step(dataset, start_step, first_step).prefetch(tf.data.AUTOTUNE)
    if spec.options.training:
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    if job is not None:
        return dataset  # the number of batches that other trainers take is unknown
    steps = max(0, steps_per_epoch(spec.table.num_examples, layout.global_batch_size) - first_step)
    return dataset.apply(tf.data.experimental.assert_cardinality(steps * replicas))


def check_size(table: RecordTable) -> None:
    """Check that a table fits into a message."""
    columns = [getattr(table, name) for name in _COLUMNS]
    num_bytes = sum(column.nbytes for column in columns if column is not None)
    if num_bytes > MAX_TABLE_BYTES:
        raise CallError(
            f"the index of {table.num_examples:,} examples takes {num_bytes >> 20:,} MiB of the graph that is sent to "
            f"the tf.data service, which takes {MAX_TABLE_BYTES >> 20:,} MiB; leave out service=, or read parts of "
            f"the split with where= or take="
        )


def check_answers(address: str) -> None:
    """Wait until a gRPC server answers: TensorFlow would wait forever, without a message."""
    host, _, port = address.removeprefix("grpc://").rpartition(":")
    until, found = time.monotonic() + WAIT_SECONDS, ""
    while True:
        try:
            left = max(0.1, until - time.monotonic())
            with socket.create_connection((host.strip("[]"), int(port)), min(left, CONNECT_SECONDS)) as connection:
                connection.sendall(_HTTP2_PREFACE)
                if connection.recv(len(_HTTP2_SETTINGS), socket.MSG_WAITALL)[3:4] == _HTTP2_SETTINGS[3:4]:
                    return
                found = "the server there does not speak gRPC"
        except (OSError, OverflowError) as error:
            found = getattr(error, "strerror", None) or str(error)
        if time.monotonic() >= until:
            raise MachineError(
                f"service={address!r}: no dispatcher of a tf.data service answers there within {WAIT_SECONDS:g} "
                f"seconds ({found}); start it, or correct the address"
            )
        time.sleep(0.5)


def _checking_start_step(dataset: Any, start_step: StartStep, first_step: int) -> Any:
    """Return the dataset with a check: it fails if `start_step` was assigned since, which the service cannot follow."""

    def checked(now: Any) -> Any:
        msg = tf.strings.join(
            [
                f"start_step was moved from {first_step} to ",
                tf.strings.as_string(now),
                ", but the tf.data service already has this input; make a new input with that start_step",
            ]
        )
        with tf.control_dependencies([tf.debugging.Assert(tf.equal(now, first_step), [msg])]):
            return tf.identity(now)

    now = start_step.flat_map(tf.data.Dataset.from_tensors)
    return now.map(checked).flat_map(lambda _: dataset)


def check_traced(*, independent_workers: bool) -> None:
    """Refuse to give all workers of a ParameterServerStrategy the same batches.

    TensorFlow does not tell the input function which strategy calls it. But only this strategy traces it, in order to
    send its graph to the workers; the others run it.
    """
    if not tf.executing_eagerly() and not independent_workers:
        raise CallError(
            "the input function is being traced into a graph, as ParameterServerStrategy does: all its workers would "
            "read the same batches; give independent_workers=True, and for any other strategy call it outside "
            "tf.function"
        )


def _independent_stream(spec: PipelineSpec) -> Any:
    """Return the dataset of every worker of a ParameterServerStrategy, each of which starts at a random epoch.

    The coordinator traces the input function once, with the same context for all, and every worker runs that graph. So
    the graph cannot contain the worker's index. Instead, each iterator draws a random number when it is made, and reads
    the endless order from the start of that epoch. The strategy gives steps to any free worker and repeats those of a
    lost worker, so that it cannot read each example exactly once over all workers.
    """
    if spec.layout.num_workers > 1:
        raise CallError(
            f"independent_workers is for ParameterServerStrategy, whose workers share one input pipeline; found "
            f"{spec.layout.num_workers}; leave it out, and each example is read once"
        )
    start = RandomStart(spec.table.num_examples, spec.layout.global_batch_size)
    dataset = pipeline.build(replace(spec, start_step=start, is_remote=True))
    return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
