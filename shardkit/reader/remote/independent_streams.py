"""A stream of its own for each worker of a ParameterServerStrategy, set apart at run time.

The coordinator traces the input function once, always with the same context, and every worker runs that one graph. So
nothing that is known while it is traced can tell the workers apart: each draws a number whenever it makes an iterator,
and reads the one endless order from there on, from the beginning of a random epoch. Steps are scheduled to whichever
worker is free and run again when one is lost, so exactly once over all workers cannot be had.
"""

from typing import Any

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.order import BatchLayout
from shardkit.reader import pipeline
from shardkit.reader.arguments.options import ReadOptions
from shardkit.reader.iterators.random_start import RandomStart
from shardkit.reader.iterators.start_steps import StartStep
from shardkit.reader.orders.training_orders import TrainingOrder
from shardkit.reader.table.records import RecordTable


class IndependentStreams:
    """Pipelines that each start somewhere else."""

    def __call__(
        self,
        table: RecordTable,
        layout: BatchLayout,
        options: ReadOptions,
        order: TrainingOrder | None,
        start_step: StartStep,
    ) -> Any:
        """The dataset of every worker; see `service.Service.__call__`, `start_step` is not read.

        Raises:
            CallError: there are several input pipelines, which ParameterServerStrategy does not have.
        """
        if layout.num_workers > 1:
            msg = (
                f"independent_workers is for ParameterServerStrategy, whose workers share one input pipeline; found "
                f"{layout.num_workers}: leave it out, and each example comes once"
            )
            raise CallError(msg)
        start = RandomStart(table.num_examples, layout.global_batch_size)
        dataset = pipeline.build(table, layout, options, order, start, None, remote=True)
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
