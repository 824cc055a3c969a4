"""The input function of a trainer: what makes the dataset of each input pipeline."""

from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.order import BatchLayout, sequential, steps_per_epoch
from shardkit.reader import input_contexts, pipeline
from shardkit.reader.arguments.checks import whole_number
from shardkit.reader.arguments.options import MAX_STEP, ReadOptions
from shardkit.reader.cache.shards import ShardCache
from shardkit.reader.iterators.iterator_start import made_by_iter
from shardkit.reader.iterators.restore_guard import refusing_restore
from shardkit.reader.iterators.start_steps import StartStep, check_start, warn_of_left_out
from shardkit.reader.orders.training_orders import TrainingOrder
from shardkit.reader.records.faults import Fault, FaultBudget
from shardkit.reader.remote.placement import Placement, check_traced
from shardkit.reader.table.records import RecordTable


class DatasetFn:
    """The input function: give it to `strategy.distribute_datasets_from_function`, or call it without a context.

    Attributes:
        start_step: int64 variable; an iterator starts at the global step that it holds when `iter()` is called, in
            training and in evaluation. With `service`, at the one that it holds when this function is called.
        num_examples: that are read; in training with `sampling`, of the classes that are drawn.
        steps_per_epoch: ceil(num_examples / global_batch_size): global batches that hold every example at least once,
            but with `sampling`, or of a mixture, only as many.
    """

    def __init__(
        self,
        table: RecordTable,
        options: ReadOptions,
        order: TrainingOrder | None,
        start_step: int,
        cache: ShardCache | None,
        placement: Placement | None = None,
    ) -> None:
        self._cache = cache  # holds its shards as long as this function is there
        self._table, self._options, self._order = table, options, order
        self._placement = placement
        self._budget = None if options.max_corrupt is None else FaultBudget(options.max_corrupt)
        self.num_examples = table.num_examples if order is None else order.num_examples
        self.steps_per_epoch = steps_per_epoch(self.num_examples, options.global_batch_size)
        check_start(start_step, self._num_steps)
        if not options.training:
            warn_of_left_out(start_step, self.steps_per_epoch, options.split)
        with tf.device("CPU:0"):
            self.start_step = tf.Variable(start_step, dtype=tf.int64, trainable=False, name="start_step")

    def __call__(self, context: Any = None) -> Any:
        """The dataset of one input pipeline, in per-replica batches.

        Args:
            context: a `tf.distribute.InputContext`; None for a pipeline alone, with one replica.

        Raises:
            CallError: the batch does not divide over the context's pipelines and replicas, or `start_step` was assigned
                a step that there is not.
        """
        check_traced(self._placement)
        context = tf.distribute.InputContext() if context is None else context
        input_contexts.check(
            context,
            global_batch_size=self._options.global_batch_size,
            num_examples=self.num_examples,
            training=self._options.training,
        )
        layout = input_contexts.layout_of(context, self._options.global_batch_size)
        if self._order is not None:
            self._order.check_workers(layout.num_workers)
        start_step = StartStep(self.start_step, self._num_steps)
        if tf.executing_eagerly():
            check_start(int(start_step), self._num_steps)
        if self._placement is not None:
            dataset = self._placement(self._table, layout, self._options, self._order, start_step)
        else:
            dataset = pipeline.build(self._table, layout, self._options, self._order, start_step, self._budget)
            dataset = refusing_restore(dataset, start_step, layout.replicas_per_worker)
        return dataset if self._options.training else self._ending(dataset, start_step, layout.replicas_per_worker)

    def _ending(self, dataset: Any, start_step: StartStep, batches_per_step: int) -> Any:
        """Return an evaluation that says how many elements it has: those from the step on that is assigned now."""

        def num_steps() -> Any:
            return tf.constant(max(0, self.steps_per_epoch - int(start_step)), tf.int64)

        if self._placement is None:
            num_batches = int(num_steps()) * batches_per_step
            made = dataset
            dataset = made_by_iter(lambda: made, made.element_spec, keep=made, num_elements=num_batches)
        elif batches_per_step == 1:
            return dataset
        # Keras takes the cardinality for the number of steps, and a step takes an element for each replica: left as it
        # is, every evaluation would warn that the data ran out, and show half its steps as missing.
        dataset.cardinality = num_steps
        return dataset

    @property
    def _num_steps(self) -> int | None:
        return None if self._options.training else self.steps_per_epoch

    @property
    def num_classes(self) -> int:
        """The number of classes of the dataset; 0 if its labels are numbers."""
        return self._table.num_classes

    @property
    def faults(self) -> list[Fault]:
        """Damaged records that others took the place of, as far as this process has met them; see `on_corrupt`."""
        return [] if self._budget is None else self._budget.faults

    @property
    def element_spec(self) -> Any:
        """The spec of a whole global batch, static in every shape."""
        layout = BatchLayout(self._options.global_batch_size, 1, 0)
        return pipeline.build(self._table, layout, self._options, self._order, 0, self._budget).element_spec

    def batch_keys(self, step: int) -> list[str]:
        """Keys of a global batch in order, without reading any image; padding is left out.

        Raises:
            CallError: the step is no whole number, negative, or behind the end of an evaluation.
        """
        options = self._options
        step = whole_number()("step", step)
        stop = self._num_steps or MAX_STEP
        if not 0 <= step < stop:
            last = "" if options.training and step < 0 else f" to {stop - 1}"
            msg = f"there is no step {step}; steps count from 0{last}"
            raise CallError(msg)
        positions = np.arange(step * options.global_batch_size, (step + 1) * options.global_batch_size)
        if self._order is not None:
            ids = self._order.ids(positions)
        else:
            ids, weights = sequential.padded_ids(positions, num_examples=self.num_examples)
            ids = ids[weights > 0]
        return self._table.keys(ids)
