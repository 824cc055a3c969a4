"""`DatasetFn`, the input function of a trainer: it makes the dataset of each input pipeline."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.arguments.checks import refused, whole_number
from shardkit.dataset.features import has_labels
from shardkit.errors import CallError
from shardkit.fetch.damaged_records import DamagedRecord
from shardkit.fetch.table.classes import count_classes
from shardkit.naming import counted
from shardkit.order import sequential, steps_per_epoch
from shardkit.reader import input_contexts, pipeline
from shardkit.reader.arguments.reading import check_start_step
from shardkit.reader.iterators.iterator_watch import IteratorWatch, mark_padding
from shardkit.reader.iterators.start_steps import (
    StartStep,
    check_start,
    dataset_per_iterator,
    warn_of_skipped_steps,
)
from shardkit.reader.not_data import NotData
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.remote import build_elsewhere, check_traced

# A callback sees batches, not where they come from: the datasets that this process was asked to train on, for messages.
trained = set[str]()


class DatasetFn(NotData):
    """The input function: pass it to `strategy.distribute_datasets_from_function`, or call it without a context.

    Attributes:
        num_examples: Number of examples that are read; with `sampling`, those of the classes that have a share.
        steps_per_epoch: ceil(num_examples / global_batch_size): the steps that return every example at least once. With
            `sampling`, or several datasets, they return as many examples, but not each of them.
        class_names: Names of the classes in label order.
        spec: What its pipelines read.
        watch: What is known of the iterators of this function's datasets, for callbacks.
    """

    def __init__(self, spec: PipelineSpec, class_names: Sequence[str]) -> None:
        self.spec, self.class_names = spec, list(class_names)
        self._element_spec: Any = None  # of a whole global batch, once a dataset of such batches was made
        options, start_step = spec.options, spec.options.start_step
        self._table, self._options, self._order = spec.table, options, spec.order
        self.num_examples = spec.table.num_examples if spec.order is None else spec.order.num_examples
        self.steps_per_epoch = steps_per_epoch(self.num_examples, options.global_batch_size)
        if not options.training:
            warn_of_skipped_steps(start_step, self.steps_per_epoch, options.split)
        with tf.device("CPU:0"):
            self._start_step = tf.Variable(start_step, dtype=tf.int64, trainable=False, name="start_step")
        mapped = spec.image is None or options.map_fn is not None or options.batch_map_fn is not None
        self.watch = IteratorWatch(
            self.steps_per_epoch if options.training else None,
            lacks_labels=not (mapped or has_labels(spec.table.features)),
        )
        self._is_made = True

    def __call__(self, context: Any = None) -> Any:
        """Return the dataset of one input pipeline, in per-replica batches.

        Args:
            context: A `tf.distribute.InputContext`; None for a single pipeline with one replica.

        Raises:
            CallError: The batch does not divide over the context's pipelines and replicas, a strategy's context was not
                passed on, or `start_step` was assigned a step that does not exist.
        """
        check_traced(independent_workers=self._options.independent_workers)
        if context is None:
            input_contexts.check_no_context_is_lost()
            context = tf.distribute.InputContext()
        layout = input_contexts.layout_of(context, self._options.global_batch_size)
        if self._options.has_short_batch:
            input_contexts.check_short(self.num_examples, layout)
        if self._order is not None:
            self._order.check_workers(layout.num_workers)
        if tf.executing_eagerly():
            check_start(int(self._start_step), self.spec.end_step)
        start_step = StartStep(self._start_step, self.spec.end_step, self.watch.note)
        spec = replace(self.spec, layout=layout, start_step=start_step)
        if self._options.are_others_reading:
            dataset = build_elsewhere(spec)
        else:
            dataset = pipeline.build(spec)
            if layout.per_replica_batch_size == layout.global_batch_size:
                self._element_spec = dataset.element_spec
        if self._options.training:
            return dataset
        dataset = self._ending(dataset, start_step, layout.replicas_per_worker)
        mark_padding(dataset, self._num_padding, layout)
        return dataset

    def _ending(self, dataset: Any, start_step: StartStep, batches_per_step: int) -> Any:
        """Return an evaluation with a cardinality: its elements from the currently assigned step on."""

        def num_steps() -> Any:
            return tf.constant(max(0, self.steps_per_epoch - int(start_step)), tf.int64)

        if not self._options.are_others_reading:
            num_batches = int(num_steps()) * batches_per_step
            made = dataset
            dataset = dataset_per_iterator(lambda: made, keep=made, num_elements=num_batches)
        elif batches_per_step == 1:
            return dataset
        # Keras takes the cardinality for the number of steps, and a step takes an element for each replica: unchanged,
        # every evaluation would warn that the data ran out, and show half its steps as missing.
        dataset.cardinality = num_steps
        return dataset

    @property
    def start_step(self) -> Any:
        """The global step at which an iterator starts, in training and in evaluation: an int64 variable.

        Assign a number to it: `train_fn.start_step = 5`, or `train_fn.start_step.assign(5)` in a graph. The value at
        `iter()` counts, so it is for the next iterator. With `service`, the value when this function is called counts.

        Raises:
            CallError: What is assigned is no step, see `make_dataset_fn`.
        """
        return self._start_step

    @start_step.setter
    def start_step(self, step: int) -> None:
        step = check_start_step(step, independent_workers=self._options.independent_workers)
        check_start(step, self.spec.end_step)
        if not self._options.training:
            warn_of_skipped_steps(step, self.steps_per_epoch, self._options.split)
        self._start_step.assign(step)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to assign what would be ignored, such as `train_fn.seed = 5`."""
        if not name.startswith("_") and name != "start_step" and "_is_made" in vars(self):
            raise AttributeError(
                f"{name} of an input function cannot be assigned, only start_step can; make another input function "
                "with make_dataset_fn"
            )
        super().__setattr__(name, value)

    @property
    def _num_padding(self) -> int:
        """Number of rows of weight 0 after the examples of an evaluation."""
        if self._order is not None or self._options.has_short_batch:
            return 0
        return sequential.num_positions(self.num_examples, self._options.global_batch_size) - self.num_examples

    @property
    def num_classes(self) -> int:
        """The number of classes; 0 if labels are numbers."""
        return self._table.num_classes

    @property
    def class_counts(self) -> dict[str, int]:
        """Number of labels of each class among the selected examples, by name; 0 for the classes of masks.

        `sampling` does not change it. If examples have several labels or objects, each counts, and the indexes are read
        for it.
        """
        return dict(zip(self.class_names, count_classes(self._table).tolist(), strict=True))

    def __repr__(self) -> str:
        """Describe what is read: "train: 1,579 examples, 25 steps of 64, 8 classes, full order"."""
        steps = f"{counted(self.steps_per_epoch, 'step')} of {self._options.global_batch_size:,}"
        classes = [counted(self.num_classes, "class")] if self.num_classes else []
        padding = []
        if self._num_padding:
            padding = [f"{counted(self._num_padding, 'row')} of padding"]
        elif self._order is None and self.num_examples % self._options.global_batch_size:
            padding = ["a shorter last batch"]
        parts = [counted(self.num_examples, "example"), steps, *classes, self._order_name(), *padding]
        return f"{self._options.split}: {', '.join(parts)}"

    def _order_name(self) -> str:
        options = self._options
        if not options.training:
            return "one pass"
        if isinstance(options.dataset, list):
            return f"a mixture of {len(options.dataset)} datasets"
        if options.sampling != "natural":
            return "class-balanced sampling" if isinstance(options.sampling, str) else "sampling by class weights"
        return "full order" if options.block_order is None else "block order"

    @property
    def damaged_records(self) -> list[DamagedRecord]:
        """Damaged records that were replaced, as far as this process has read them; see `on_corrupt`."""
        return [] if self.spec.damaged is None else self.spec.damaged.records

    @property
    def held_bytes(self) -> int:
        """Bytes of records and decoded images that this process holds in memory, see `cache`."""
        return sum(held.num_bytes for held in (self._table.held, self.spec.pixels) if held is not None)

    @property
    def element_spec(self) -> Any:
        """The spec of a whole global batch, with static shapes."""
        if self._element_spec is None:
            self._element_spec = self._whole_batches(0).element_spec
        return self._element_spec

    def read_batch(self, step: int) -> Any:
        """Read the whole global batch of a step, as a single replica gets it: NumPy arrays.

        `start_step` and running iterators stay as they are. With `service`, this process reads the batch.

        Raises:
            CallError: See `batch_keys`.
        """
        self._check_step(step)
        [element] = self._whole_batches(step).take(1).as_numpy_iterator()
        return element

    def as_pixels(self, images: Any) -> npt.NDArray[np.uint8]:
        """Undo the normalisation of images: (value * std + mean), rounded and limited to 0..255.

        Args:
            images: [n, height, width, channels], as elements have them.
        """
        values = np.asarray(images, np.float32)
        normalised = self.spec.image
        if normalised is not None and normalised.mean is not None:
            values = values * np.asarray(normalised.std, np.float32) + np.asarray(normalised.mean, np.float32)
        return np.clip(np.rint(values), 0, 255).astype(np.uint8)

    def _whole_batches(self, start_step: int) -> Any:
        return pipeline.build(replace(self.spec, start_step=start_step))

    def keys(self) -> list[str]:
        """Return the keys of an evaluation's examples, in the order in which it returns them; reads no image.

        Raises:
            CallError: This is training, which does not end.
        """
        if self._order is not None:
            msg = "training does not end, so keys() is for training=False; batch_keys(step) lists the keys of a step"
            raise CallError(msg)
        return self._table.keys(np.arange(self.num_examples))

    def batch_keys(self, step: int) -> list[str]:
        """Return the keys of a global batch in order, without padding and without reading an image.

        Raises:
            CallError: The step is not a whole number, is negative, or is after the end of an evaluation.
        """
        self._check_step(step)
        size, order = self._options.global_batch_size, self._order
        positions = np.arange(step * size, (step + 1) * size)
        if order is not None:
            ids = order.ids(positions)
        else:
            ids, weights = sequential.padded_ids(positions, num_examples=self.num_examples)
            ids = ids[weights > 0]
        return self._table.keys(ids)

    def _check_step(self, step: int) -> None:
        step = whole_number()("step", step)
        stop = self.spec.end_step
        if not 0 <= step < stop:
            last = "" if self._options.training and step < 0 else f" to {stop - 1}"
            raise CallError(f"there is no step {step}; steps count from 0{last}")


def input_function(name: str, found: Any) -> DatasetFn:
    """Check that an argument is an input function."""
    if isinstance(found, DatasetFn):
        return found
    wanted = "an input function, as make_dataset_fn returns it"
    if isinstance(found, tf.data.Dataset | tf.distribute.DistributedDataset):
        raise CallError(f"{name} must be {wanted}; found its data: give train_fn instead of train_fn()")
    raise refused(name, wanted, found)
