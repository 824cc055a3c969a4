"""Callbacks for `keras.Model.fit`: how long training waits for its input, and where it goes on after a restart.

Not imported by `shardkit.reader` before they are used: the configured backend of Keras may not be installed.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import CallError
from shardkit.options.words import shell_command
from shardkit.reader.dataset_fn import DatasetFn, input_function, trained

SHARE_LOG = "waiting_for_input"
RATE_LOG = "images_per_second"
# The first step traces and compiles, and TensorBoard writes the graph after it; the input fills its buffers meanwhile.
UNMEASURED_BATCHES = 2
_BACKENDS = ("tensorflow", "jax")
WORTH_A_LOOK = 0.1  # share of waiting from which a faster input is worth an effort: training gets 1.1 times faster


@suggest_arguments(example="reader.InputMonitor()")
class InputMonitor(keras.callbacks.Callback):  # type: ignore[misc] # Keras is untyped
    """Log the share of time that training waits for input, and print one sentence of advice at the end.

        model.fit(train_fn(), steps_per_epoch=…, callbacks=[reader.InputMonitor(), keras.callbacks.TensorBoard("logs")])

    Every epoch gets two values in `logs`: `waiting_for_input`, a share of time from 0 to 1, and `images_per_second`.
    Put this callback before those that write `logs`, such as TensorBoard: Keras calls them in the order of the list. An
    epoch is measured from the start of its second step to its last batch, without validation; the first step traces the
    model and opens the input. Epochs of fewer than three steps have no values.

    `fit` fetches a batch inside its compiled step, where no callback sees it. So this callback fetches the batches
    itself, gives each to the same step, and waits for the device after each step by reading one metric: the time in
    which the input works while the device is busy would count as waiting otherwise. The numbers that the model learns
    do not change, but the host does not prepare the next step meanwhile, and `steps_per_execution` has no effect, which
    is printed. Where steps are short, or on a TPU, use it for a short run only.

    On several machines each measures and prints its own waits. It works with the TensorFlow and JAX backends of Keras,
    and with strategies.

    Attributes:
        times: The times of all epochs since `fit` began.
    """

    def __init__(self) -> None:
        """Create a callback."""
        super().__init__()
        self.times, self._epoch, self._num_fetched = StepTimes(), StepTimes(), 0  # fetched in this epoch
        self._returned = 0.0  # end of the last wait

    @property
    def advice(self) -> str:
        """One sentence about the times since `fit` began; it is printed when `fit` ends."""
        return self.times.advice(next(iter(trained)) if len(trained) == 1 else "DATASET")

    def on_train_begin(self, logs: Any = None) -> None:
        """Take over the fetching of batches.

        Raises:
            CallError: The backend of Keras is neither TensorFlow nor JAX.
        """
        if keras.backend.backend() not in _BACKENDS:
            raise CallError(
                f"InputMonitor works with the backends tensorflow and jax of Keras; found {keras.backend.backend()}; "
                "set KERAS_BACKEND, or write a training loop over `reader.monitor`"
            )
        self.times, self._epoch, self._num_fetched = StepTimes(), StepTimes(), 0
        model = self.model
        if model.steps_per_execution > 1:
            _say(f"InputMonitor: steps run one at a time, although steps_per_execution is {model.steps_per_execution}")
        function = model.train_function
        # Left by a `fit` that ended with an exception: it does not call on_train_end.
        function = function.train_function if isinstance(function, _MonitoredSteps) else function
        model.train_function = _MonitoredSteps(function, model, self.fetch)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Measure the times of this epoch."""
        self._epoch, self._num_fetched = StepTimes(), 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Add the epoch's values to `logs`."""
        if logs is not None and self._epoch.seconds:
            logs[SHARE_LOG] = self._epoch.share_waiting
            logs[RATE_LOG] = self._epoch.images_per_second

    def on_train_end(self, logs: Any = None) -> None:
        """Give the fetching of batches back to Keras and print the advice."""
        if isinstance(self.model.train_function, _MonitoredSteps):
            self.model.train_function = self.model.train_function.train_function
        if self._num_fetched:  # not if the model was trained already
            _say(self.advice)

    def fetch(self, batches: Iterator[Any]) -> Any:
        """Return the next batch and measure the wait; the end of the data is not one."""
        called = time.perf_counter()
        batch = next(batches)
        returned = time.perf_counter()
        self._num_fetched += 1
        if self._num_fetched > UNMEASURED_BATCHES:
            for times in (self.times, self._epoch):
                times.num_images += _num_images(batch)
                times.seconds += returned - self._returned
                times.seconds_waited += returned - called
        self._returned = returned
        return batch


def _say(text: str) -> None:
    # After the progress bar, which Keras prints on standard output too.
    print(text, flush=True)  # noqa: T201 - what a callback of Keras is for


class _MonitoredSteps:
    """A model's `train_function` that gets its batches from an InputMonitor, one for each call of the original."""

    def __init__(self, train_function: Callable[..., Any], model: Any, fetch: Callable[[Iterator[Any]], Any]) -> None:
        self.train_function, self._fetch = train_function, fetch
        # Not the callback's `model`: with JAX, each access to it copies the state back, whose buffers the step donates.
        self._model = model

    def __call__(self, *arguments: Any) -> Any:
        """Run as many steps as `steps_per_execution` says, or until the data ends after at least one."""
        *state, batches = arguments
        result: Any = None
        for number in range(self._model.steps_per_execution):
            try:
                batch = self._fetch(batches)
            except StopIteration:
                if not number:
                    raise
                break
            # An iterator that is not tf.data's is read in Python by Keras, up to its end.
            result = self.train_function(*state, iter([batch]))
            logs = result[0] if state else result
            state = [result[1]] if state else []
            for value in keras.tree.flatten(logs)[:1]:
                np.asarray(value)  # waits for the device
        return result


def _num_images(batch: Any) -> int:
    """Return the number of examples in a batch of any structure, over all replicas of this process."""
    first = keras.tree.flatten(batch)[0]
    parts = first.values if isinstance(first, tf.distribute.DistributedValues) else [first]
    return sum(int(part.shape[0]) for part in parts)


@dataclass(slots=True)
class StepTimes:
    """Waits of steps that follow each other, from the return of one batch to the return of a later one."""

    num_images: int = 0
    seconds: float = 0.0  # waits included
    seconds_waited: float = 0.0

    @property
    def share_waiting(self) -> float:
        """Share of the time spent waiting, 0 to 1."""
        return self.seconds_waited / self.seconds if self.seconds else 0.0

    @property
    def images_per_second(self) -> float:
        """Images per second, waits included."""
        return self.num_images / self.seconds if self.seconds else 0.0

    def advice(self, dataset: str) -> str:
        """Return one sentence: what was measured, and what to do."""
        if not self.seconds:
            return "InputMonitor measured nothing: it needs epochs of at least three steps."
        waited = f"{self.share_waiting:.0%}" if self.share_waiting >= WORTH_A_LOOK else f"{self.share_waiting:.1%}"
        line = f"Training waited for input {waited} of the time ({self.images_per_second:,.0f} images/s)"
        if self.share_waiting < WORTH_A_LOOK:
            return f"{line}; the input is fast enough."
        between = self.seconds - self.seconds_waited
        if between <= 0:
            return f"{line}; run `{shell_command('bench', dataset)}` to see what would help."
        rate = round(self.num_images / between)  # of an input that never has to be waited for
        bench = shell_command("bench", dataset, target=rate)
        return f"{line}; without waiting it would be {rate:,} images/s. Run `{bench}` to see what would help."


@suggest_arguments(example="reader.ResumeCallback(train_fn)")
class ResumeCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras is untyped
    """Start the input of `fit` at the step of the model. Put it after `BackupAndRestore`.

        callbacks=[keras.callbacks.BackupAndRestore(folder, save_freq=1000), ResumeCallback(train_fn)]

    The step of a model is the number of steps that its optimizer has taken, however the model was restored. Steps that
    dynamic loss scaling (`mixed_float16`) skips are not counted, so they are read again; with gradient accumulation,
    save at a multiple of its steps.

    With a number as `save_freq`, `BackupAndRestore` also saves within an epoch, and Keras (3.15) runs a whole epoch
    from that step on. This callback ends `fit` after `epochs * steps_per_epoch` steps in total, as without an
    interruption. It counts the epochs itself, since `BackupAndRestore` forgets them when it is interrupted twice within
    one, and sets the counters of random layers, such as `Dropout`, which Keras does not save.

    `fit` stops with a CallError before its first step if it does not read the data of this input function, or began to
    read it before: the step of the model would be ignored.
    """

    def __init__(self, dataset_fn: DatasetFn) -> None:
        """Create a callback.

        Args:
            dataset_fn: The input function of the data that `fit` is given.

        Raises:
            CallError: The argument is something else.
        """
        super().__init__()
        self._dataset_fn = input_function("dataset_fn", dataset_fn)
        self._starts_before: int | None = None
        self._epoch_start: int | None = None
        self._last_step: int | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Count epochs again if `BackupAndRestore` has restored the model."""
        self._epoch_start = self._last_step = None
        steps = self.params.get("steps")
        # Only BackupAndRestore sets it.
        restored = self.model._initial_epoch is not None  # noqa: SLF001 - Keras offers callbacks no other way
        if restored and steps:
            self.model._initial_epoch = self._steps_taken() // steps  # noqa: SLF001 - as above
            self._last_step = self.params["epochs"] * steps

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the start step in the first epoch: all callbacks have restored, and Keras makes the iterator next."""
        first = self._epoch_start is None
        self._epoch_start = self._steps_taken()
        # Keras (3.15) saves no state of random layers; its second number counts the steps.
        for variable in self.model.non_trainable_variables:
            if variable.path.endswith("seed_generator_state"):
                seed = keras.ops.convert_to_numpy(variable)[0]
                variable.assign([seed, self._epoch_start % 2**32])
        if first:
            self._starts_before, self._before = self._dataset_fn.watch.num_starts, int(self._dataset_fn.start_step)
            self._dataset_fn.start_step = self._epoch_start

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Check before the first step that Keras has made an iterator of this function's data.

        Raises:
            CallError: `fit` reads other data, or its iterator was made earlier, so the start step would be ignored.
        """
        if self._starts_before is None:
            return
        is_read = self._dataset_fn.watch.num_starts > self._starts_before
        self._starts_before = None
        if not is_read:
            self._dataset_fn.start_step = self._before
            raise CallError(
                f"fit does not read the data of ResumeCallback's input function ({self._dataset_fn!r}), so its input "
                "would not continue at the step of the model; give both the same function, as in fit(train_fn(), "
                "callbacks=[reader.ResumeCallback(train_fn)])"
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """End where `fit` would have ended without an interruption."""
        if self._last_step is not None and self._epoch_start is not None:
            self.model.stop_training |= self._epoch_start + batch + 1 >= self._last_step

    def on_train_end(self, logs: Any = None) -> None:
        """Let the next `fit` of this model start at its own `initial_epoch`."""
        if self._last_step is not None:
            self.model._initial_epoch = None  # noqa: SLF001 - as above

    def _steps_taken(self) -> int:
        optimizer = self.model.optimizer
        # Not int(): under a strategy this is a TensorFlow variable, which int() does not take.
        iterations = int(keras.ops.convert_to_numpy(optimizer.iterations))
        return iterations * (getattr(optimizer, "gradient_accumulation_steps", None) or 1)
